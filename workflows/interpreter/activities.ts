/** One proxy a retry class, with its reason. */
import { ActivityCancellationType, CancellationScope, proxyActivities, proxyLocalActivities } from '@temporalio/workflow';
import type { RunActivities } from '../../contracts/activities.ts';

/** Database work: short, repeatable at will, and never given up, so a database that is away only delays. */
const database = proxyActivities<RunActivities>({
  startToCloseTimeout: '10s',
  retry: { initialInterval: '200ms', backoffCoefficient: 2, maximumInterval: '5s' },
});

/** Not cancellable: a scope's cancellation takes effect after them. */
export function writing<T>(run: (activities: typeof database) => Promise<T>): Promise<T> {
  return CancellationScope.nonCancellable(() => run(database));
}

/**
 * The run's end, in the workflow task that ends the workflow: no further hop through Temporal. Elsewhere a local activity would
 * write what a workflow task that is lost and executed again might see otherwise; here the row is closed from then on, whoever
 * closed it, and the repeat is told so (docs/adr/0012).
 */
const ending = proxyLocalActivities<Pick<RunActivities, 'endRun'>>({
  // With a checkpoint of tens of MiB it takes some seconds, on a busy machine many: one that is never waited for is repeated for ever.
  startToCloseTimeout: '60s',
  retry: { initialInterval: '200ms', backoffCoefficient: 2, maximumInterval: '5s' },
});

export function closing<T>(run: (activities: typeof ending) => Promise<T>): Promise<T> {
  return CancellationScope.nonCancellable(() => run(ending));
}

/** Over the adapter's own limit, so that the adapter's clear timeout error comes first. */
const MARGIN_MS = 30_000;

/**
 * Calls of agents and services. Temporal repeats one only after a lost worker or a failure of our own parts: any
 * answer or failure of the counterpart comes as a non-retryable fault, so that the definition's `catch` and `retry` see it.
 */
export function calling(timeoutMs: number, summary: string): typeof database {
  return proxyActivities<RunActivities>({
    startToCloseTimeout: timeoutMs + MARGIN_MS,
    heartbeatTimeout: '15s',
    cancellationType: ActivityCancellationType.TRY_CANCEL,
    retry: { initialInterval: '200ms', backoffCoefficient: 2, maximumInterval: '5s' },
    summary,
  });
}

/** Tells a counterpart that nobody waits for it any more: tried, never insisted on. */
export function telling(summary: string): typeof database {
  return proxyActivities<RunActivities>({
    startToCloseTimeout: '15s',
    scheduleToCloseTimeout: '30s',
    retry: { maximumAttempts: 2 },
    summary,
  });
}
