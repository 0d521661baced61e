/**
 * The one way into a run's event log. Whoever appends locks the run's row, so `seq` is gapless and in
 * commit order; an event whose key is there already is ignored, so a repeat changes nothing; nothing
 * follows a terminal event. Must run inside the caller's transaction.
 */
import type { EntityManager } from '@mikro-orm/postgresql';
import { isTerminal } from '../../contracts/run-events.ts';
import type { EventBatch, NewRunEvent, RunEnd, RunProjection, RunStatus, WaitingOn } from '../../contracts/run-events.ts';
import { closeOpenTasks, projectTasks } from './task-projection.ts';
import { enqueueSignal } from './signals.ts';
import { storable } from '../storable.ts';
import { closeHumanTasks, projectDecisions } from './hitl-projection.ts';

export interface AppendResult {
  /** The run was terminal before: nothing was written. */
  closed: boolean;
  /** Signals that became rows here; deliver them after the commit. */
  signals: string[];
}

export interface LockedRun {
  id: string;
  status: RunStatus;
  last_seq: number;
  projection_counter: string;
  waiting_on: WaitingOn[];
  parent_run_id: string | null;
  owner_id: string;
  usage: Record<string, unknown>;
}

export interface WrittenEvent extends NewRunEvent {
  seq: number;
}

/** Locks the run's row; null if there is none. Lock order everywhere: run row, then its task rows by id. */
export async function lockRun(em: EntityManager, runId: string): Promise<LockedRun | null> {
  const rows = await em.execute<LockedRun[]>(
    `select id, status, last_seq, projection_counter, waiting_on, parent_run_id, owner_id, usage
       from run where id = ? for update`,
    [runId],
  );
  return rows[0] ?? null;
}

/**
 * Appends a batch and, with `end`, ends the run: output or error, its open tasks and human tasks closed, cancel
 * commands for its live children, the result for its parent, the checkpoint of a faulted run.
 */
export async function appendEvents(
  em: EntityManager,
  runId: string,
  batch: EventBatch,
  ending?: { end: RunEnd; checkpoint?: unknown },
): Promise<AppendResult> {
  const run = await lockRun(em, runId);
  if (run === null || isTerminal(run.status)) return { closed: true, signals: [] };
  // Open tasks close before the run shows its end, in the log as in the tables: nothing follows a terminal event.
  const closing = ending ? await closeHumanTasks(em, run.id) : [];
  const written = await insertEvents(em, run, [...batch.events.slice(0, -1), ...closing, ...batch.events.slice(-1)]);
  if (written.length > 0) {
    await projectTasks(em, run.id, written);
    await projectDecisions(em, written);
  }
  if (batch.acks.length > 0) {
    await em.execute(`update run_signal set received_at = clock_timestamp() where id = any(?::uuid[]) and received_at is null`, [
      `{${batch.acks.join(',')}}`,
    ]);
  }
  const signals: string[] = [];
  if (ending) signals.push(...(await endRun(em, run, ending.end, ending.checkpoint)));
  else if (batch.projection) signals.push(...(await project(em, run, batch.projection)));
  if (written.length > 0) await em.execute(`select pg_notify('run_event', ?)`, [run.id]);
  return { closed: false, signals };
}

async function insertEvents(em: EntityManager, run: LockedRun, events: NewRunEvent[]): Promise<WrittenEvent[]> {
  if (events.length === 0) return [];
  const rows = await em.execute<{ seq: number; key: string }[]>(
    // A run's events keep their order in the log of all runs too: a transaction that began before the one that wrote the
    // event before, and got the run's lock after it, takes that one's place. No reader is past it while this one is open.
    `with incoming as (
       select i.* from rows from (
         json_to_recordset(?::json) as (key text, type text, at timestamptz, level text, task text, message text, data json)
       ) with ordinality as i (key, type, at, level, task, message, data, ord)
     ), fresh as (
       select *, row_number() over (order by ord) as n from incoming i
        where not exists (select 1 from run_event e where e.run_id = ? and e.key = i.key)
     ), updated as (
       update run set last_seq = last_seq + (select count(*) from fresh) where id = ?
     )
     insert into run_event (run_id, seq, key, type, at, level, task, message, data, tx)
     select ?::uuid, ?::int + n, key, type, at, level, task, message, data,
            greatest(pg_current_xact_id(), (select e.tx from run_event e where e.run_id = ? order by e.seq desc limit 1))
       from fresh order by n
     returning seq, key`,
    [JSON.stringify(storable(events)), run.id, run.id, run.id, run.last_seq, run.id],
  );
  const byKey = new Map(rows.map((row) => [row.key, row.seq]));
  const written: WrittenEvent[] = [];
  for (const event of events) {
    const seq = byKey.get(event.key);
    if (seq !== undefined) written.push({ ...event, seq });
  }
  run.last_seq += written.length;
  return written.sort((a, b) => a.seq - b.seq);
}

/** Takes status and `waiting_on` of a later batch; tells the parent when what this run waits for changes. */
async function project(em: EntityManager, run: LockedRun, projection: RunProjection): Promise<string[]> {
  if (projection.counter <= Number(run.projection_counter)) return [];
  await em.execute(
    `update run set projection_counter = ?, status = ?, waiting_on = ?::jsonb,
            started_at = coalesce(started_at, clock_timestamp()) where id = ?`,
    [projection.counter, projection.status, JSON.stringify(projection.waiting_on), run.id],
  );
  if (run.parent_run_id === null) return [];
  const before = humanWaits(run.status, run.waiting_on);
  const after = humanWaits(projection.status, projection.waiting_on);
  if (JSON.stringify(before) === JSON.stringify(after)) return [];
  const id = await enqueueSignal(em, run.parent_run_id, {
    kind: 'child.waiting',
    child_run_id: run.id,
    waiting_on: after,
    counter: projection.counter,
  });
  return id === null ? [] : [id];
}

function humanWaits(status: RunStatus, waitingOn: WaitingOn[]): WaitingOn[] {
  return status === 'waiting' ? waitingOn.filter((wait) => wait.kind === 'human') : [];
}

async function endRun(em: EntityManager, run: LockedRun, end: RunEnd, checkpoint: unknown): Promise<string[]> {
  await em.execute(
    `update run set status = ?, output = ?::json, error = ?::json, waiting_on = '[]', finished_at = clock_timestamp(),
            started_at = coalesce(started_at, created_at) where id = ?`,
    [end.status, end.output === undefined ? null : JSON.stringify(end.output), end.error ? JSON.stringify(end.error) : null, run.id],
  );
  await closeOpenTasks(em, run.id, end.status);
  await em.execute(`update run_signal set received_at = clock_timestamp() where run_id = ? and received_at is null`, [run.id]);
  if (checkpoint !== undefined && end.status === 'faulted') {
    await em.execute(`insert into run_checkpoint (run_id, state) values (?, ?::json) on conflict do nothing`, [
      run.id,
      JSON.stringify(checkpoint),
    ]);
  }
  const signals: string[] = [];
  const children = await em.execute<{ id: string }[]>(
    `select id from run where parent_run_id = ? and status not in ('cancelled', 'faulted', 'completed')`,
    [run.id],
  );
  for (const child of children) {
    const id = await enqueueSignal(em, child.id, { kind: 'cancel', by: null, at: new Date().toISOString(), reason: 'parent run ended' });
    if (id !== null) signals.push(id);
  }
  if (run.parent_run_id !== null) {
    const id = await enqueueSignal(em, run.parent_run_id, {
      kind: 'child.done',
      child_run_id: run.id,
      status: end.status,
      error: end.error ?? null,
    });
    if (id !== null) signals.push(id);
  }
  return signals;
}

/** An event made by a service in a request: its time is the database's own clock of now. */
export function serviceEvent(
  event: Pick<NewRunEvent, 'key' | 'type' | 'message'> & Partial<NewRunEvent>,
): NewRunEvent {
  return { at: new Date().toISOString(), level: 'info', task: null, data: {}, ...event };
}

