import { proxyActivities } from '@temporalio/workflow';
import type { RunActivities } from '../contracts/activities.ts';

/** One pass. Each step is idempotent, so the schedule's next pass serves as the retry. */
const { reconcile: reconcileOnce } = proxyActivities<RunActivities>({
  startToCloseTimeout: '110s',
  heartbeatTimeout: '20s',
  retry: { maximumAttempts: 1 },
});

export async function reconcile(): Promise<void> {
  await reconcileOnce();
}
