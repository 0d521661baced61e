/**
 * Limits on how much one object or one owner may store. Each is checked after the change, in the same
 * transaction, so a refusal rolls the change back.
 */
import type { Env } from '../config/env.ts';
import type { EntityManager } from '../db/orm.ts';
import { conflict, type AppError } from './errors.ts';

export type Limits = Pick<
  Env,
  | 'AGENT_MAX_VERSIONS'
  | 'AGENT_MAX_DRAFTS'
  | 'AGENT_MAX_BYTES'
  | 'AGENT_MAX_SKILLS'
  | 'WORKFLOW_MAX_REVISIONS'
  | 'USER_MAX_SECRETS'
  | 'USER_MAX_SCHEDULES'
  | 'USER_MAX_WEBHOOKS'
  | 'USER_MAX_HOOKS'
  | 'USER_MAX_EVENT_SOURCES'
  | 'USER_MAX_FILES'
>;

type Setting = keyof Limits;

/** 409 `limit_reached`; names the limit and its setting. */
function limitReached(limits: Limits, setting: Setting, problem: string, remedy: string): AppError {
  return conflict(
    'limit_reached',
    `${problem}: the setting ${setting} allows ${limits[setting]}. ${remedy}`,
    {
      setting,
      limit: limits[setting],
    },
  );
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

/** Call after a version was added or its content changed. */
export async function checkVersionLimits(
  em: EntityManager,
  limits: Limits,
  agentId: string,
  change: { added: boolean },
): Promise<void> {
  const [row] = await em.execute<{ versions: number; drafts: number; too_large: boolean }[]>(
    `select count(*)::int as versions, count(*) filter (where v.status = 'draft')::int as drafts,
            ${versionsExceed('?', '?::bigint')} as too_large
       from agent_version v where v.agent_id = ?`,
    [agentId, limits.AGENT_MAX_BYTES, agentId, limits.AGENT_MAX_BYTES, agentId],
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
  if (change.added && row.versions > limits.AGENT_MAX_VERSIONS) {
    throw limitReached(
      limits,
      'AGENT_MAX_VERSIONS',
      'The agent has as many versions as it may',
      'Register another agent.',
    );
  }
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
  await checkCount(
    em,
    limits,
    'AGENT_MAX_SKILLS',
    'agent_skill where agent_id = ?',
    agentId,
    'The agent has as many skills as it may',
    'Delete one first.',
  );
}

/** Call after a revision was added. Revisions count from 1 without gaps. */
export function checkRevisionLimit(limits: Limits, revision: number): void {
  if (revision <= limits.WORKFLOW_MAX_REVISIONS) return;
  throw limitReached(
    limits,
    'WORKFLOW_MAX_REVISIONS',
    'The workflow has as many revisions as it may',
    'Create another workflow.',
  );
}

/** Call after a schedule may have begun or been resumed. Paused ones start nothing, so they do not count. */
export async function checkScheduleLimit(em: EntityManager, limits: Limits, ownerId: string): Promise<void> {
  await checkCount(
    em,
    limits,
    'USER_MAX_SCHEDULES',
    `workflow_schedule s join workflow w on w.id = s.workflow_id
      where s.kind is not null and s.paused_at is null and w.owner_id = ?`,
    ownerId,
    'The owner has as many schedules as they may',
    'Pause one first.',
  );
}

/** Call after secrets may have been added in this transaction, directly or from an agent's configuration. */
export async function checkSecretLimit(em: EntityManager, limits: Limits, ownerId: string): Promise<void> {
  const added = await em.execute('select from secret where owner_id = ? and created_at >= now() limit 1', [
    ownerId,
  ]);
  if (added.length === 0) return;
  await checkCount(
    em,
    limits,
    'USER_MAX_SECRETS',
    'secret where owner_id = ?',
    ownerId,
    'The owner has as many secrets as they may',
    'Delete one first.',
  );
}

export async function checkWebhookLimit(em: EntityManager, limits: Limits, ownerId: string): Promise<void> {
  const webhooks = 'webhook w join delivery_target t on t.id = w.id where t.owner_id = ?';
  await checkCount(
    em,
    limits,
    'USER_MAX_WEBHOOKS',
    webhooks,
    ownerId,
    'You have as many webhooks as you may',
    'Delete one first.',
  );
}

/** Call after an inbound webhook was added. */
export async function checkHookLimit(em: EntityManager, limits: Limits, ownerId: string): Promise<void> {
  await checkCount(
    em,
    limits,
    'USER_MAX_HOOKS',
    'inbound_hook where owner_id = ?',
    ownerId,
    'You have as many inbound webhooks as you may',
    'Delete one first.',
  );
}

/** Call after an event source was added. */
export async function checkEventSourceLimit(
  em: EntityManager,
  limits: Limits,
  ownerId: string,
): Promise<void> {
  await checkCount(
    em,
    limits,
    'USER_MAX_EVENT_SOURCES',
    'event_source where owner_id = ?',
    ownerId,
    'You have as many event sources as you may',
    'Delete one first.',
  );
}

/** Call after a user uploaded a file. Files that the platform stores for runs do not count. */
export async function checkFileLimit(em: EntityManager, limits: Limits, ownerId: string): Promise<void> {
  const files = 'file where owner_id = ? and not of_runs';
  await checkCount(
    em,
    limits,
    'USER_MAX_FILES',
    files,
    ownerId,
    'You have as many files as you may',
    'Delete one first.',
  );
}

/** Stops counting one row past the limit. */
async function checkCount(
  em: EntityManager,
  limits: Limits,
  setting: Setting,
  rows: string,
  id: string,
  problem: string,
  remedy: string,
): Promise<void> {
  const [row] = await em.execute<{ count: number }[]>(
    `select count(*)::int as count from (select from ${rows} limit ?) counted`,
    [id, limits[setting] + 1],
  );
  if ((row?.count ?? 0) > limits[setting]) throw limitReached(limits, setting, problem, remedy);
}
