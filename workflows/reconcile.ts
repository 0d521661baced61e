import { proxyActivities } from '@temporalio/workflow';
import type { RunActivities } from '../contracts/activities.ts';

/** One pass; each step of it can be repeated at will, so the next pass of the schedule is its retry. */
const { reconcile: pass } = proxyActivities<RunActivities>({ startToCloseTimeout: '60s', heartbeatTimeout: '20s', retry: { maximumAttempts: 1 } });

export async function reconcile(): Promise<void> {
  await pass();
}
