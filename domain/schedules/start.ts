/**
 * Starts the run of one time of a schedule. The row of the time is written in the run's transaction, so each
 * time has one run, however often and by how many processes it is asked for.
 */
import { cutTo } from '../../contracts/cut-text.ts';
import {
  MIN_CATCH_UP_SECONDS,
  type ScheduledStart,
  type StartCause,
  type StartOutcome,
} from '../../contracts/schedules.ts';
import { Fault } from '../../contracts/fault.ts';
import type { EntityManager } from '../../db/orm.ts';
import type { Actor } from '../auth/actor.ts';
import { AppError, conflict } from '../errors.ts';
import { isRunRefused, type RunLimits } from '../runs/limits.ts';
import { getRunnable } from '../runs/runnable.ts';
import { runWorkflow } from '../runs/service.ts';
import { hasLiveRun, readSchedule, type ScheduleRow } from './row.ts';
import { addWait, hasWait, takeWait } from './waits.ts';

/** How many times of a schedule are remembered. */
const KEPT_STARTS = 100;
const MAX_DETAIL_LENGTH = 500;
/** A time that cannot be started for a reason that does not pass is given up when it is this late. */
const FAILING_SECONDS = 300;
/** So is one that waits for a quota of runs, or for what may pass. */
const WAITING_SECONDS = 86_400;
export const OWNER_DISABLED = 'The owner of the workflow is disabled.';

interface Wanted {
  workflowId: string;
  /** The time of the schedule, which is not the moment of the start. */
  at: Date;
  cause: StartCause;
  /** Since when it is due, if that is not its time. */
  dueSince?: Date;
  limits: RunLimits;
}

/** What the clock asks for. In a transaction of its own; the caller starts the returned run afterwards. */
export async function startOnTime(em: EntityManager, given: Omit<Wanted, 'cause'>): Promise<ScheduledStart> {
  const wanted: Wanted = { ...given, cause: 'time' };
  const schedule = await readSchedule(em, wanted.workflowId, { lock: true });
  if (schedule === null || schedule.times === null) return { outcome: 'gone', run_id: null };
  const known = await knownStart(em, wanted);
  if (known !== null) return known;
  if (schedule.buffered_at !== null && sameTime(schedule.buffered_at, wanted.at)) return BUFFERED;
  if (await hasWait(em, wanted.workflowId, wanted.at)) return BUFFERED;
  const reason = reasonToSkip(schedule, wanted.at);
  if (reason !== null) return noteStart(em, wanted, reason.outcome, reason.detail);
  const busy = schedule.overlap === 'allow' ? null : await busyWith(em, wanted.workflowId);
  if (busy !== null) {
    if (schedule.overlap === 'skip' || schedule.buffered_at !== null)
      return noteStart(em, wanted, 'skipped', busy);
    await em.execute(`update workflow_schedule set buffered_at = ? where workflow_id = ?`, [
      wanted.at,
      wanted.workflowId,
    ]);
    return BUFFERED;
  }
  return createScheduledRun(em, schedule, wanted);
}

/** What a time that must not overlap has to wait for; null if nothing. */
async function busyWith(em: EntityManager, workflowId: string): Promise<string | null> {
  if (await hasLiveRun(em, workflowId)) return 'An earlier run has not ended.';
  return (await hasWait(em, workflowId)) ? 'An earlier time waits for a quota of runs.' : null;
}

const BUFFERED: ScheduledStart = { outcome: 'buffered', run_id: null };

function sameTime(one: Date, other: Date): boolean {
  return new Date(one).getTime() === other.getTime();
}

/** The run of the time that waited for the end of an earlier run; null if none waits, or still has to. */
export async function startBuffered(
  em: EntityManager,
  { workflowId, limits }: Pick<Wanted, 'workflowId' | 'limits'>,
): Promise<ScheduledStart | null> {
  const schedule = await readSchedule(em, workflowId, { lock: true });
  const at = schedule?.buffered_at ?? null;
  if (schedule === null || at === null || (await busyWith(em, workflowId)) !== null) return null;
  await em.execute(`update workflow_schedule set buffered_at = null where workflow_id = ?`, [workflowId]);
  const wanted: Wanted = { workflowId, at: new Date(at), cause: 'time', limits };
  if (schedule.times === null) return null;
  const closed = closedBy(schedule);
  if (closed !== null) return noteStart(em, wanted, 'skipped', closed);
  return (await knownStart(em, wanted)) ?? createScheduledRun(em, schedule, wanted);
}

/** The oldest time that has waited for a quota of runs; null if none may start now. */
export async function startWaitingTime(
  em: EntityManager,
  { workflowId, limits }: Pick<Wanted, 'workflowId' | 'limits'>,
): Promise<ScheduledStart | null> {
  const schedule = await readSchedule(em, workflowId, { lock: true });
  if (schedule === null) return null;
  if (schedule.overlap !== 'allow' && (await hasLiveRun(em, workflowId))) return null;
  const at = await takeWait(em, workflowId);
  if (at === null || schedule.times === null) return null;
  const wanted: Wanted = { workflowId, at, cause: 'time', limits };
  const closed = closedBy(schedule);
  if (closed !== null) return noteStart(em, wanted, 'skipped', closed);
  return (await knownStart(em, wanted)) ?? createScheduledRun(em, schedule, wanted);
}

/**
 * A run that a person asked for, also while the schedule is paused. @param by has initiated it, beside its
 * owner @returns what an earlier request began
 */
export async function startByHand(
  em: EntityManager,
  schedule: ScheduleRow,
  { by, ...wanted }: Wanted & { by: string },
): Promise<ScheduledStart> {
  if (!schedule.owner_active) throw conflict('owner_disabled', OWNER_DISABLED);
  const known = await knownStart(em, wanted);
  if (known?.outcome === 'started') return known;
  // Without events, their list is empty.
  const more = schedule.times?.kind === 'on' ? { input: [] } : {};
  return createScheduledRun(em, schedule, wanted, { ...more, initiators: [by] });
}

/** Notes of old times are forgotten, but not while there is a run of them. */
async function knownStart(
  em: EntityManager,
  { workflowId, at }: Pick<Wanted, 'workflowId' | 'at'>,
): Promise<ScheduledStart | null> {
  const [row] = await em.execute<{ outcome: StartOutcome; run_id: string | null }[]>(
    `select 'started' as outcome, id as run_id from run where workflow_id = ? and scheduled_at = ?
     union all
     select outcome, run_id from schedule_start where workflow_id = ? and scheduled_at = ?
     limit 1`,
    [workflowId, at, workflowId, at],
  );
  return row ?? null;
}

function reasonToSkip(schedule: ScheduleRow, at: Date): { outcome: StartOutcome; detail: string } | null {
  const closed = closedBy(schedule);
  if (closed !== null) return { outcome: 'skipped', detail: closed };
  // The next run of a chain is due as long as it takes.
  if (schedule.times?.kind === 'after') return null;
  const lateSeconds = lateness(schedule, at);
  const { catch_up_seconds: catchUp, jitter_seconds: jitter } = schedule;
  return lateSeconds <= Math.max(catchUp, MIN_CATCH_UP_SECONDS) + jitter
    ? null
    : { outcome: 'missed', detail: `It was ${lateSeconds} s late, more than catch_up_seconds.` };
}

/** Why the schedule starts nothing by itself now. */
export function closedBy({ paused_at: pausedAt, owner_active: isActive }: ScheduleRow): string | null {
  if (pausedAt !== null) return 'The schedule is paused.';
  return isActive ? null : OWNER_DISABLED;
}

/**
 * A refused start is remembered with its reason, and the schedule goes on. So it does after any other error
 * that lasts: the caller repeats the start until it is given up. What a failed attempt wrote is undone.
 */
export async function createScheduledRun(
  em: EntityManager,
  schedule: ScheduleRow,
  wanted: Wanted,
  { input = {}, ...more }: { input?: unknown; started_by?: string[]; initiators?: string[] } = {},
): Promise<ScheduledStart> {
  const { owner_id, team_id, budget } = schedule;
  // Rights to agents and workflows depend on the holder, not on roles.
  const teams: Actor['teams'] = team_id === null ? [] : [{ id: team_id, role: 'builder' }];
  const owner: Actor = { id: owner_id, username: '', roles: [], groups: [], teams };
  await em.execute('savepoint scheduled_run');
  try {
    const workflow = await getRunnable(em, owner, wanted.workflowId);
    const { id: runId } = await runWorkflow(em, owner, workflow, input, {
      limits: wanted.limits,
      scheduled_at: wanted.at,
      ...(budget === null ? {} : { budget }),
      ...more,
    });
    return await noteStart(em, wanted, 'started', null, runId);
  } catch (error) {
    await em.execute('rollback to savepoint scheduled_run');
    if (wanted.cause !== 'time' && wanted.cause !== 'event') throw error;
    const isRefusal = error instanceof AppError || error instanceof Fault;
    if (isRefusal && isRunRefused(error)) return waitForQuota(em, schedule, wanted, reasonOf(error));
    if (isRefusal) return noteStart(em, wanted, 'failed', reasonOf(error));
    const lateSeconds = lateness(schedule, wanted.dueSince ?? wanted.at);
    if (lateSeconds < (mayPass(error) ? WAITING_SECONDS : FAILING_SECONDS)) throw error;
    return noteStart(em, wanted, 'failed', `The run could not be created${codeOf(error)}.`);
  }
}

function lateness({ read_at: now }: ScheduleRow, since: Date): number {
  return Math.round((new Date(now).getTime() - since.getTime()) / 1_000);
}

/** SQLSTATE classes of lost connections, conflicts, full resources, locks, and what an operator did. */
const PASSING = /^(08|40|53|55|57|58)/;

function mayPass(error: unknown): boolean {
  const code = sqlState(error);
  // Codes of Node: ECONNRESET, EPIPE.
  return code !== null && (PASSING.test(code) || /^E[A-Z]{4,}$/.test(code));
}

function sqlState(error: unknown): string | null {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : null;
}

/** The message may have values of the run, the code has none. */
function codeOf(error: unknown): string {
  const code = sqlState(error);
  return code === null ? ', by a mistake of this program' : ` (error ${code} of the database)`;
}

/** Nothing is lost at a quota of runs for a day: what has to start waits until there is room. */
async function waitForQuota(
  em: EntityManager,
  schedule: ScheduleRow,
  wanted: Wanted,
  reason: string,
): Promise<ScheduledStart> {
  // An event waits with its listener, and a time after the last run stays due.
  if (wanted.cause === 'event' || schedule.times?.kind === 'after') return BUFFERED;
  const boundSeconds = Math.max(WAITING_SECONDS, schedule.catch_up_seconds + schedule.jitter_seconds);
  if (lateness(schedule, wanted.at) > boundSeconds)
    return noteStart(em, wanted, 'failed', `It waited too long for a quota of runs: ${reason}`);
  if (await addWait(em, wanted.workflowId, wanted.at)) return BUFFERED;
  return noteStart(em, wanted, 'skipped', 'Too many times of the schedule wait for a quota of runs.');
}

function reasonOf(error: AppError | Fault): string {
  if (error instanceof Fault) return error.message;
  const [first] = error.errors ?? [];
  return first === undefined ? error.detail : `${error.detail} ${first.pointer}: ${first.message}`;
}

/** Writes what became of a time, and forgets the oldest ones. */
export async function noteStart(
  em: EntityManager,
  { workflowId, at, cause }: Omit<Wanted, 'limits'>,
  outcome: StartOutcome,
  detail: string | null,
  runId: string | null = null,
): Promise<ScheduledStart> {
  await em.execute(
    `insert into schedule_start (workflow_id, scheduled_at, cause, outcome, run_id, detail)
     values (?, ?, ?, ?, ?, ?)
     on conflict (workflow_id, scheduled_at) do update
        set cause = excluded.cause, outcome = excluded.outcome, run_id = excluded.run_id,
            detail = excluded.detail, at = excluded.at`,
    [workflowId, at, cause, outcome, runId, detail === null ? null : cutTo(detail, MAX_DETAIL_LENGTH)],
  );
  await em.execute(
    `delete from schedule_start s using (
       select scheduled_at from schedule_start where workflow_id = ?
        order by at desc, scheduled_at desc offset ? limit 100) old
      where s.workflow_id = ? and s.scheduled_at = old.scheduled_at`,
    [workflowId, KEPT_STARTS, workflowId],
  );
  return { outcome, run_id: runId };
}
