/** Quotas (docs/quotas.md): how much a user, a team and the platform may have and do. */
import * as z from 'zod';

export const QUOTA_SCOPES = ['user', 'team', 'platform'] as const;
export type QuotaScope = (typeof QUOTA_SCOPES)[number];

/** What teams can hold, and what their runs do. */
const TEAM_QUOTAS = [
  'live_runs',
  'runs_per_minute',
  'descendants',
  'run_events',
  'stored_bytes',
  'files',
  'agent_versions',
  'workflow_revisions',
  'schedules',
  'secrets',
  'webhooks',
  'inbound_webhooks',
  'event_sources',
] as const;
/** What only people have. */
const OWN_QUOTAS = ['chats', 'tokens', 'clients', 'streams'] as const;

export const QUOTA_NAMES = [...TEAM_QUOTAS, ...OWN_QUOTAS] as const;
export type QuotaName = (typeof QUOTA_NAMES)[number];

/** What a quota is for each of, if not for all that somebody has together. */
export const QUOTA_UNITS = ['run', 'agent', 'workflow'] as const;
export type QuotaUnit = (typeof QUOTA_UNITS)[number];

/** The least number of events in which a run can do anything. */
const MIN_RUN_EVENTS = 100;
const amount = z.int().min(0).max(1e15);
const amounts: Partial<Record<QuotaName, z.ZodInt>> = {
  run_events: z
    .int()
    .min(0)
    .max(10_000_000)
    .refine(
      (limit) => limit === 0 || limit >= MIN_RUN_EVENTS,
      `must be 0 (no limit), or ${MIN_RUN_EVENTS} at least`,
    ),
};

function fieldsOf<Name extends QuotaName>(names: readonly Name[]) {
  // Safe: it has an entry for each name.
  return Object.fromEntries(names.map((name) => [name, (amounts[name] ?? amount).nullish()])) as Record<
    Name,
    z.ZodOptional<z.ZodNullable<z.ZodInt>>
  >;
}

/** What replaces the settings for a user. */
export const userQuotas = z
  .strictObject(fieldsOf(QUOTA_NAMES))
  .meta({ id: 'UserQuotas', description: 'What replaces the settings of quotas. 0: no limit.' });
/** What replaces the settings for a team. */
export const teamQuotas = z
  .strictObject(fieldsOf(TEAM_QUOTAS))
  .meta({ id: 'TeamQuotas', description: 'What replaces the settings of quotas. 0: no limit.' });

export type Quotas = z.infer<typeof userQuotas>;
