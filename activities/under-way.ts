/** What every activity that talks to a counterpart owes Temporal: heartbeats, and a failure that says who is to blame. */
import { CancelledFailure } from '@temporalio/activity';
import type { Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { FAILURE } from '../contracts/activities.ts';
import { Fault } from '../contracts/fault.ts';

/** Heartbeats each `everyMs` until `work` has ended. */
export async function heartbeating<T>(context: Context, everyMs: number, work: () => Promise<T>): Promise<T> {
  const timer = setInterval(() => context.heartbeat(), everyMs);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}

/** What to throw for an error of the work: `what` is under way, such as `The invocation`. */
export function failureOf(context: Context, error: unknown, what: string): unknown {
  if (context.cancellationSignal.aborted) {
    // Another worker takes it up; nobody asked for its end.
    if (context.cancellationDetails?.workerShutdown) return ApplicationFailure.retryable('The worker is shutting down', 'WorkerShutdown');
    return new CancelledFailure(`${what} was cancelled`);
  }
  if (!(error instanceof Fault)) return error;
  return ApplicationFailure.create({ type: FAILURE.fault, message: error.message, nonRetryable: true, details: [error.error] });
}
