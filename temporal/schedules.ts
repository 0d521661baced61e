/** The schedules of workflows on Temporal: one each, whose executions ask for the run of their time. */
import { randomUUID } from 'node:crypto';
import {
  ScheduleAlreadyRunning,
  ScheduleNotFoundError,
  type Client,
  type ScheduleHandle,
  type ScheduleOptions,
} from '@temporalio/client';
import proto from '@temporalio/proto';
import { setTimeout as sleep } from 'node:timers/promises';
import { MIN_CATCH_UP_SECONDS } from '../contracts/schedules.ts';
import { SCHEDULED_START_WORKFLOW, scheduledStartId, scheduleOfWorkflow } from '../contracts/temporal.ts';
import type { TemporalGateway, WantedSchedule } from '../domain/ports.ts';
import { isTooEarly, refusalOf } from './grpc-failures.ts';
import { shareOfOwner } from './shares.ts';

const MAX_SUMMARY_LENGTH = 200;
const QUICK_MS = 60_000;
/** Temporal gives as many. */
const NEXT_TIMES = 10;
/** Temporal answers an update before the schedule has taken it. */
const UNTIL_TAKEN_MS = [50, 100, 200, 400, 800, 1_600];

type ScheduleCalls = Pick<TemporalGateway, 'putSchedule' | 'deleteSchedule' | 'nextTimes' | 'timesBetween'>;

export function scheduleCalls(
  client: Client,
  taskQueue: string,
  call: <T>(run: () => Promise<T>) => Promise<T>,
): ScheduleCalls {
  const handle = (workflowId: string) => client.schedule.getHandle(scheduleOfWorkflow(workflowId));
  return {
    putSchedule: (wanted) =>
      call(async () => {
        try {
          await putSchedule(client, optionsOf(wanted, taskQueue));
          return null;
        } catch (error) {
          const refusal = refusalOf(error);
          if (refusal === null) throw error;
          return refusal;
        }
      }),
    deleteSchedule: (workflowId) => call(() => unlessMissing(undefined, () => handle(workflowId).delete())),
    nextTimes: (workflowId, generation) =>
      call(() => unlessMissing(null, () => nextTimes(handle(workflowId), noteOf(generation)))),
    timesBetween: (wanted, from, to) =>
      call(() =>
        wanted.jitter_seconds === 0
          ? timesBetween(client, scheduleOfWorkflow(wanted.workflow_id), from, to)
          : timesWithoutJitter(client, optionsOf({ ...wanted, jitter_seconds: 0 }, taskQueue), from, to),
      ),
  };
}

/** Null if the schedule has not taken what it was told last. */
async function nextTimes(schedule: ScheduleHandle, note: string): Promise<Date[] | null> {
  for (const waitMs of [...UNTIL_TAKEN_MS, 0]) {
    const { state, info } = await schedule.describe();
    if (state.note === note) return state.paused ? [] : info.nextActionTimes.slice(0, NEXT_TIMES);
    await sleep(waitMs);
  }
  return null;
}

/** Temporal keeps it beside the schedule, and its UI shows it. */
function noteOf(generation: string): string {
  return `Generation ${generation} of the schedule in Cadenza`;
}

async function putSchedule(client: Client, wanted: Wanted): Promise<void> {
  try {
    await client.schedule.create(wanted);
  } catch (error) {
    if (!(error instanceof ScheduleAlreadyRunning)) throw error;
    const { spec, policies, action, state } = wanted;
    await client.schedule
      .getHandle(wanted.scheduleId)
      .update((now) => ({ spec, policies, action, state: { ...now.state, ...state } }));
  }
}

type Wanted = ReturnType<typeof optionsOf>;

/**
 * What becomes of a time while that before it has not been decided, because no worker has taken it yet; which
 * runs may overlap is decided where they are started. It waits, at most 1,000 with Temporal, so that only one
 * of a schedule is in the task queue. Of times in quick succession that may be skipped only one waits: those
 * that come next are as good.
 */
function overlapOfStarts({ times, overlap }: WantedSchedule): 'BUFFER_ALL' | 'BUFFER_ONE' {
  return times.kind === 'every' && times.ms < QUICK_MS && overlap !== 'allow' ? 'BUFFER_ONE' : 'BUFFER_ALL';
}

function optionsOf(wanted: WantedSchedule, taskQueue: string) {
  const { workflow_id: id, workflow_name: name, times, catch_up_seconds, jitter_seconds } = wanted;
  // The SDK passes it on, but its types do not name it.
  const share = { priority: shareOfOwner(wanted.owner_id) };
  return {
    scheduleId: scheduleOfWorkflow(id),
    spec: {
      ...(times.kind === 'every' ? { intervals: [{ every: times.ms }] } : { cronExpressions: [times.cron] }),
      ...(jitter_seconds === 0 ? {} : { jitter: jitter_seconds * 1_000 }),
    },
    policies: {
      overlap: overlapOfStarts(wanted),
      catchupWindow: Math.max(catch_up_seconds, MIN_CATCH_UP_SECONDS) * 1_000,
    },
    action: {
      type: 'startWorkflow',
      workflowType: SCHEDULED_START_WORKFLOW,
      workflowId: scheduledStartId(id),
      taskQueue,
      args: [],
      ...share,
      staticSummary: `Schedule of ${name}`.slice(0, MAX_SUMMARY_LENGTH),
    },
    state: { paused: wanted.paused, note: noteOf(wanted.generation) },
  } satisfies ScheduleOptions;
}

/**
 * Temporal names the times of a schedule with their jitter, so a schedule without it is asked, which is there
 * for this question only. All its times have passed, so it starts nothing, and Temporal removes it after some
 * days if this process cannot.
 */
async function timesWithoutJitter(client: Client, wanted: Wanted, from: Date, to: Date): Promise<Date[]> {
  const scheduleId = `${wanted.scheduleId}-times-${randomUUID()}`;
  const state = { ...wanted.state, remainingActions: 0 };
  const handle = await client.schedule.create({
    ...wanted,
    scheduleId,
    spec: { ...wanted.spec, endAt: to },
    state,
  });
  try {
    return await timesBetween(client, scheduleId, from, to);
  } finally {
    await unlessMissing(undefined, () => handle.delete());
  }
}

async function timesBetween(client: Client, scheduleId: string, from: Date, to: Date): Promise<Date[]> {
  const { startTime } = await onceReady(() =>
    client.workflowService.listScheduleMatchingTimes({
      namespace: client.options.namespace,
      scheduleId,
      // Temporal names the times after this one.
      startTime: timestampOf(new Date(from.getTime() - 1)),
      endTime: timestampOf(to),
    }),
  );
  return startTime.map(({ seconds, nanos }) => new Date(Number(seconds) * 1_000 + Number(nanos) / 1e6));
}

/** A schedule that has just been made may not answer yet. */
async function onceReady<T>(ask: () => Promise<T>): Promise<T> {
  for (const waitMs of UNTIL_TAKEN_MS) {
    try {
      return await ask();
    } catch (error) {
      if (!isTooEarly(error)) throw error;
      await sleep(waitMs);
    }
  }
  return ask();
}

function timestampOf(at: Date) {
  const seconds = Math.floor(at.getTime() / 1_000);
  return proto.google.protobuf.Timestamp.fromObject({
    seconds,
    nanos: (at.getTime() - seconds * 1_000) * 1e6,
  });
}

async function unlessMissing<T>(missing: T, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof ScheduleNotFoundError) return missing;
    throw error;
  }
}
