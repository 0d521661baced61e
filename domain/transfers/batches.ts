/** What of a transfer follows its beginning in batches, each with how far it came. */
import type { EntityManager } from '../../db/orm.ts';
import { arrayLiteral } from '../../db/sql.ts';
import { SYSTEM_ORIGIN, writeAudit } from '../audit/write.ts';
import { handOverConversations } from '../conversations/hand-over.ts';
import { handOverTasks } from '../hitl/transfer-tasks.ts';
import { handOverOldHours } from '../runs/hours.ts';
import { boundBy, rebindAgents, type Handed } from '../secrets/unbind.ts';
import { handOverTasksOf } from './live-runs.ts';
import type { Renamed } from './secrets.ts';

/** Rows of one batch. */
const BATCH = 500;
/** Each writes an event of its run. */
const TASKS = 100;
/** In the audit log, by the system: of transfers that the request did not finish. */
const FINISHED_ACTION = 'transfer_finished';

export const KINDS = [
  'agents',
  'workflows',
  'runs',
  'files',
  'webhooks',
  'items',
  'human_tasks',
  'secrets',
  'conversations',
  'chats',
] as const;
/** By kind; those of which there is nothing may be absent. */
export type Counts = Partial<Record<(typeof KINDS)[number], number>>;

export interface TransferRow {
  from_id: string;
  to_id: string;
  requested_by: string;
  begun_at: string;
  renamed: Renamed;
  /** Null: the transfer began under a release that did not record it. */
  secrets: Handed | null;
  counts: Counts;
  step: number;
  position: string | null;
  finished_at: string | null;
}

interface Moved {
  kind?: keyof Counts;
  count: number;
  /** Of the last row; null if the step is done. */
  position: string | null;
}

type Step = (em: EntityManager, row: TransferRow) => Promise<Moved>;

/**
 * Runs come before agents and files: a run may use what is still being handed over to its owner, and nothing
 * of the new owner's. An id stands for the moment when its row was made, so a step looks at each row once.
 * Sets come after what they have made: an apply meanwhile would make it once more. A transfer that goes on
 * has the number of its step, so a new step comes last.
 */
const STEPS: readonly Step[] = [
  endedRuns,
  rows('agents', 'agent', 'owner_id', 'team_id is null'),
  rows('files', 'file', 'owner_id', 'team_id is null'),
  rows('webhooks', 'delivery_target', 'owner_id', 'team_id is null'),
  rows('items', 'marketplace_item', 'publisher_id', 'true'),
  assignedTasks,
  oldHours,
  conversations,
  appliedSets,
];

const COLUMNS = `from_id, to_id, requested_by, to_json(begun_at) #>> '{}' as begun_at,
  renamed, secrets, counts,
  step, position, to_json(finished_at) #>> '{}' as finished_at`;

/** The one that began last. @throws Error without one */
export async function readTransfer(em: EntityManager, from: string): Promise<TransferRow> {
  const row = await findTransfer(em, from);
  if (row === null) throw new Error('there is no such transfer');
  return row;
}

export async function findTransfer(em: EntityManager, from: string): Promise<TransferRow | null> {
  const [row] = await em.execute<TransferRow[]>(`select ${COLUMNS} from transfer where from_id = ?`, [from]);
  return row ?? null;
}

/** Locks the one that waits longest; null without one that nobody else works at. */
export async function nextTransfer(em: EntityManager): Promise<TransferRow | null> {
  const [row] = await em.execute<TransferRow[]>(
    `select ${COLUMNS} from transfer where finished_at is null
      order by tried_at limit 1 for no key update skip locked`,
  );
  return row ?? null;
}

/** The transfer is locked and has not ended. */
export async function moveBatch(em: EntityManager, row: TransferRow): Promise<TransferRow> {
  const step = STEPS[row.step];
  const { kind, count, position } = step ? await step(em, row) : { count: 0, position: null };
  const next = {
    ...row,
    position,
    counts: kind === undefined ? row.counts : { ...row.counts, [kind]: (row.counts[kind] ?? 0) + count },
    step: position === null ? row.step + 1 : row.step,
  };
  const isDone = next.step >= STEPS.length;
  const [stored] = await em.execute<{ finished_at: string | null }[]>(
    `update transfer set counts = ?::jsonb, step = ?, position = ?,
            finished_at = case when ?::boolean then clock_timestamp() end
      where from_id = ? returning to_json(finished_at) #>> '{}' as finished_at`,
    [JSON.stringify(next.counts), next.step, next.position, isDone, row.from_id],
  );
  return { ...next, finished_at: stored?.finished_at ?? null };
}

/** Call if it ended after the request. */
export async function auditFinished(em: EntityManager, { from_id: id, ...row }: TransferRow): Promise<void> {
  const data = { to: row.to_id, counts: row.counts };
  await writeAudit(em, SYSTEM_ORIGIN, { action: FINISHED_ACTION, objectType: 'user', objectId: id, data });
}

/** Of a table with ids, the newest rows first. */
function rows(kind: keyof Counts, table: string, owner: string, condition: string): Step {
  return async (em, { from_id: from, to_id: to, position, renamed, secrets }) => {
    const found = await em.execute<{ id: string }[]>(
      `select id from ${table}
        where ${owner} = ? and ${condition} and (?::uuid is null or id < ?::uuid)
        order by id desc limit ? for no key update`,
      [from, position, position, BATCH],
    );
    const ids = found.map(({ id }) => id);
    if (ids.length > 0) {
      if (table === 'agent')
        await rebindAgents(em, ids, secrets ? boundBy(secrets) : (name) => renamed[name] ?? name);
      await em.execute(`update ${table} set ${owner} = ? where id = any(?::uuid[])`, [to, arrayLiteral(ids)]);
    }
    return { kind, count: ids.length, position: positionOf(ids, BATCH) };
  };
}

/** Children before their parents, whose ids are lower, as all code locks a run before its root. */
async function endedRuns(
  em: EntityManager,
  { from_id: from, to_id: to, position, begun_at }: TransferRow,
): Promise<Moved> {
  const found = await em.execute<{ id: string; ended: boolean }[]>(
    `select id, finished_at is not null and created_at < ?::timestamptz as ended from run
      where owner_id = ? and (?::uuid is null or id < ?::uuid)
      order by id desc limit ? for no key update`,
    [begun_at, from, position, position, BATCH],
  );
  const ids = found.filter(({ ended }) => ended).map(({ id }) => id);
  if (ids.length > 0) {
    await em.execute('update run set owner_id = ? where id = any(?::uuid[])', [to, arrayLiteral(ids)]);
    await em.execute('update listener set owner_id = ? where run_id = any(?::uuid[])', [
      to,
      arrayLiteral(ids),
    ]);
    await handOverTasksOf(em, ids, { from, to });
  }
  const all = found.map(({ id }) => id);
  return { kind: 'runs', count: ids.length, position: positionOf(all, BATCH) };
}

async function assignedTasks(
  em: EntityManager,
  { from_id: from, to_id: to, requested_by: by, position }: TransferRow,
): Promise<Moved> {
  const [admin] = await em.execute<{ username: string }[]>('select username from user_account where id = ?', [
    by,
  ]);
  const actor = { id: by, username: admin?.username ?? '', roles: [], groups: [] };
  const batch = { after: position, limit: TASKS };
  const ids = await handOverTasks(em, { actor, via: 'api' }, { from, to }, batch);
  return { kind: 'human_tasks', count: ids.length, position: positionOf(ids, TASKS) };
}

async function oldHours(
  em: EntityManager,
  { from_id: from, to_id: to, ...row }: TransferRow,
): Promise<Moved> {
  const isDone = await handOverOldHours(em, { from, to }, row.begun_at);
  return { count: 0, position: isDone ? null : from };
}

async function conversations(
  em: EntityManager,
  { from_id: from, to_id: to, position }: TransferRow,
): Promise<Moved> {
  const ids = await handOverConversations(em, { from, to }, { before: position, limit: BATCH });
  return { kind: 'conversations', count: ids.length, position: positionOf(ids, BATCH) };
}

/** What the new owner's set of the same name has made under the same name, stays that set's. */
async function appliedSets(em: EntityManager, { from_id: from, to_id: to }: TransferRow): Promise<Moved> {
  const moved = await em.execute<{ id: string }[]>(
    `update applied_resource set owner_id = ?
      where id = any(array(
        select a.id from applied_resource a
         where a.owner_id = ? and not exists (
                 select from applied_resource o
                  where (o.owner_id, o.set_name, o.kind, o.name) = (?, a.set_name, a.kind, a.name))
         limit ?))
      returning id`,
    [to, from, to, BATCH],
  );
  return {
    count: moved.length,
    position: positionOf(
      moved.map(({ id }) => id),
      BATCH,
    ),
  };
}

function positionOf(ids: readonly string[], limit: number): string | null {
  return ids.length < limit ? null : (ids.at(-1) ?? null);
}
