/**
 * Appends to a run's event log; the only way to do so. Every append locks the run's row, so `seq` has no gaps
 * and follows the order of commits. An event with a known key is ignored, so appends can be repeated. Nothing
 * follows a terminal event. Must run inside the caller's transaction.
 */
import { loggedError } from '../../contracts/dsl-error.ts';
import type { EntityManager } from '../../db/orm.ts';
import { Prepared, type Value } from '../../db/prepared.ts';
import { arrayLiteral, isNoneOf } from '../../db/sql.ts';
import {
  TERMINAL_STATUSES,
  isTerminal,
  type EventBatch,
  type NewRunEvent,
  type RunEnd,
  type RunStatus,
  type RunTaskStatus,
} from '../../contracts/run-events.ts';
import { stateOfEnd } from '../a2a/state.ts';
import { countEndedCalls, isAgentFailure } from '../registry/agent-turns.ts';
import { closeHumanTasks } from './ending.ts';
import { eventRows } from './event-columns.ts';
import type { TreeCount } from './limits.ts';
import { projectionColumns } from './projection-columns.ts';
import { enqueueSignal } from './signals.ts';
import { storableJson } from '../storable.ts';

export interface AppendResult {
  /** The run had ended before; nothing was written. */
  closed: boolean;
  /** Signals that were stored here; the caller delivers them after the commit. */
  signals: string[];
  /** The tree's counters, if this append passed one of their steps. */
  tree?: TreeCount | null;
  /** The counter of the status that the row shows instead of the batch's. */
  behind?: number | null;
}

export interface Ending {
  end: RunEnd;
  /** The interpreter's state of a faulted run, from which it can be retried. */
  checkpoint?: unknown;
}

export interface LockedRun {
  id: string;
  status: RunStatus;
  parent_run_id: string | null;
}

/**
 * Locks the run's row; null if there is none. All code locks run rows before their task rows, and those in
 * the order of ids. Runs are always locked `for no key update`: writing a row that references a run takes a
 * key share lock on it, which `for update` would block. A parent and a child that end at once write signals
 * to each other and would deadlock.
 */
export async function lockRun(em: EntityManager, runId: string): Promise<LockedRun | null> {
  const rows = await em.execute<LockedRun[]>(
    `select id, status, parent_run_id from run where id = ? for no key update`,
    [runId],
  );
  return rows[0] ?? null;
}

/**
 * Appends a batch. With `end`, also ends the run: stores output or error, closes open tasks and human tasks,
 * sends cancel commands to live children that are not detached, signals the result to the parent, and stores
 * a faulted run's checkpoint.
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
  // Close open tasks before the run's end, in the log as in the tables: nothing may follow a terminal event.
  const closing = await closeHumanTasks(em, run.id);
  const events = [...batch.events.slice(0, -1), ...closing, ...batch.events.slice(-1)];
  return { closed: false, signals: await endRun(em, run, { ...batch, events }, ending) };
}

/** The arguments that all callers of `append_run_events` share. */
export const APPEND_ARGUMENTS = '?::uuid, ?::json, ?::jsonb, ?::uuid[]';

/** Values of `APPEND_ARGUMENTS`. */
export function appendArguments(
  runId: string,
  { events, projection, acks }: EventBatch,
): { values: Value[]; parentSignal: string | null } {
  const columns = projection && projectionColumns(runId, projection);
  return {
    values: [runId, eventRows(events), columns && JSON.stringify(columns), arrayLiteral(acks)],
    parentSignal: columns && columns.parent_signal.id,
  };
}

const APPEND = new Prepared(`select append_run_events(${APPEND_ARGUMENTS}) as result`);

/**
 * SQL function `append_run_events`: locks the run's row, numbers and inserts new events, updates `run_task`,
 * records acknowledged signals, applies status and `waiting_on` of a newer batch, and signals the parent if
 * the run's waiting for people changes.
 */
async function append(em: EntityManager, runId: string, batch: EventBatch): Promise<AppendResult> {
  const { values, parentSignal } = appendArguments(runId, batch);
  const [row] = await APPEND.execute<{
    result: { closed: boolean; signalled?: boolean; tree?: TreeCount | null; behind?: number | null };
  }>(em, values);
  return {
    closed: row?.result.closed ?? true,
    signals: row?.result.signalled && parentSignal !== null ? [parentSignal] : [],
    tree: row?.result.tree ?? null,
    behind: row?.result.behind ?? null,
  };
}

const END_ARGUMENTS = '?::uuid, ?::json, ?::uuid[], ?::text, ?::text, ?::text, ?::json, ?::json, ?::json';
const END_RUN = new Prepared(`select end_run(${END_ARGUMENTS}) as result`);
const END_LONE_RUN = new Prepared(`select end_lone_run(${END_ARGUMENTS}, ?::json) as result`);

interface EndedRow {
  closed?: boolean;
  /** The agents whose calls the run was. */
  calls_of?: string[] | null;
}

/** As `endTurn` counts it. */
function failedBy({ status, error }: RunEnd): boolean | null {
  if (status === 'cancelled') return null;
  return status === 'faulted' && error ? isAgentFailure(error) || null : false;
}

/**
 * SQL function `end_run`: appends, then stores the run's output or error, its open tasks, signals and
 * checkpoint. The run is locked.
 */
async function endRun(
  em: EntityManager,
  run: LockedRun,
  batch: EventBatch,
  ending: Ending,
): Promise<string[]> {
  const { end } = ending;
  const [row] = await END_RUN.execute<{ result: EndedRow }>(em, endArguments(run.id, batch, ending));
  await countEndedCalls(em, run.id, row?.result.calls_of ?? [], failedBy(end));
  const signals: string[] = [];
  const children = await em.execute<{ id: string }[]>(
    `select id from run
      where parent_run_id = ? and ${isNoneOf('status', TERMINAL_STATUSES)} and not detached`,
    [run.id],
  );
  for (const child of children) {
    const id = await enqueueSignal(em, child.id, {
      kind: 'cancel',
      by: null,
      at: new Date().toISOString(),
      reason: 'parent run ended',
    });
    if (id !== null) signals.push(id);
  }
  if (run.parent_run_id !== null) {
    const id = await enqueueSignal(em, run.parent_run_id, {
      kind: 'child.done',
      child_run_id: run.id,
      status: end.status,
      // The run has the whole error; a history and its repeats need no more than a log.
      error: end.error ? loggedError(end.error) : null,
      usage: await usageOfTree(em, run.id),
    });
    if (id !== null) signals.push(id);
  }
  return signals;
}

/** What the run and all runs below it have used: the sums of the numbers, by name. */
async function usageOfTree(em: EntityManager, runId: string): Promise<Record<string, number>> {
  const rows = await em.execute<{ name: string; total: string }[]>(
    `with recursive tree (id) as (
       select ?::uuid union all select r.id from run r join tree on r.parent_run_id = tree.id)
     select k.name, sum((u.usage ->> k.name)::numeric) as total
       from usage_record u join tree on tree.id = u.run_id,
            lateral jsonb_object_keys(u.usage) as k (name)
      where jsonb_typeof(u.usage -> k.name) = 'number' group by k.name`,
    [runId],
  );
  return Object.fromEntries(rows.map(({ name, total }) => [name, Number(total)]));
}

/**
 * Ends a run without dependents in one statement, outside any transaction: one without a parent, without live
 * children other than detached ones, and without open human tasks. `outcomes`: of calls, as `outcomeRows`
 * gives them; with `conflict`, nothing was done. @returns null for any other run, unchanged; `appendEvents`
 * ends those
 */
export async function endLoneRun(
  em: EntityManager,
  runId: string,
  batch: EventBatch,
  ending: Ending,
  outcomes: string | null,
): Promise<{ closed: boolean; conflict: boolean } | null> {
  const [row] = await END_LONE_RUN.execute<{
    result: EndedRow & { lone?: false; conflict?: true };
  }>(em, [...endArguments(runId, batch, ending), outcomes]);
  if (row?.result.lone === false) return null;
  await countEndedCalls(em, runId, row?.result.calls_of ?? [], failedBy(ending.end));
  return { closed: row?.result.closed ?? true, conflict: row?.result.conflict ?? false };
}

function endArguments(runId: string, batch: EventBatch, { end, checkpoint }: Ending): Value[] {
  const faulted = end.status === 'faulted';
  const unfinishedTasks: RunTaskStatus = faulted ? 'faulted' : 'cancelled';
  return [
    runId,
    eventRows(batch.events),
    arrayLiteral(batch.acks),
    end.status,
    unfinishedTasks,
    stateOfEnd(end),
    end.output === undefined ? null : storableJson(end.output),
    end.error ? storableJson(end.error) : null,
    checkpoint === undefined || !faulted ? null : JSON.stringify(checkpoint),
  ];
}

/** An event that a service creates in a request, with the current time. */
export function serviceEvent(
  event: Pick<NewRunEvent, 'key' | 'type' | 'message'> & Partial<NewRunEvent>,
): NewRunEvent {
  return { at: new Date().toISOString(), level: 'info', task: null, data: {}, ...event };
}
