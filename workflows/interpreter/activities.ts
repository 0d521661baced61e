/** Activity proxies, one for each retry class, with its reason. */
import { ActivityFailure, TimeoutFailure, type ActivityOptions } from '@temporalio/common';
import {
  ActivityCancellationType,
  CancellationScope,
  proxyActivities,
  proxyLocalActivities,
} from '@temporalio/workflow';
import type { RunActivities } from '../../contracts/activities.ts';

/**
 * Database work: short and idempotent. It is retried without limit, so an outage of the database only delays
 * it.
 */
const database = proxyActivities<RunActivities>({
  startToCloseTimeout: '10s',
  retry: { initialInterval: '200ms', backoffCoefficient: 2, maximumInterval: '5s' },
});

/** Not cancellable: a cancellation of the scope takes effect afterwards. */
export function writing<T>(run: (activities: typeof database) => Promise<T>): Promise<T> {
  return CancellationScope.nonCancellable(() => run(database));
}

/**
 * Ends the run as a local activity, in the workflow task that ends the workflow, which saves a round trip
 * through Temporal. A local activity may run again if its workflow task is lost. Here that is safe: the row
 * stays closed, whoever closed it, and the repeat learns that (docs/adr/0012).
 */
const ending = proxyLocalActivities<Pick<RunActivities, 'endRun'>>({
  // A checkpoint of tens of MiB takes some seconds, many on a busy machine. If the timeout were shorter than
  // that, it would be retried forever.
  startToCloseTimeout: '60s',
  retry: { initialInterval: '200ms', backoffCoefficient: 2, maximumInterval: '5s' },
});

export function closing<T>(run: (activities: typeof ending) => Promise<T>): Promise<T> {
  return CancellationScope.nonCancellable(() => run(ending));
}

/** Longer than the adapter's own timeout, so that the adapter's clear timeout error comes first. */
const MARGIN_MS = 30_000;

/**
 * Calls of agents and services. Temporal retries one only after a lost worker or a failure on our side.
 * Responses and failures of the counterpart are non-retryable faults, so that the definition's `catch` and
 * `retry` handle them.
 */
export function calling(
  timeoutMs: number,
  summary: string,
  where: Pick<ActivityOptions, 'taskQueue' | 'scheduleToStartTimeout'> = {},
): typeof database {
  return proxyActivities<RunActivities>({
    ...where,
    startToCloseTimeout: timeoutMs + MARGIN_MS,
    heartbeatTimeout: '15s',
    cancellationType: ActivityCancellationType.TRY_CANCEL,
    retry: { initialInterval: '200ms', backoffCoefficient: 2, maximumInterval: '5s' },
    summary,
  });
}

/**
 * Processes that workers of another task queue run. The activity fails if none of them takes it within
 * `waitMs`; the call has not begun then.
 */
export function callingOn(
  taskQueue: string,
  waitMs: number,
  timeoutMs: number,
  summary: string,
): Pick<typeof database, 'runProcess' | 'runContainer'> {
  return calling(timeoutMs, summary, { taskQueue, scheduleToStartTimeout: waitMs });
}

/** Whether no worker has taken an activity within its `waitMs`. */
export function isUntaken(error: unknown): boolean {
  return (
    error instanceof ActivityFailure &&
    error.cause instanceof TimeoutFailure &&
    error.cause.timeoutType === 'SCHEDULE_TO_START'
  );
}

/**
 * Short calls: local activities. Whatever fails on our side is left to the ordinary call that follows, which
 * is retried by Temporal.
 */
export function callingShortly(
  timeoutMs: number,
  summary: string,
): ReturnType<typeof proxyLocalActivities<Pick<RunActivities, 'invokeAgent' | 'callHttp'>>> {
  return proxyLocalActivities<Pick<RunActivities, 'invokeAgent' | 'callHttp'>>({
    startToCloseTimeout: timeoutMs + MARGIN_MS,
    retry: { maximumAttempts: 1 },
    summary,
  });
}

/** How long the process that makes a handed-over call may take to answer. Then it is believed lost. */
const FOLLOW_WAIT = '10s';

/**
 * Waits for a handed-over call on the task queue of its process. It is not repeated: if the process is lost,
 * an ordinary call follows, which is.
 */
export function following(
  taskQueue: string,
  timeoutMs: number,
  summary: string,
): Pick<typeof database, 'followCall'> {
  return proxyActivities<RunActivities>({
    taskQueue,
    scheduleToStartTimeout: FOLLOW_WAIT,
    startToCloseTimeout: timeoutMs + MARGIN_MS,
    heartbeatTimeout: '15s',
    cancellationType: ActivityCancellationType.TRY_CANCEL,
    retry: { maximumAttempts: 1 },
    summary,
  });
}

/** Tells a counterpart that its result is not needed any more; limited attempts. */
export function bestEffort(summary: string): typeof database {
  return proxyActivities<RunActivities>({
    startToCloseTimeout: '15s',
    scheduleToCloseTimeout: '30s',
    retry: { maximumAttempts: 2 },
    summary,
  });
}
