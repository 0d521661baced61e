/** The settings of quotas, by scope. */
import type { QuotaName, QuotaScope, QuotaUnit } from '../../contracts/quotas.ts';
import type { Env } from '../../config/env.ts';

interface QuotaSettings extends Partial<Record<QuotaScope, keyof Env>> {
  /** Absent: what the user, the team or the platform has together. */
  per?: QuotaUnit;
}

/** 0 stands for no limit. */
export const QUOTA_SETTINGS = {
  live_runs: {
    user: 'USER_MAX_LIVE_RUNS',
    team: 'TEAM_MAX_LIVE_RUNS',
    platform: 'PLATFORM_MAX_LIVE_RUNS',
  },
  runs_per_minute: {
    user: 'USER_MAX_RUNS_PER_MINUTE',
    team: 'TEAM_MAX_RUNS_PER_MINUTE',
    platform: 'PLATFORM_MAX_RUNS_PER_MINUTE',
  },
  descendants: { user: 'RUN_MAX_DESCENDANTS', team: 'RUN_MAX_DESCENDANTS', per: 'run' },
  run_events: { user: 'RUN_MAX_EVENTS', team: 'RUN_MAX_EVENTS', per: 'run' },
  stored_bytes: {
    user: 'USER_MAX_STORED_BYTES',
    team: 'TEAM_MAX_STORED_BYTES',
    platform: 'PLATFORM_MAX_STORED_BYTES',
  },
  files: { user: 'USER_MAX_FILES', team: 'TEAM_MAX_FILES', platform: 'PLATFORM_MAX_FILES' },
  agent_versions: { user: 'AGENT_MAX_VERSIONS', team: 'AGENT_MAX_VERSIONS', per: 'agent' },
  workflow_revisions: { user: 'WORKFLOW_MAX_REVISIONS', team: 'WORKFLOW_MAX_REVISIONS', per: 'workflow' },
  schedules: { user: 'USER_MAX_SCHEDULES', team: 'TEAM_MAX_SCHEDULES', platform: 'PLATFORM_MAX_SCHEDULES' },
  secrets: { user: 'USER_MAX_SECRETS', team: 'TEAM_MAX_SECRETS', platform: 'PLATFORM_MAX_SECRETS' },
  webhooks: { user: 'USER_MAX_WEBHOOKS', team: 'TEAM_MAX_WEBHOOKS', platform: 'PLATFORM_MAX_WEBHOOKS' },
  inbound_webhooks: { user: 'USER_MAX_HOOKS', team: 'TEAM_MAX_HOOKS' },
  event_sources: { user: 'USER_MAX_EVENT_SOURCES', team: 'TEAM_MAX_EVENT_SOURCES' },
  chats: { user: 'USER_MAX_NOTIFICATION_CHANNELS' },
  tokens: { user: 'USER_MAX_TOKENS', platform: 'PLATFORM_MAX_TOKENS' },
  clients: { user: 'USER_MAX_CLIENTS' },
  streams: { user: 'STREAMS_PER_USER' },
} as const satisfies Record<QuotaName, QuotaSettings>;

type SettingsOf<T> = T extends { per?: unknown } ? Exclude<T[keyof T], QuotaUnit> : T[keyof T];
export type QuotaSetting = SettingsOf<(typeof QUOTA_SETTINGS)[QuotaName]>;
export type QuotaEnv = Pick<Env, QuotaSetting>;

/** The setting of a quota; undefined where the scope has none. */
export function settingOf(quota: QuotaName, scope: QuotaScope): QuotaSetting | undefined {
  const settings: Partial<Record<QuotaScope, QuotaSetting>> = QUOTA_SETTINGS[quota];
  return settings[scope];
}

export function unitOf(quota: QuotaName): QuotaUnit | null {
  const settings: QuotaSettings = QUOTA_SETTINGS[quota];
  return settings.per ?? null;
}
