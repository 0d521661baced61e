/** Puts an execution back to an earlier time, as a restore of an older Temporal does. */
import { randomUUID } from 'node:crypto';
import { runWorkflowId } from '../../contracts/temporal.ts';
import { createTemporalClient } from '../../temporal/client.ts';
import type { TestPlatform } from './platform.ts';

/** To before the run scheduled the first activity of this name. */
export async function forgetActivity(platform: TestPlatform, runId: string, name: string): Promise<void> {
  const { namespace } = platform.temporal;
  const { connection, workflow: executions } = createTemporalClient(platform.temporal);
  const workflowId = runWorkflowId(runId);
  try {
    const events = (await executions.getHandle(workflowId).fetchHistory()).events ?? [];
    const scheduled = events.findIndex(
      (event) => event.activityTaskScheduledEventAttributes?.activityType?.name === name,
    );
    const task = events.slice(0, scheduled).findLast((event) => event.workflowTaskCompletedEventAttributes);
    await connection.workflowService.resetWorkflowExecution({
      namespace,
      workflowExecution: { workflowId },
      reason: 'a test',
      requestId: randomUUID(),
      workflowTaskFinishEventId: task?.eventId ?? null,
      // None of the signals that came later.
      resetReapplyExcludeTypes: [1],
    });
  } finally {
    await connection.close();
  }
}
