import { ScheduleAlreadyRunning } from '@temporalio/client';
import type { Client } from '@temporalio/client';
import { RECONCILE_SCHEDULE, RECONCILE_WORKFLOW } from '../contracts/temporal.ts';

/** The reconciler's schedule: every 10 s, no two at once, what was missed while Temporal was away is not caught up. */
export async function ensureReconcileSchedule(client: Client, taskQueue: string): Promise<void> {
  try {
    await client.schedule.create({
      scheduleId: RECONCILE_SCHEDULE,
      spec: { intervals: [{ every: '10s' }] },
      policies: { overlap: 'SKIP', catchupWindow: '10s' },
      action: { type: 'startWorkflow', workflowType: RECONCILE_WORKFLOW, workflowId: RECONCILE_WORKFLOW, taskQueue, workflowRunTimeout: '2m', args: [] },
    });
  } catch (error) {
    if (!(error instanceof ScheduleAlreadyRunning)) throw error;
  }
}
