import type { RunActivities } from '../contracts/activities.ts';
import { startRun } from '../domain/runs/dispatch.ts';
import { startOnTime } from '../domain/schedules/start.ts';
import type { ActivityDeps } from './deps.ts';

/**
 * The longest that a start waits for rows that somebody holds: the schedule's, or those of a quota. Otherwise
 * a schedule of every second soon holds all connections of the worker. Temporal repeats it a little later.
 */
const LOCK_TIMEOUT = '1s';

/** The reconciler starts a run that this process can no longer start. */
export function startScheduledRunActivity(deps: ActivityDeps): RunActivities['startScheduledRun'] {
  return async ({ workflow_id: workflowId, scheduled_at: at }) => {
    const started = await deps.orm.em.fork().transactional(async (em) => {
      await em.execute(`set local lock_timeout = '${LOCK_TIMEOUT}'`);
      return startOnTime(em, { workflowId, at: new Date(at), limits: deps.limits });
    });
    if (started.outcome === 'started' && started.run_id !== null) await startRun(deps, started.run_id);
    return started;
  };
}
