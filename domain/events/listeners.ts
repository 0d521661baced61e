/**
 * Listeners of runs: opened by a `listen` task, with the events since the run began, asked for more, closed.
 * `em` is in the transaction that also appends to the run's log, so the run's row is locked.
 */
import type { TakenEvents } from '../../contracts/listening.ts';
import type { EntityManager } from '../../db/orm.ts';
import { arrayLiteral } from '../../db/sql.ts';
import { audienceOf, readInbox, type Audience } from './inbox.ts';
import { findAgain, openAgain, stateAfterTaken, type NewListener } from './listener-again.ts';
import { insertKeys, lockListeners, NOTHING_YET, readTaken, type ListenerRow } from './listener-rows.ts';

/**
 * The run may have the listener already, from before a restore. Repeating it is harmless.
 * @returns the first events, and up to which event the retried run has worked
 */
export async function openListener(
  em: EntityManager,
  listener: NewListener,
): Promise<TakenEvents & { after: number }> {
  const audience = await audienceOf(em, listener.run_id);
  const known = await findAgain(em, listener, audience);
  if (!known) await insertListener(em, listener, audience);
  const [row] = known ? [known] : await lockListeners(em, [listener.id]);
  if (!row) throw new Error('the listener was not stored');
  const after = listener.resumes?.seq ?? 0;
  return { ...(await nextEvents(em, row, audience, after)), after };
}

async function insertListener(
  em: EntityManager,
  { id, run_id: runId, task, visit, spec, resumes }: NewListener,
  audience: Audience,
): Promise<void> {
  await em.execute(
    `insert into listener (id, owner_id, run_id, task_ref, visit, spec, state, last_seq, since, inbox_at,
                           inbox_id)
     select ?, r.owner_id, r.id, ?, ?, ?::json, ?::jsonb, ?, first.created_at, first.created_at,
            '00000000-0000-0000-0000-000000000000'
       from run r join run first on first.id = ?::uuid
      where r.id = ?`,
    [
      id,
      task,
      visit,
      JSON.stringify(spec),
      JSON.stringify(NOTHING_YET),
      resumes?.seq ?? 0,
      audience.runs.at(-1) ?? runId,
      runId,
    ],
  );
  const { state, status } =
    resumes === undefined
      ? { state: NOTHING_YET, status: 'open' as const }
      : await takeOver(em, { id, spec, resumes }, audience);
  if (status === 'open') await insertKeys(em, { id, spec, state }, audience.senders);
}

/**
 * The events that the retried run has worked on keep their numbers, and bind what they have bound.
 * @returns what the listener waits for after them
 */
async function takeOver(
  em: EntityManager,
  { id, spec, resumes }: Required<Pick<NewListener, 'id' | 'spec' | 'resumes'>>,
  { runs }: Audience,
): Promise<Pick<ListenerRow, 'state' | 'status'>> {
  await em.execute(
    `insert into listener_event (listener_id, event_id, seq, role)
     select ?::uuid, e.event_id, e.seq, e.role from listener_event e join listener l on l.id = e.listener_id
      where l.id = ? and l.run_id = any(?::uuid[]) and e.seq <= ?`,
    [id, resumes.id, arrayLiteral(runs), resumes.seq],
  );
  const { state, status } = await stateAfterTaken(em, { id, spec });
  await em.execute('update listener set state = ?::jsonb, status = ? where id = ?', [
    JSON.stringify(state),
    status,
    id,
  ]);
  return { state, status };
}

/**
 * The events after `after`. Without any, the run is told of the next one by a signal, unless there may be
 * more in its inbox.
 */
export async function takeEvents(
  em: EntityManager,
  { id, run_id: runId, after }: { id: string; run_id: string; after: number },
): Promise<TakenEvents> {
  const [row] = await lockListeners(em, [id]);
  const audience = await audienceOf(em, runId);
  const open = row?.status === 'closed' ? await openAgain(em, row, audience) : row;
  if (!open || open.run_id !== runId) return { events: [], done: true, more: false };
  return nextEvents(em, open, audience, after);
}

async function nextEvents(
  em: EntityManager,
  row: ListenerRow,
  audience: Audience,
  after: number,
): Promise<TakenEvents> {
  let current = row;
  let taken = await readTaken(em, current, after);
  if (taken.events.length === 0 && current.status === 'open' && current.inbox_at !== null) {
    current = await readInbox(em, current, audience);
    taken = await readTaken(em, current, after);
  }
  const isWaiting = taken.events.length === 0 && !taken.done && current.inbox_at === null;
  if (current.signalled === isWaiting)
    await em.execute('update listener set signalled = ? where id = ?', [!isWaiting, row.id]);
  return { ...taken, more: !isWaiting && !taken.done };
}

/**
 * Ends a listener. Events after `seq`, on which the run has not worked, are free for its next `listen`.
 */
export async function closeListener(
  em: EntityManager,
  { id, run_id: runId, seq }: { id: string; run_id: string; seq: number },
): Promise<void> {
  const closed = await em.execute<object[]>(
    `update listener set status = 'closed', restored = false where id = ? and run_id = ? returning 1`,
    [id, runId],
  );
  if (closed.length === 0) return;
  await em.execute('delete from listener_key where listener_id = ?', [id]);
  await em.execute('delete from listener_event where listener_id = ? and seq > ?', [id, seq]);
}
