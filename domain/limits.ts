/**
 * Limits on how much one object or one owner may store. Each is checked after the change, in the same
 * transaction, so a refusal rolls the change back.
 */
import type { Env } from '../config/env.ts';
import type { EntityManager } from '../db/orm.ts';
import { holderOf, type Held } from './auth/ownership.ts';
import { conflict, type AppError } from './errors.ts';
import { checkQuota, quotaReached } from './quotas/check.ts';
import type { QuotaEnv } from './quotas/settings.ts';

export type Limits = QuotaEnv & Pick<Env, 'AGENT_MAX_DRAFTS' | 'AGENT_MAX_BYTES' | 'AGENT_MAX_SKILLS'>;

type Setting = 'AGENT_MAX_DRAFTS' | 'AGENT_MAX_BYTES' | 'AGENT_MAX_SKILLS';

/** 409 `limit_reached`; names the limit and its setting. */
function limitReached(limits: Limits, setting: Setting, problem: string, remedy: string): AppError {
  const limit = limits[setting];
  return conflict('limit_reached', `${problem}: the setting ${setting} allows ${limit}. ${remedy}`, {
    setting,
    limit,
  });
}

/** SQL: the size of a version's JSON in bytes. */
const CONTENT_BYTES = ['configuration', 'input_schema', 'output_schema']
  .map((name) => `octet_length(v.${name}::text)`)
  .join(' + ');
const STORED_BYTES = ['configuration', 'input_schema', 'output_schema']
  .map((name) => `pg_column_size(v.${name})`)
  .join(' + ');

/**
 * SQL: whether the JSON of an agent's versions exceeds `most` bytes in total. The stored size, which may be
 * compressed, is compared first because it is cheap to read.
 */
export function versionsExceed(agentId: string, most: string): string {
  const sum = (bytes: string): string =>
    `(select coalesce(sum(${bytes}), 0) from agent_version v where v.agent_id = ${agentId})`;
  return `(case when ${sum(STORED_BYTES)} > ${most} then true else ${sum(CONTENT_BYTES)} > ${most} end)`;
}

interface VersionCounts extends OwnQuota {
  versions: number;
  drafts: number;
  too_large: boolean;
}

/** What an administrator has given the holder of an object, if anything. */
interface OwnQuota {
  of_team: boolean;
  own: string | null;
}

function ofObject(
  quota: 'agent_versions' | 'workflow_revisions',
  { of_team: ofTeam, own }: OwnQuota,
  setting: string,
  limit: number,
) {
  const scope = ofTeam ? ('team' as const) : ('user' as const);
  return { quota, scope, setting, limit: own === null ? limit : Number(own), own: own !== null };
}

/** 0 stands for no limit. */
const isAbove = (used: number, limit: number): boolean => limit > 0 && used > limit;

/** Call after a version was added or its content changed. */
export async function checkVersionLimits(
  em: EntityManager,
  limits: Limits,
  agentId: string,
  change: { added: boolean },
): Promise<void> {
  const [row] = await em.execute<VersionCounts[]>(
    `select count(*)::int as versions, count(*) filter (where v.status = 'draft')::int as drafts,
            ${versionsExceed('?', '?::bigint')} as too_large,
            (select a.team_id is not null from agent a where a.id = ?) as of_team,
            (select quota_of(a.holder_id, 'agent_versions') from agent a where a.id = ?) as own
       from agent_version v where v.agent_id = ?`,
    [agentId, limits.AGENT_MAX_BYTES, agentId, limits.AGENT_MAX_BYTES, agentId, agentId, agentId],
  );
  if (!row) return;
  if (change.added && row.drafts > limits.AGENT_MAX_DRAFTS) {
    throw limitReached(
      limits,
      'AGENT_MAX_DRAFTS',
      'The agent has as many drafts as it may',
      'Publish one of them, or change one instead.',
    );
  }
  const reached = ofObject('agent_versions', row, 'AGENT_MAX_VERSIONS', limits.AGENT_MAX_VERSIONS);
  if (change.added && isAbove(row.versions, reached.limit))
    throw quotaReached(reached, 'The agent has as many versions as it may', 'Register another agent.');
  if (row.too_large) {
    throw limitReached(
      limits,
      'AGENT_MAX_BYTES',
      'Configurations and schemas of all versions together are too large',
      'Make them smaller.',
    );
  }
}

/** Call after skills were added. */
export async function checkSkillLimit(em: EntityManager, limits: Limits, agentId: string): Promise<void> {
  const [row] = await em.execute<{ skills: number }[]>(
    'select count(*)::int as skills from agent_skill where agent_id = ?',
    [agentId],
  );
  if ((row?.skills ?? 0) <= limits.AGENT_MAX_SKILLS) return;
  throw limitReached(
    limits,
    'AGENT_MAX_SKILLS',
    'The agent has as many skills as it may',
    'Delete one first.',
  );
}

/** Call after a revision was added. Revisions count from 1 without gaps. */
export async function checkRevisionLimit(
  em: EntityManager,
  limits: Limits,
  workflow: Held & { revision: number },
): Promise<void> {
  const holder = holderOf(workflow);
  const [row] = await em.execute<OwnQuota[]>(
    `select exists (select from team where id = ?) as of_team, quota_of(?, 'workflow_revisions') as own`,
    [holder, holder],
  );
  if (!row) return;
  const reached = ofObject(
    'workflow_revisions',
    row,
    'WORKFLOW_MAX_REVISIONS',
    limits.WORKFLOW_MAX_REVISIONS,
  );
  if (!isAbove(workflow.revision, reached.limit)) return;
  throw quotaReached(reached, 'The workflow has as many revisions as it may', 'Create another workflow.');
}

/** Call after secrets may have been added in this transaction, directly or from an agent's configuration. */
export async function checkSecretLimit(em: EntityManager, limits: Limits, holderId: string): Promise<void> {
  const added = await em.execute('select from secret where owner_id = ? and created_at >= now() limit 1', [
    holderId,
  ]);
  if (added.length > 0) await checkQuota(em, limits, 'secrets', holderId);
}
