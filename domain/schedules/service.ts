/** What callers can do with the schedule of a workflow. `em` is in the caller's transaction. */
import type { Budget } from '../../contracts/budgets.ts';
import type { Overlap, ScheduledStart, StartCause, StartOutcome } from '../../contracts/schedules.ts';
import type { EntityManager } from '../../db/orm.ts';
import type { Actor } from '../auth/actor.ts';
import { AppError, conflict, invalid } from '../errors.ts';
import { TemporalUnavailable, type TemporalGateway } from '../ports.ts';
import type { RunLimits } from '../runs/limits.ts';
import { followingTime, syncSchedule } from './reconcile.ts';
import type { DispatchDeps } from '../runs/dispatch.ts';
import { readSchedule, type ScheduleRow } from './row.ts';
import { noteStart, OWNER_DISABLED, startByHand } from './start.ts';

/** The most times of one backfill. */
export const MAX_BACKFILL = 100;
const SHOWN_STARTS = 10;

export type Scheduled = ScheduleRow & { times: NonNullable<ScheduleRow['times']> };

/** One time of a schedule, and what became of it. */
export interface PastStart {
  scheduled_at: Date;
  cause: StartCause;
  outcome: StartOutcome;
  run_id: string | null;
  detail: string | null;
  at: Date;
}

export interface ScheduleChanges {
  paused?: boolean | undefined;
  note?: string | null | undefined;
  overlap?: Overlap | undefined;
  catch_up_seconds?: number | undefined;
  jitter_seconds?: number | undefined;
  budget?: Budget | null | undefined;
}

/** @throws 404 if the workflow has no schedule by the clock */
export async function getSchedule(
  em: EntityManager,
  workflowId: string,
  options: { lock?: boolean } = {},
): Promise<Scheduled> {
  const row = await readSchedule(em, workflowId, options);
  if (row === null || row.times === null)
    throw new AppError('not_found', 'not_found', 'The definition of the workflow has no schedule.');
  return { ...row, times: row.times };
}

/** The last ten times, newest first. */
export async function pastStarts(em: EntityManager, workflowId: string): Promise<PastStart[]> {
  return em.execute<PastStart[]>(
    `select scheduled_at, cause, outcome, run_id, detail, at from schedule_start
      where workflow_id = ? order by scheduled_at desc limit ?`,
    [workflowId, SHOWN_STARTS],
  );
}

/**
 * The next ten times; null if Temporal cannot be asked, or has not been told yet. That of an `after` tells
 * when a run has ended.
 */
export async function nextTimes(
  em: EntityManager,
  temporal: TemporalGateway,
  schedule: Scheduled,
): Promise<Date[] | null> {
  const { workflow_id: id, times } = schedule;
  if (blockedBy(schedule) !== null || schedule.paused_at !== null) return [];
  if (times.kind === 'on') return [];
  if (times.kind === 'after') {
    const next = await followingTime(em, id);
    return next === null ? [] : [next];
  }
  try {
    return await temporal.nextTimes(id, schedule.generation);
  } catch (error) {
    if (error instanceof TemporalUnavailable) return null;
    throw error;
  }
}

/** Why the schedule starts nothing although it is not paused; null if it does. */
export function blockedBy({ runnable, owner_active: isActive, refusal }: ScheduleRow): string | null {
  if (!isActive) return OWNER_DISABLED;
  if (!runnable) return 'The definition has problems, or uses what is not supported yet.';
  return refusal === null ? null : `Temporal refuses it: ${refusal}`;
}

export async function changeSchedule(
  em: EntityManager,
  actorId: string,
  schedule: Scheduled,
  changes: ScheduleChanges,
): Promise<Scheduled> {
  const { paused, note, overlap, catch_up_seconds, jitter_seconds } = changes;
  const { budget = schedule.budget } = changes;
  const isPaused = paused ?? schedule.paused_at !== null;
  // What waited belongs to the policy under which it waited.
  const keepsBuffered = !isPaused && (overlap ?? schedule.overlap) === 'buffer_one';
  if (schedule.buffered_at !== null && !keepsBuffered)
    await noteStart(
      em,
      { workflowId: schedule.workflow_id, at: new Date(schedule.buffered_at), cause: 'time' },
      'skipped',
      'It waited for an earlier run when the schedule was changed.',
    );
  const wasPaused = schedule.paused_at !== null;
  await em.execute(
    `update workflow_schedule
        set paused_at = case when ? then coalesce(paused_at, clock_timestamp()) end,
            paused_by = case when not ? then null when ? then paused_by else ?::uuid end,
            note = ?, overlap = ?, catch_up_seconds = ?, jitter_seconds = ?, budget = ?::jsonb,
            buffered_at = case when ? then buffered_at end,
            generation = generation + 1, due_at = clock_timestamp()
      where workflow_id = ?`,
    [
      isPaused,
      isPaused,
      wasPaused,
      actorId,
      note === undefined ? (isPaused ? schedule.note : null) : note,
      overlap ?? schedule.overlap,
      catch_up_seconds ?? schedule.catch_up_seconds,
      jitter_seconds ?? schedule.jitter_seconds,
      budget === null ? null : JSON.stringify(budget),
      keepsBuffered,
      schedule.workflow_id,
    ],
  );
  return getSchedule(em, schedule.workflow_id);
}

/** Starts a run now, also while the schedule is paused or an earlier run has not ended. */
export async function triggerSchedule(
  em: EntityManager,
  actor: Pick<Actor, 'id'>,
  workflowId: string,
  limits: RunLimits,
): Promise<string> {
  const schedule = await getSchedule(em, workflowId, { lock: true });
  const { run_id: runId } = await startByHand(em, schedule, {
    workflowId,
    at: new Date(),
    cause: 'trigger',
    by: actor.id,
    limits,
  });
  if (runId === null) throw conflict('schedule_busy', 'The schedule starts a run at this moment: try again.');
  return runId;
}

/**
 * The times of the schedule from `from` to `to`, for a backfill.
 * @throws 409 for a schedule without times, 422 for none or too many; TemporalUnavailable
 */
export async function timesToFill(
  deps: DispatchDeps,
  schedule: Scheduled,
  { from, to }: { from: Date; to: Date },
): Promise<Date[]> {
  const { workflow_id: id, times } = schedule;
  if (times.kind === 'after' || times.kind === 'on')
    throw conflict(
      'schedule_without_times',
      `A schedule with "${times.kind}" has no times of its own to fill.`,
    );
  if (to.getTime() > Date.now()) throw wrongRange('/to', 'is in the future');
  if (from > to) throw wrongRange('/from', 'is after "to"');
  // A new schedule may not be known to Temporal yet.
  await syncSchedule(deps, id);
  const found = await deps.temporal.timesBetween({ ...schedule, times, paused: false }, from, to);
  const problem =
    found.length === 0
      ? 'the schedule has no time in between'
      : found.length > MAX_BACKFILL
        ? `the schedule has more than ${MAX_BACKFILL} times in between: fill a shorter time`
        : null;
  if (problem === null) return found;
  throw wrongRange('/to', problem);
}

function wrongRange(pointer: string, message: string): AppError {
  return invalid([{ pointer, code: 'wrong_range', message }]);
}

/** Starts the runs of these times, oldest first; a time that has had a start keeps it. */
export async function fillTimes(
  em: EntityManager,
  actor: Pick<Actor, 'id'>,
  workflowId: string,
  times: readonly Date[],
  limits: RunLimits,
): Promise<(ScheduledStart & { scheduled_at: Date })[]> {
  const schedule = await getSchedule(em, workflowId, { lock: true });
  const starts: (ScheduledStart & { scheduled_at: Date })[] = [];
  for (const at of times) {
    const started = await startByHand(em, schedule, {
      workflowId,
      at,
      cause: 'backfill',
      by: actor.id,
      limits: { ...limits, several: true },
    });
    starts.push({ ...started, scheduled_at: at });
  }
  return starts;
}
