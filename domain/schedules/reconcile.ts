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
import { readSchedule } from './row.ts';
import { startBuffered, startOnTime } from './start.ts';

/** Of each kind in one pass. */
const BATCH = 100;

export interface ScheduleDeps extends DispatchDeps {
  limits: RunLimits;
}

export async function reconcileSchedules(
  deps: ScheduleDeps,
  { heartbeat }: { heartbeat: () => void },
): Promise<{ told: number; started: number }> {
  const result = { told: 0, started: 0 };
  try {
    for (const workflowId of await takeDue(deps.orm.em.fork())) {
      heartbeat();
      await syncSchedule(deps, workflowId);
      result.told++;
    }
    for (const start of [...(await bufferedStarts(deps)), ...(await followingStarts(deps))]) {
      heartbeat();
      const started = await deps.orm.em.fork().transactional(start);
      if (started?.outcome !== 'started' || started.run_id === null) continue;
      result.started++;
      await startRun(deps, started.run_id);
    }
  } catch (error) {
    if (!(error instanceof TemporalUnavailable)) throw error;
  }
  return result;
}

/**
 * Makes Temporal's schedule what the row says. If the row has changed meanwhile, it stays due, so the last
 * change wins whoever tells Temporal last. @throws TemporalUnavailable
 */
export async function syncSchedule({ orm, temporal }: DispatchDeps, workflowId: string): Promise<void> {
  const em = orm.em.fork();
  const schedule = await readSchedule(em, workflowId);
  if (schedule === null) return;
  const { times, paused_at: pausedAt, runnable, owner_active: isActive, generation } = schedule;
  if (times === null || times.kind === 'after') await temporal.deleteSchedule(workflowId);
  else
    await temporal.putSchedule({ ...schedule, times, paused: pausedAt !== null || !runnable || !isActive });
  await em.execute(
    times === null
      ? `delete from workflow_schedule where workflow_id = ? and generation = ?`
      : `update workflow_schedule set due_at = clock_timestamp() + interval '1 hour'
          where workflow_id = ? and generation = ?`,
    [workflowId, generation],
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

async function takeDue(em: EntityManager): Promise<string[]> {
  const rows = await em.execute<{ workflow_id: string }[]>(
    `update workflow_schedule set due_at = clock_timestamp() + interval '30 seconds'
      where workflow_id in (select workflow_id from workflow_schedule where due_at <= clock_timestamp()
                             order by due_at limit ? for no key update skip locked)
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

/**
 * Schedules of the kind `after`, whose last run has ended that long ago. A cancelled run ends the chain. The
 * time is the end of the last run, so every process asks for the same one.
 */
async function followingStarts({ orm, limits }: ScheduleDeps): Promise<Start[]> {
  const rows = await orm.em.fork().execute<{ workflow_id: string; at: Date }[]>(
    `select s.workflow_id, last.finished_at + s.after_ms * interval '1 millisecond' as at
       from workflow_schedule s
            cross join lateral (
              select r.status, r.finished_at from run r
               where r.workflow_id = s.workflow_id and r.parent_run_id is null
               order by r.id desc limit 1) last
      where s.kind = 'after' and s.paused_at is null and last.status in ('completed', 'faulted')
        and last.finished_at + s.after_ms * interval '1 millisecond' <= clock_timestamp()
        and not exists (select from schedule_start t
                         where t.workflow_id = s.workflow_id
                           and t.scheduled_at = last.finished_at + s.after_ms * interval '1 millisecond')
      order by at limit ?`,
    [BATCH],
  );
  return rows.map(
    ({ workflow_id: workflowId, at }) =>
      (em) =>
        startOnTime(em, { workflowId, at: new Date(at), limits }),
  );
}
