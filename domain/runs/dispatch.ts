/** Sends committed starts and signals to Temporal. The reconciler repeats what does not arrive. */
import type { MikroORM } from '@mikro-orm/postgresql';
import { lateFork } from '../../db/late-fork.ts';
import { LOG_TEXT, lostExecution } from '../../contracts/log-texts.ts';
import { standardError } from '../../contracts/dsl-error.ts';
import { EVENT, type NewRunEvent, type RunEnd } from '../../contracts/run-events.ts';
import type { RunStart } from '../../contracts/temporal.ts';
import { isOwnTemporal } from '../operations/temporal-identity.ts';
import { TemporalUnavailable, type TemporalGateway } from '../ports.ts';
import { inParallel } from '../in-parallel.ts';
import { appendEvents, serviceEvent } from './events.ts';
import { markArrival } from './delivery-marks.ts';
import { runName } from './run-name.ts';
import { markDelivered, readSignals, type AnswerKept, type OpenSignal } from './signals.ts';
import { readRunStart } from './start.ts';

export interface DispatchDeps {
  orm: MikroORM;
  temporal: TemporalGateway;
}

/** Starts a pending run's workflow. @returns false if Temporal is unavailable */
export async function startRun(deps: DispatchDeps, runId: string): Promise<boolean> {
  return startWith(deps, await readRunStart(deps.orm.em.fork(), runId));
}

/** @param start null: there is nothing to start @returns false if Temporal is unavailable */
export async function startWith(
  { temporal }: Pick<DispatchDeps, 'temporal'>,
  start: RunStart | null,
): Promise<boolean> {
  if (start === null) return true;
  try {
    await temporal.start(start);
    return true;
  } catch (error) {
    if (error instanceof TemporalUnavailable) return false;
    throw error;
  }
}

/** Sends signals by their ids, to `atOnce` runs at a time. @returns the ids that arrived */
export async function deliverSignals(deps: DispatchDeps, ids: string[], atOnce = 1): Promise<string[]> {
  if (ids.length === 0) return [];
  return sendSignals(deps, await readSignals(lateFork(deps.orm.em), ids), atOnce);
}

const ENDED_AT_ONCE = 10;

/** What a command to a run still has to do at Temporal, once it is committed. */
export interface Commanded {
  runId: string;
  /** Ids. */
  signals: string[];
  /** The run was over before its execution did anything: that may never come so far as to notice it. */
  endsExecution: boolean;
}

/**
 * After the commit. The reconciler repeats signals that do not arrive. It ends an execution that was not
 * ended here if that fails again and again (stuck.ts); others end by themselves.
 */
export async function deliverCommands(deps: DispatchDeps, commands: readonly Commanded[]): Promise<void> {
  const ended = commands.filter(({ endsExecution }) => endsExecution);
  await deliverSignals(
    deps,
    commands.flatMap(({ signals }) => signals),
  );
  await inParallel(ended, ENDED_AT_ONCE, ({ runId }) =>
    deps.temporal.terminate(runId, 'the run was cancelled before it started'),
  );
}

/** Those of a run in their order. */
export async function sendSignals(deps: DispatchDeps, signals: OpenSignal[], atOnce = 1): Promise<string[]> {
  const [first, ...others] = signals;
  if (first !== undefined && others.length === 0)
    return (await sendSignal(deps, first)) ? [first.signal.id] : [];
  const delivered = await sendUnmarked(deps, signals, atOnce);
  await markDelivered(lateFork(deps.orm.em), delivered);
  return delivered;
}

/**
 * Sends one signal.
 * @param answerOf what the caller will be told if it arrives, which is then kept for repetitions
 * @returns whether it arrived
 */
export async function sendSignal(
  deps: DispatchDeps,
  signal: OpenSignal,
  answerOf?: () => Promise<AnswerKept>,
): Promise<boolean> {
  const [arrived] = await sendUnmarked(deps, [signal]);
  if (arrived === undefined) return false;
  await markArrival(deps.orm, { id: arrived, runId: signal.run_id, answer: await answerOf?.() });
  return true;
}

/** The caller marks those that arrived. */
export async function sendUnmarked(
  { orm, temporal }: DispatchDeps,
  signals: OpenSignal[],
  atOnce = 1,
): Promise<string[]> {
  const delivered: string[] = [];
  let isAway = false;
  const send = async ({ run_id: runId, signal }: OpenSignal): Promise<void> => {
    try {
      if ((await temporal.signal(runId, signal)) === 'sent') delivered.push(signal.id);
      else await closeLostRun({ orm, temporal }, runId);
    } catch (error) {
      if (!(error instanceof TemporalUnavailable)) throw error;
      isAway = true;
    }
  };
  const byRun = [...Map.groupBy(signals, ({ run_id }) => run_id).values()];
  await inParallel(byRun, atOnce, async (ofRun) => {
    for (const signal of ofRun) if (!isAway) await send(signal);
  });
  return delivered;
}

/**
 * Closes the row of a run whose execution has ended without closing it, so that nothing waits for it forever.
 * Asks Temporal first, and leaves a running execution alone, or a run that its execution has ended. If the
 * server or an operator ended the execution, the run faults with Temporal's reason; only a cancel that was
 * accepted counts as one. That a Temporal of another database does not know the run says nothing.
 */
export async function closeLostRun(deps: DispatchDeps, runId: string): Promise<boolean> {
  const status = await deps.temporal.describe(runId);
  if (status === 'running') return false;
  if (status === null && !(await isOwnTemporal(deps.orm.em.fork(), deps.temporal))) return false;
  const reason = status === null ? null : await deps.temporal.closeReason(runId);
  const em = deps.orm.em.fork();
  const { closed, signals } = await em.transactional(async (tx) => {
    // A run that was never started is not lost: the reconciler starts it.
    const [row] = await tx.execute<{ status: string; cancel_asked: boolean }[]>(
      `select status, exists (select
           from run_signal s where s.run_id = run.id and s.kind = 'cancel') as cancel_asked
         from run where id = ? for no key update`,
      [runId],
    );
    if (!row || row.status === 'pending') return { closed: true, signals: [] };
    const cancelled = row.cancel_asked || status === 'canceled';
    const { event, end } = lostEnd(status, reason, cancelled, await runName(tx, runId));
    return appendEvents(tx, runId, { events: [event], projection: null, acks: [] }, { end });
  });
  await deliverSignals(deps, signals);
  return !closed;
}

/**
 * The end of a run whose execution ended without ending it. `status` is Temporal's; null if it knows no such
 * execution.
 */
function lostEnd(
  status: string | null,
  reason: string | null,
  cancelled: boolean,
  name: { name?: string },
): { event: NewRunEvent; end: RunEnd } {
  const description = lostExecution(status, reason);
  const data = { ...name, execution: status, ...(reason === null ? {} : { reason }) };
  if (cancelled) {
    const event = serviceEvent({
      key: 'run:ended',
      type: EVENT.runCancelled,
      level: 'warn',
      message: LOG_TEXT.runCancelled.withExecution(description),
      data,
    });
    return { event, end: { status: 'cancelled' } };
  }
  const error = standardError('runtime', description);
  const event = serviceEvent({
    key: 'run:ended',
    type: EVENT.runFaulted,
    level: 'error',
    message: LOG_TEXT.runFaulted.withExecution(description),
    data: { ...data, error },
  });
  return { event, end: { status: 'faulted', error } };
}
