import { ScheduleAlreadyRunning } from '@temporalio/client';
import type { Client } from '@temporalio/client';
import { RECONCILE_SCHEDULE, RECONCILE_WORKFLOW, RETENTION_SCHEDULE, RETENTION_WORKFLOW } from '../contracts/temporal.ts';

interface Routine {
  scheduleId: string;
  workflow: string;
  every: '10s' | '1h';
  /** After this a pass is given up; the next one takes up where it ended. */
  runTimeout: '2m' | '50m';
}

const ROUTINES: readonly Routine[] = [
  { scheduleId: RECONCILE_SCHEDULE, workflow: RECONCILE_WORKFLOW, every: '10s', runTimeout: '2m' },
  { scheduleId: RETENTION_SCHEDULE, workflow: RETENTION_WORKFLOW, every: '1h', runTimeout: '50m' },
];

/** The platform's own schedules: no two passes of one at once, what was missed while Temporal was away is not caught up. */
export async function ensureSchedules(client: Client, taskQueue: string): Promise<void> {
  for (const { scheduleId, workflow, every, runTimeout } of ROUTINES) {
    try {
      await client.schedule.create({
        scheduleId,
        spec: { intervals: [{ every }] },
        policies: { overlap: 'SKIP', catchupWindow: '10s' },
        action: { type: 'startWorkflow', workflowType: workflow, workflowId: workflow, taskQueue, workflowRunTimeout: runTimeout, args: [] },
      });
    } catch (error) {
      if (!(error instanceof ScheduleAlreadyRunning)) throw error;
    }
  }
}
