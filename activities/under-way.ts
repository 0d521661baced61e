/**
 * Shared by all activities that talk to a counterpart: heartbeats, cancellation, and failures that name the
 * responsible side.
 */
import { CancelledFailure, Context } from '@temporalio/activity';
import { ApplicationFailure, ApplicationFailureCategory } from '@temporalio/common';
import { FAILURE } from '../contracts/activities.ts';
import { Fault } from '../contracts/fault.ts';
import type { CallUnderWay } from '../domain/runs/invocations.ts';
import type { ActiveCalls } from './active-calls.ts';
import { currentHandOver } from './handed-over-calls.ts';

/**
 * Keeps the activity alive at Temporal. Cancellations usually arrive through `ActiveCalls`; heartbeats are
 * the fallback.
 */
export const HEARTBEAT_MS = 4_000;

export interface UnderWay {
  /** Of the activity that waits for the call. */
  readonly context: Context;
  /** Aborted when nothing waits for the call any more, and when the worker stops. */
  signal: AbortSignal;
  /** Whether the call's task or run has ended without it, as far as this process knows. */
  ended: () => boolean;
}

/** Runs a call with heartbeats; `signal` is aborted when nothing waits for the call any more. */
export async function underWay<T>(
  calls: ActiveCalls,
  call: CallUnderWay,
  work: (underWay: UnderWay) => Promise<T>,
): Promise<T> {
  const context = Context.current();
  const watch = calls.watch(call);
  const handOver = currentHandOver();
  try {
    const signals = [context.cancellationSignal, watch.signal, ...(handOver ? [handOver.signal] : [])];
    const underWay: UnderWay = {
      get context() {
        return handOver?.context ?? context;
      },
      signal: AbortSignal.any(signals),
      ended: () => watch.signal.aborted,
    };
    const run = (): Promise<T> => work(underWay);
    return await (context.info.isLocal ? run() : heartbeating(context, HEARTBEAT_MS, run));
  } finally {
    watch.close();
  }
}

/** Sends heartbeats every `everyMs` until `work` settles. */
export async function heartbeating<T>(context: Context, everyMs: number, work: () => Promise<T>): Promise<T> {
  const timer = setInterval(() => context.heartbeat(), everyMs);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}

/** Whether the worker stops, so that another one repeats the call. */
export function isStopping({ context }: UnderWay): boolean {
  return context.cancellationSignal.aborted && context.cancellationDetails?.workerShutdown === true;
}

/** The error to throw for a failure of the work; `activity` names it, such as `The invocation`. */
export function failureOf(underWay: UnderWay, error: unknown, activity: string): unknown {
  const { context, ended } = underWay;
  if (context.cancellationSignal.aborted) {
    // The worker is stopping and the call was not cancelled, so another worker retries it.
    if (isStopping(underWay))
      return ApplicationFailure.retryable('The worker is shutting down', 'WorkerShutdown');
    return new CancelledFailure(`${activity} was cancelled`);
  }
  // Temporal was already asked to cancel the activity, so it does not retry it.
  if (ended())
    return ApplicationFailure.create({
      type: 'CallEnded',
      message: `${activity} was cancelled`,
      category: ApplicationFailureCategory.BENIGN,
    });
  if (!(error instanceof Fault)) return error;
  return ApplicationFailure.create({
    type: FAILURE.fault,
    message: error.message,
    nonRetryable: true,
    details: [error.error, ...(error.spent ? [error.spent] : [])],
  });
}

/** Temporal discards the result of this attempt. */
export function overtaken(): ApplicationFailure {
  return ApplicationFailure.create({
    type: 'Overtaken',
    message: 'A later attempt of this call has begun',
    category: ApplicationFailureCategory.BENIGN,
  });
}
