import { proxyActivities } from '@temporalio/workflow';
import type { CheckedContainer, RunActivities } from '../../contracts/activities.ts';
import type { CheckContainerArgs } from '../../contracts/temporal.ts';

/** Asks a worker that has the container engine. Whoever waits for the answer asks again if it fails. */
export async function checkContainer({
  timeout_ms: timeoutMs,
  process_queue: taskQueue,
  ...agent
}: CheckContainerArgs): Promise<CheckedContainer> {
  const workers = proxyActivities<RunActivities>({
    ...(taskQueue === undefined ? {} : { taskQueue }),
    scheduleToCloseTimeout: timeoutMs,
    retry: { maximumAttempts: 1 },
  });
  return workers.checkContainer(agent);
}
