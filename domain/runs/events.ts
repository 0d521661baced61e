/**
 * The one way into a run's event log. Whoever appends locks the run's row, so `seq` is gapless and in
 * commit order; an event whose key is there already is ignored, so a repeat changes nothing; nothing
 * follows a terminal event. Must run inside the caller's transaction.
 */
import type { EntityManager } from '@mikro-orm/postgresql';
import { v7 as uuidv7 } from 'uuid';
import { isTerminal } from '../../contracts/run-events.ts';
import type { EventBatch, NewRunEvent, RunEnd, RunStatus } from '../../contracts/run-events.ts';
import { closeHumanTasks } from './ending.ts';
import { enqueueSignal } from './signals.ts';
import { storable } from '../storable.ts';

export interface AppendResult {
  /** The run was terminal before: nothing was written. */
  closed: boolean;
  /** Signals that became rows here; deliver them after the commit. */
  signals: string[];
}

export interface Ending {
  end: RunEnd;
  /** Interpreter state of a faulted run, to retry from. */
  checkpoint?: unknown;
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
  ending?: Ending,
): Promise<AppendResult> {
  if (!ending) return append(em, runId, batch);
  const run = await lockRun(em, runId);
  if (run === null || isTerminal(run.status)) return { closed: true, signals: [] };
  // Open tasks close before the run shows its end, in the log as in the tables: nothing follows a terminal event.
  const closing = await closeHumanTasks(em, run.id);
  const events = [...batch.events.slice(0, -1), ...closing, ...batch.events.slice(-1)];
  return { closed: false, signals: await endRun(em, run, { ...batch, events }, ending) };
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

/** db/migrations/0017: appends, then the run's row with its output or error, open tasks, signals and checkpoint. The run is locked. */
async function endRun(em: EntityManager, run: LockedRun, batch: EventBatch, ending: Ending): Promise<string[]> {
  const { sql, values } = endArguments(run.id, batch, ending);
  await em.execute(`select end_run(${sql})`, values);
  const { end } = ending;
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

/**
 * Ends a run that nobody else hangs on — no parent, no live child, no human task that is open — in one statement; outside any
 * transaction. @returns null, having done nothing, for another, which `appendEvents` ends.
 */
export async function endLoneRun(em: EntityManager, runId: string, batch: EventBatch, ending: Ending): Promise<{ closed: boolean } | null> {
  const { sql, values } = endArguments(runId, batch, ending);
  const [row] = await em.execute<{ result: { closed?: boolean; lone?: false } }[]>(`select end_lone_run(${sql}) as result`, values);
  return row?.result.lone === false ? null : { closed: row?.result.closed ?? true };
}

function endArguments(runId: string, batch: EventBatch, { end, checkpoint }: Ending): { sql: string; values: unknown[] } {
  const values = [
    runId,
    JSON.stringify(storable(batch.events)),
    `{${batch.acks.join(',')}}`,
    uuidv7(),
    end.status,
    end.output === undefined ? null : JSON.stringify(storable(end.output)),
    end.error ? JSON.stringify(storable(end.error)) : null,
    checkpoint === undefined ? null : JSON.stringify(checkpoint),
  ];
  return { sql: '?::uuid, ?::json, ?::uuid[], ?::uuid, ?::text, ?::json, ?::json, ?::json', values };
}

/** An event made by a service in a request: its time is the database's own clock of now. */
export function serviceEvent(
  event: Pick<NewRunEvent, 'key' | 'type' | 'message'> & Partial<NewRunEvent>,
): NewRunEvent {
  return { at: new Date().toISOString(), level: 'info', task: null, data: {}, ...event };
}

