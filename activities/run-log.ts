import type { RunActivities } from '../contracts/activities.ts';
import { deliverSignals } from '../domain/runs/dispatch.ts';
import { appendEvents, endLoneRun } from '../domain/runs/events.ts';
import { appendAnd } from './append.ts';
import type { ActivityDeps } from './deps.ts';

export function runLogActivities(deps: ActivityDeps): Pick<RunActivities, 'appendEvents' | 'endRun'> {
  return {
    appendEvents: (input) => appendAnd(deps, input),
    async endRun({ run_id, batch, end, checkpoint }) {
      const ending = checkpoint === undefined ? { end } : { end, checkpoint };
      const lone = await endLoneRun(deps.orm.em.fork(), run_id, batch, ending);
      if (lone) return lone;
      const { closed, signals } = await deps.orm.em.fork().transactional((em) => appendEvents(em, run_id, batch, ending));
      await deliverSignals(deps, signals);
      return { closed };
    },
  };
}
