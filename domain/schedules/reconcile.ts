/**
 * Tells Temporal about schedules that have changed, and repairs each of them once an hour. Starts what
 * Temporal has no schedule for: runs that waited for the end of an earlier one, and runs some time after the
 * last one.
 */
import { isOneOf } from '../../db/sql.ts';
import type { EntityManager } from '../../db/orm.ts';
import { LIVE_STATUSES } from '../../contracts/run-events.ts';
import type { ScheduledStart } from '../../contracts/schedules.ts';
import { TemporalUnavailable } from '../ports.ts';
import { startRun, type DispatchDeps } from '../runs/dispatch.ts';
import type { RunLimits } from '../runs/limits.ts';
import { startWaiting, waitingStarts } from './on-event.ts';
import { readSchedule } from './row.ts';
import { startBuffered, startOnTime, startWaitingTime } from './start.ts';
import { schedulesThatWait } from './waits.ts';

/** Of each kind in one pass. */
const BATCH = 100;
const PASS_MS = 15_000;
/** Of one schedule whose starts have waited. */
const AT_ONCE = 20;

/**
 * SQL: the next times of the schedules of the kind `after`: so long after the end of the owner's last run, or
 * after a later time at which none could start. A run that has not ended, or was cancelled, gives no time.
 * Once retention has removed the last run, the note of its start counts.
 */
const FOLLOWING = `
  select s.workflow_id, base.at + s.after_ms * interval '1 millisecond' as at
    from workflow_schedule s
         join workflow w on w.id = s.workflow_id and w.archived_at is null
         join user_account u on u.id = w.owner_id
         left join lateral (
           select r.status, r.finished_at from run r
            where r.workflow_id = s.workflow_id and r.owner_id = w.owner_id and r.parent_run_id is null
            order by r.id desc limit 1) last on true
         left join lateral (
           select max(t.at) as at from schedule_start t where t.workflow_id = s.workflow_id) noted on true
         cross join lateral (
           select date_trunc('milliseconds', greatest(last.finished_at, noted.at)) as at) base
   where s.kind = 'after' and base.at is not null
     and (last.status is null or ${isOneOf('last.status', ['completed', 'faulted'])})`;

export interface ScheduleDeps extends DispatchDeps {
  limits: RunLimits;
}

export async function reconcileSchedules(
  deps: ScheduleDeps,
  { heartbeat }: { heartbeat: () => void },
): Promise<{ told: number; started: number }> {
  const result = { told: 0, started: 0 };
  const until = performance.now() + PASS_MS;
  const errors: unknown[] = [];
  /** One schedule does not hold up the others. */
  const forEach = async <T>(found: readonly T[], act: (one: T) => Promise<void>): Promise<void> => {
    for (const one of found) {
      // What is left is found again.
      if (performance.now() > until) break;
      heartbeat();
      await act(one).catch((error: unknown) => {
        if (error instanceof TemporalUnavailable) throw error;
        errors.push(error);
      });
    }
  };
  try {
    await forEach([...(await bufferedStarts(deps)), ...(await followingStarts(deps))], async (start) => {
      const started = await deps.orm.em.fork().transactional(start);
      if (started?.outcome !== 'started' || started.run_id === null) return;
      result.started++;
      await startRun(deps, started.run_id);
    });
    await forEach(await schedulesThatWait(deps.orm.em.fork(), BATCH), async (workflowId) => {
      result.started += await startAll(deps, (em) => startOldest(em, workflowId, deps.limits));
    });
    await forEach(await waitingStarts(deps.orm.em.fork(), BATCH), async (workflowId) => {
      result.started += await startAll(deps, (em) => startWaiting(em, workflowId, deps.limits));
    });
    await forEach(await takeDue(deps.orm.em.fork()), async (workflowId) => {
      await syncSchedule(deps, workflowId);
      result.told++;
    });
  } catch (error) {
    if (!(error instanceof TemporalUnavailable)) throw error;
  }
  if (errors.length > 0) throw new AggregateError(errors, `schedules that failed: ${errors.length}`);
  return result;
}

/** Starts that have waited, until none may begin now. */
async function startAll(
  deps: ScheduleDeps,
  next: (em: EntityManager) => Promise<string | null>,
): Promise<number> {
  for (let started = 0; started < AT_ONCE; started++) {
    const runId = await deps.orm.em.fork().transactional(next);
    if (runId === null) return started;
    await startRun(deps, runId);
  }
  return AT_ONCE;
}

/** @returns the run of the oldest time that has waited for a quota; null if none may begin */
async function startOldest(em: EntityManager, workflowId: string, limits: RunLimits): Promise<string | null> {
  const started = await startWaitingTime(em, { workflowId, limits });
  return started?.outcome === 'started' ? started.run_id : null;
}

/**
 * Makes Temporal's schedule what the row says. If the row has changed meanwhile, it stays due, so the last
 * change wins whoever tells Temporal last. A schedule that Temporal refuses keeps the reason.
 * @throws TemporalUnavailable
 */
export async function syncSchedule({ orm, temporal }: DispatchDeps, workflowId: string): Promise<void> {
  const em = orm.em.fork();
  const schedule = await readSchedule(em, workflowId);
  if (schedule === null) return;
  const { times, paused_at: pausedAt, runnable, owner_active: isActive, generation, archived } = schedule;
  let refusal: string | null = null;
  if (times === null || times.kind === 'after' || times.kind === 'on' || !runnable)
    await temporal.deleteSchedule(workflowId);
  else refusal = await temporal.putSchedule({ ...schedule, times, paused: pausedAt !== null || !isActive });
  await em.execute(
    archived
      ? `delete from workflow_schedule where workflow_id = ? and generation = ?`
      : `update workflow_schedule
            set due_at = case when kind is null then 'infinity'
                              else clock_timestamp() + interval '1 hour' end,
                told_generation = generation, refusal = ?
          where workflow_id = ? and generation = ?`,
    archived ? [workflowId, generation] : [refusal, workflowId, generation],
  );
  await em.execute(
    `update workflow_schedule set due_at = clock_timestamp() where workflow_id = ? and generation <> ?`,
    [workflowId, generation],
  );
}

/** Tells Temporal at once what the reconciler would tell it later. */
export async function tellTemporal(deps: DispatchDeps, workflowId: string): Promise<void> {
  try {
    await syncSchedule(deps, workflowId);
  } catch (error) {
    if (!(error instanceof TemporalUnavailable)) throw error;
  }
}

/** Changed ones first, so that they do not wait for the repair of the others. */
async function takeDue(em: EntityManager): Promise<string[]> {
  const rows = await em.execute<{ workflow_id: string }[]>(
    `update workflow_schedule set due_at = clock_timestamp() + interval '30 seconds'
      where workflow_id in (select workflow_id from workflow_schedule where due_at <= clock_timestamp()
                             order by told_generation is not distinct from generation, due_at
                             limit ? for no key update skip locked)
     returning workflow_id`,
    [BATCH],
  );
  return rows.map(({ workflow_id }) => workflow_id);
}

type Start = (em: EntityManager) => Promise<ScheduledStart | null>;

async function bufferedStarts({ orm, limits }: ScheduleDeps): Promise<Start[]> {
  const rows = await orm.em.fork().execute<{ workflow_id: string }[]>(
    `select s.workflow_id from workflow_schedule s
      where s.buffered_at is not null
        and not exists (select from run r where r.workflow_id = s.workflow_id and r.scheduled_at is not null
                           and ${isOneOf('r.status', LIVE_STATUSES)})
      order by s.buffered_at limit ?`,
    [BATCH],
  );
  return rows.map(
    ({ workflow_id: workflowId }) =>
      (em) =>
        startBuffered(em, { workflowId, limits }),
  );
}

/** Schedules of the kind `after` whose time has come. */
async function followingStarts({ orm, limits }: ScheduleDeps): Promise<Start[]> {
  const rows = await orm.em.fork().execute<{ workflow_id: string; at: Date }[]>(
    `${FOLLOWING} and s.paused_at is null and w.runnable and u.status = 'active'
         and base.at + s.after_ms * interval '1 millisecond' <= clock_timestamp()
       order by at limit ?`,
    [BATCH],
  );
  return rows.map(
    ({ workflow_id: workflowId, at }) =>
      (em) =>
        startOnTime(em, { workflowId, at: new Date(at), limits }),
  );
}

/** The next time of a schedule of the kind `after`; null while its chain has not begun or has ended. */
export async function followingTime(em: EntityManager, workflowId: string): Promise<Date | null> {
  const [row] = await em.execute<{ at: Date }[]>(`${FOLLOWING} and s.workflow_id = ?`, [workflowId]);
  return row === undefined ? null : new Date(row.at);
}
