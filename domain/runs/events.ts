/**
 * The one way into a run's event log. Whoever appends locks the run's row, so `seq` is gapless and in
 * commit order; an event whose key is there already is ignored, so a repeat changes nothing; nothing
 * follows a terminal event. Must run inside the caller's transaction.
 */
import type { EntityManager } from '@mikro-orm/postgresql';
import { v7 as uuidv7 } from 'uuid';
import { isTerminal } from '../../contracts/run-events.ts';
import type { EventBatch, NewRunEvent, RunEnd, RunStatus } from '../../contracts/run-events.ts';
import { closeHumanTasks, closeOpenTasks } from './ending.ts';
import { enqueueSignal } from './signals.ts';
import { storable } from '../storable.ts';

export interface AppendResult {
  /** The run was terminal before: nothing was written. */
  closed: boolean;
  /** Signals that became rows here; deliver them after the commit. */
  signals: string[];
}

export interface LockedRun {
  id: string;
  status: RunStatus;
  parent_run_id: string | null;
}

/** Locks the run's row; null if there is none. Lock order everywhere: run row, then its task rows by id. */
export async function lockRun(em: EntityManager, runId: string): Promise<LockedRun | null> {
  const rows = await em.execute<LockedRun[]>(`select id, status, parent_run_id from run where id = ? for update`, [runId]);
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
  if (!ending) return append(em, runId, batch);
  const run = await lockRun(em, runId);
  if (run === null || isTerminal(run.status)) return { closed: true, signals: [] };
  // Open tasks close before the run shows its end, in the log as in the tables: nothing follows a terminal event.
  const closing = await closeHumanTasks(em, run.id);
  const events = [...batch.events.slice(0, -1), ...closing, ...batch.events.slice(-1)];
  const { signals } = await append(em, runId, { ...batch, events, projection: null });
  return { closed: false, signals: [...signals, ...(await endRun(em, run, ending.end, ending.checkpoint))] };
}

/** The arguments of the database's `append_run_events`, which all its callers share. */
export function appendArguments(runId: string, batch: EventBatch): { sql: string; values: unknown[]; signal: string } {
  const signal = uuidv7();
  const values = [
    runId,
    JSON.stringify(storable(batch.events)),
    batch.projection === null ? null : JSON.stringify(batch.projection),
    `{${batch.acks.join(',')}}`,
    signal,
  ];
  return { sql: '?::uuid, ?::json, ?::jsonb, ?::uuid[], ?::uuid', values, signal };
}

/**
 * db/migrations/0009: locks the run's row, numbers and inserts the events that are not there yet, folds them into
 * `run_task`, notes what was received, takes status and `waiting_on` of a later batch, and tells the parent of a run whose
 * waiting for people changes.
 */
async function append(em: EntityManager, runId: string, batch: EventBatch): Promise<AppendResult> {
  const { sql, values, signal } = appendArguments(runId, batch);
  const [row] = await em.execute<{ result: { closed: boolean; signalled?: boolean } }[]>(`select append_run_events(${sql}) as result`, values);
  return { closed: row?.result.closed ?? true, signals: row?.result.signalled ? [signal] : [] };
}

async function endRun(em: EntityManager, run: LockedRun, end: RunEnd, checkpoint: unknown): Promise<string[]> {
  await em.execute(
    `update run set status = ?, output = ?::json, error = ?::json, waiting_on = '[]', finished_at = clock_timestamp(),
            started_at = coalesce(started_at, created_at) where id = ?`,
    [end.status, end.output === undefined ? null : JSON.stringify(storable(end.output)), end.error ? JSON.stringify(storable(end.error)) : null, run.id],
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

