import { ApplicationFailure, proxyActivities, workflowInfo } from '@temporalio/workflow';
import type { RunActivities } from '../../contracts/activities.ts';
import type { ScheduledStart } from '../../contracts/schedules.ts';
import { readScheduledStartId } from '../../contracts/temporal.ts';

/** Repeats until the database is there again; a time that is then too late is noted as missed. */
const { startScheduledRun } = proxyActivities<RunActivities>({
  startToCloseTimeout: '30s',
  retry: { initialInterval: '1s', maximumInterval: '30s' },
});

/** One time of a workflow's schedule. The id names both. */
export async function scheduledStart(): Promise<ScheduledStart> {
  const { workflowId } = workflowInfo();
  const named = readScheduledStartId(workflowId);
  if (named === null)
    throw ApplicationFailure.nonRetryable(`${workflowId} is not the id of a scheduled start`);
  return startScheduledRun(named);
}
