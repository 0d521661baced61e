/**
 * Listeners of a run whose execution on Temporal is from an earlier time than the database, after a restore
 * (docs/adr/0059-backups.md). The run opens a listener that it has, perhaps under another id, or asks one
 * that it has closed. `em` is in the transaction that has locked the run's row.
 */
import { canonicalJson } from '../../contracts/canonical-json.ts';
import type { ListenerSpec, TakenEvents } from '../../contracts/listening.ts';
import type { EntityManager } from '../../db/orm.ts';
import type { Audience } from './inbox.ts';
import { insertKeys, lockListeners, NOTHING_YET, readTaken, type ListenerRow } from './listener-rows.ts';
import { consume, isSettled } from './match.ts';
import { createYielder } from './yield-to-others.ts';

/** As a run opens it. */
export interface NewListener {
  id: string;
  run_id: string;
  task: string;
  visit: number;
  spec: ListenerSpec;
  /** The listener of the run that this one retries, and the last event that it has worked on. */
  resumes?: { id: string; seq: number };
}

/**
 * The listener that the run has for this visit of the task, under the id that it has now; null for a new one.
 */
export async function findAgain(
  em: EntityManager,
  listener: NewListener,
  audience: Audience,
): Promise<ListenerRow | null> {
  const { id, run_id: runId, task, visit, spec } = listener;
  const [found] = await em.execute<{ id: string }[]>(
    `select id from listener where run_id = ? and (id = ? or (task_ref = ? and visit = ?))
      order by id = ? desc, id limit 1`,
    [runId, id, task, visit, id],
  );
  if (found === undefined) return null;
  await lockListeners(em, [found.id]);
  if (found.id !== id) await rename(em, found.id, id);
  const [row] = await lockListeners(em, [id]);
  if (row === undefined) return null;
  // Items of a fork or a map may have changed places with their visits: the listener then begins anew.
  if (canonicalJson(row.spec) !== canonicalJson(spec)) return beginAnew(em, listener, audience);
  // Events may be on their way to it under the id that it had, and would not find it.
  const isRenamed = found.id !== id && row.status === 'open';
  return isRenamed || row.status === 'closed' ? reopen(em, row, audience) : row;
}

/** What a run from before asks of a listener that it has closed since; null if it is none of those. */
export async function openAgain(
  em: EntityManager,
  row: ListenerRow,
  audience: Audience,
): Promise<ListenerRow | null> {
  const [restored] = await em.execute<object[]>('select from listener where id = ? and restored', [row.id]);
  return restored ? reopen(em, row, audience) : null;
}

/** With all that refers to it. */
async function rename(em: EntityManager, from: string, to: string): Promise<void> {
  await em.execute(
    `insert into listener (id, owner_id, run_id, task_ref, visit, spec, state,
                           status, last_seq, signalled, since,
                           inbox_at, inbox_id, seen_below, created_at, restored)
     select ?::uuid, owner_id, run_id, task_ref, visit, spec, state, status, last_seq, signalled, since,
            inbox_at, inbox_id, seen_below, created_at, restored
       from listener where id = ?`,
    [to, from],
  );
  for (const table of ['listener_event', 'listener_key'])
    await em.execute(`update ${table} set listener_id = ? where listener_id = ?`, [to, from]);
  await em.execute('delete from listener where id = ?', [from]);
}

async function beginAnew(
  em: EntityManager,
  { id, spec }: NewListener,
  audience: Audience,
): Promise<ListenerRow | null> {
  await em.execute('delete from listener_event where listener_id = ?', [id]);
  await em.execute('update listener set spec = ?::json where id = ?', [JSON.stringify(spec), id]);
  const [row] = await lockListeners(em, [id]);
  return row ? reopen(em, row, audience) : null;
}

/** It keeps the events that the run has worked on, and looks for others from the start of the run. */
async function reopen(em: EntityManager, row: ListenerRow, audience: Audience): Promise<ListenerRow> {
  const { id, spec } = row;
  const { state, status } = await stateAfterTaken(em, row);
  await em.execute('delete from listener_key where listener_id = ?', [id]);
  await em.execute(
    `update listener l set state = ?::jsonb, status = ?, inbox_at = l.since, restored = false,
            inbox_id = '00000000-0000-0000-0000-000000000000', seen_below = null,
            last_seq = coalesce((select max(seq) from listener_event e where e.listener_id = l.id), 0)
      where l.id = ?`,
    [JSON.stringify(state), status, id],
  );
  if (status === 'open') await insertKeys(em, { id, spec, state }, audience.senders);
  const [reopened] = await lockListeners(em, [id]);
  if (!reopened) throw new Error('the listener was not stored');
  return reopened;
}

/** What a listener waits for after the events that it has. */
export async function stateAfterTaken(
  em: EntityManager,
  { id, spec }: Pick<ListenerRow, 'id' | 'spec'>,
): Promise<Pick<ListenerRow, 'state' | 'status'>> {
  let state = NOTHING_YET;
  let status: ListenerRow['status'] = 'open';
  const yieldToOthers = createYielder();
  let page: TakenEvents;
  let after = 0;
  do {
    page = await readTaken(em, { id, status: 'open' }, after);
    for (const { seq, event } of page.events) {
      const consumed = consume(spec, state, event);
      if (consumed?.done) status = 'done';
      state = consumed?.state ?? state;
      after = seq;
      await yieldToOthers();
    }
  } while (page.more && status === 'open' && !isSettled(spec, state));
  return { state, status };
}
