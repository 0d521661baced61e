import type { RunActivities } from '../contracts/activities.ts';
import { startRun } from '../domain/runs/dispatch.ts';
import { startOnTime } from '../domain/schedules/start.ts';
import type { ActivityDeps } from './deps.ts';

/** The reconciler starts a run that this process can no longer start. */
export function startScheduledRunActivity(deps: ActivityDeps): RunActivities['startScheduledRun'] {
  return async ({ workflow_id: workflowId, scheduled_at: at }) => {
    const started = await deps.orm.em
      .fork()
      .transactional((em) => startOnTime(em, { workflowId, at: new Date(at), limits: deps.limits }));
    if (started.outcome === 'started' && started.run_id !== null) await startRun(deps, started.run_id);
    return started;
  };
}
