/**
 * Hands over what a user owns, for example after the user was disabled (docs/teams.md#moving). One
 * transaction moves what decides about others: workflows, live runs, secrets, webhooks. What may be much more
 * follows in batches, which any process continues after a crash.
 */
import type { EntityManager } from '../../db/orm.ts';
import type { Actor } from '../auth/actor.ts';
import { getUser } from '../auth/users.ts';
import { conflict, invalid } from '../errors.ts';
import { handOverSources } from '../events/sources.ts';
import { handOverHooks } from '../hooks/service.ts';
import { handOverChats } from '../notifications/channels.ts';
import type { QuotaEnv } from '../quotas/settings.ts';
import { handOverRunHours, lockRunHours } from '../runs/hours.ts';
import { handOverListeners } from '../schedules/listener.ts';
import { touchSchedulesOf } from '../schedules/state.ts';
import type { Encryption } from '../secrets/encryption.ts';
import { showUnbound, unbindRevisions, type Handed } from '../secrets/unbind.ts';
import { moveBatch, readTransfer, type Counts, type TransferRow } from './batches.ts';
import { handOverLiveRuns } from './live-runs.ts';
import { checkTransferred, holdQuotas, usesOf } from './quotas.ts';
import { handOverSecrets, renameInWorkflows, type Renamed } from './secrets.ts';

/** Batches that the request itself moves, so that nothing is left in most cases. */
const AT_ONCE = 10;

export interface People {
  from: string;
  to: string;
}

/**
 * Begins a transfer; the same one again changes nothing. @throws 409 while another one of these users goes
 * on, or if the new owner would have more than a quota allows; 422
 */
export async function beginTransfer(
  em: EntityManager,
  { encryption, limits }: { encryption: Encryption; limits: QuotaEnv },
  actor: Actor,
  people: People,
): Promise<void> {
  await lockPeople(em, people);
  if (await isUnderWay(em, people)) return;
  await lockRunHours(em);
  await holdQuotas(em, people.from);
  const before = await usesOf(em, people.to);
  const { copied, handed, renamed } = await handOverSecrets(em, encryption, people);
  const workflows = await lockWorkflows(em, people);
  await unbindRevisions(em, workflows, handed);
  await renameInWorkflows(em, actor, people.from, { handed, renamed });
  await showUnbound(em, actor, workflows, handed);
  const row = await insertTransfer(em, actor, people, { handed, renamed });
  const moved = await changeOwner(em, 'workflow', 'team_id is null', people);
  const known = new Set(workflows);
  const madeMeanwhile = moved.filter((id) => !known.has(id));
  await unbindRevisions(em, madeMeanwhile, handed);
  await showUnbound(em, actor, madeMeanwhile, handed);
  const webhooks = await changeOwner(em, 'delivery_target', `team_id is null and kind = 'webhook'`, people);
  const counts = {
    secrets: copied,
    workflows: moved.length,
    webhooks: webhooks.length,
    runs: await handOverLiveRuns(em, people),
    chats: await handOverChats(em, people),
  };
  await handOverRunHours(em, people, row.begun_at);
  await handOverHooks(em, people, renamed);
  await handOverSources(em, people);
  await handOverListeners(em, people);
  await touchSchedulesOf(em, people.to);
  await checkTransferred(em, limits, people.to, before);
  await moveFirst(em, { ...row, counts });
}

/** @throws 404, 409 for somebody whose data was erased, 422 */
async function lockPeople(em: EntityManager, { from, to }: People): Promise<void> {
  const target = await em.execute<{ status: string }[]>(
    'select status from user_account where id = ? for share',
    [to],
  );
  const problem =
    from === to ? 'is the same user' : target[0]?.status === 'active' ? null : 'is not an active user';
  if (problem) throw invalid([{ pointer: '/to', code: 'invalid_user', message: problem }]);
  const { erased_at: erasedAt } = await getUser(em, from, true);
  if (erasedAt)
    throw conflict('erased', 'The data of this user was erased, and nothing is left to hand over.');
}

/** The users are locked. @throws 409 */
async function isUnderWay(em: EntityManager, { from, to }: People): Promise<boolean> {
  const open = await em.execute<{ from_id: string; to_id: string }[]>(
    `select from_id, to_id from transfer
      where finished_at is null and (from_id = any(array[?, ?]::uuid[]) or to_id = ?)`,
    [from, to, from],
  );
  const other = open.find((one) => one.from_id !== from || one.to_id !== to);
  if (other)
    throw conflict('transfer_running', 'Another transfer of these users goes on: wait for its end.', {
      user_id: other.from_id,
      to: other.to_id,
    });
  return open.length > 0;
}

async function insertTransfer(
  em: EntityManager,
  actor: Actor,
  { from, to }: People,
  { handed, renamed }: { handed: Handed; renamed: Renamed },
): Promise<TransferRow> {
  await em.execute(
    `insert into transfer (from_id, to_id, requested_by, renamed, secrets)
     values (?, ?, ?, ?::jsonb, ?::jsonb)
     on conflict (from_id) do update
       set to_id = excluded.to_id, requested_by = excluded.requested_by, renamed = excluded.renamed,
           secrets = excluded.secrets, begun_at = clock_timestamp(),
           tried_at = clock_timestamp(), counts = '{}', step = 0, position = null, finished_at = null`,
    [from, to, actor.id, JSON.stringify(renamed), JSON.stringify(handed)],
  );
  return readTransfer(em, from);
}

/** Nobody adds a revision to them until the transaction ends. */
async function lockWorkflows(em: EntityManager, { from }: People): Promise<string[]> {
  const rows = await em.execute<{ id: string }[]>(
    'select id from workflow where owner_id = ? and team_id is null order by id for no key update',
    [from],
  );
  return rows.map(({ id }) => id);
}

async function changeOwner(
  em: EntityManager,
  table: 'workflow' | 'delivery_target',
  condition: string,
  { from, to }: People,
): Promise<string[]> {
  const rows = await em.execute<{ id: string }[]>(
    `update ${table} set owner_id = ? where owner_id = ? and ${condition} returning id`,
    [to, from],
  );
  return rows.map(({ id }) => id);
}

async function moveFirst(em: EntityManager, row: TransferRow & { counts: Counts }): Promise<void> {
  let next = row;
  for (let count = 0; count < AT_ONCE && next.finished_at === null; count += 1)
    next = await moveBatch(em, next);
}
