import {
  ScheduleAlreadyRunning,
  ScheduleNotFoundError,
  type Client,
  type ScheduleDescription,
} from '@temporalio/client';
import type { Priority } from '@temporalio/common';
import {
  RECONCILE_SCHEDULE,
  RECONCILE_WORKFLOW,
  RETENTION_SCHEDULE,
  RETENTION_WORKFLOW,
} from '../contracts/temporal.ts';
import { PLATFORM_SHARES } from '../temporal/shares.ts';

interface Routine {
  /** The prefix of the schedule's id; the installation's id follows. */
  schedule: string;
  workflow: string;
  everyMs: number;
  priority: Required<Pick<Priority, 'fairnessKey' | 'fairnessWeight'>>;
  /** A pass is cancelled after this time; the next one continues where it stopped. */
  runTimeoutMs: number;
}

const ROUTINES: readonly Routine[] = [
  {
    schedule: RECONCILE_SCHEDULE,
    workflow: RECONCILE_WORKFLOW,
    everyMs: 10_000,
    priority: PLATFORM_SHARES.reconcile,
    runTimeoutMs: 120_000,
  },
  {
    schedule: RETENTION_SCHEDULE,
    workflow: RETENTION_WORKFLOW,
    everyMs: 3_600_000,
    priority: PLATFORM_SHARES.retention,
    runTimeoutMs: 3_000_000,
  },
];
const CATCHUP_MS = 10_000;
/** Of all calls for one schedule. */
const CALLS_TIMEOUT_MS = 30_000;

export interface ScheduleOwner {
  /** The database's id, because installations may share a namespace but not schedules. */
  installationId: string;
  taskQueue: string;
}

export function scheduleId(schedule: string, installationId: string): string {
  return `${schedule}-${installationId}`;
}

/**
 * Creates the platform's own schedules, or updates them to this version. A schedule that an operator has
 * paused stays paused. Passes of a schedule do not overlap, and passes missed during an outage of Temporal
 * are not caught up.
 * @throws a failure of gRPC if Temporal does not answer within 30 seconds for each schedule
 */
export async function ensureSchedules(
  client: Client,
  { installationId, taskQueue }: ScheduleOwner,
): Promise<void> {
  for (const routine of ROUTINES)
    await client.connection.withDeadline(Date.now() + CALLS_TIMEOUT_MS, () =>
      ensureSchedule(client, routine, installationId, taskQueue),
    );
}

async function ensureSchedule(
  client: Client,
  routine: Routine,
  installationId: string,
  taskQueue: string,
): Promise<void> {
  const wanted = wantedOf(routine, installationId, taskQueue);
  const id = scheduleId(routine.schedule, installationId);
  try {
    await client.schedule.create({ scheduleId: id, ...wanted });
  } catch (error) {
    if (!(error instanceof ScheduleAlreadyRunning)) throw error;
    const handle = client.schedule.getHandle(id);
    if (differs(await handle.describe(), wanted)) await handle.update(({ state }) => ({ ...wanted, state }));
  }
  await removeUnnamed(client, routine, taskQueue);
}

interface Wanted {
  spec: { intervals: { every: number }[] };
  policies: { overlap: 'SKIP'; catchupWindow: number };
  action: {
    type: 'startWorkflow';
    workflowType: string;
    workflowId: string;
    taskQueue: string;
    workflowRunTimeout: number;
    priority: Routine['priority'];
    args: [];
  };
}

function wantedOf(
  { workflow, everyMs, priority, runTimeoutMs }: Routine,
  installationId: string,
  taskQueue: string,
): Wanted {
  const workflowId = scheduleId(workflow, installationId);
  return {
    spec: { intervals: [{ every: everyMs }] },
    policies: { overlap: 'SKIP', catchupWindow: CATCHUP_MS },
    action: {
      type: 'startWorkflow',
      workflowType: workflow,
      workflowId,
      taskQueue,
      workflowRunTimeout: runTimeoutMs,
      priority,
      args: [],
    },
  };
}

function differs({ spec, policies, action }: ScheduleDescription, wanted: Wanted): boolean {
  const { workflowType, workflowId, taskQueue, workflowRunTimeout, priority } = action;
  const known = [
    spec.intervals?.map(({ every }) => every),
    policies.overlap,
    policies.catchupWindow,
    workflowType,
    workflowId,
    taskQueue,
    workflowRunTimeout,
    priority?.fairnessKey,
    priority?.fairnessWeight,
  ];
  const goal = [
    wanted.spec.intervals.map(({ every }) => every),
    wanted.policies.overlap,
    wanted.policies.catchupWindow,
    wanted.action.workflowType,
    wanted.action.workflowId,
    wanted.action.taskQueue,
    wanted.action.workflowRunTimeout,
    wanted.action.priority.fairnessKey,
    wanted.action.priority.fairnessWeight,
  ];
  return JSON.stringify(known) !== JSON.stringify(goal);
}

/**
 * Earlier versions created schedules without the installation's id; one for our task queue would run every
 * pass twice.
 */
async function removeUnnamed(client: Client, { schedule }: Routine, taskQueue: string): Promise<void> {
  const handle = client.schedule.getHandle(schedule);
  try {
    const { action } = await handle.describe();
    if (action.taskQueue === taskQueue) await handle.delete();
  } catch (error) {
    if (!(error instanceof ScheduleNotFoundError)) throw error;
  }
}
