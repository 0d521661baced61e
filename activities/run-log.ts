import type { RunActivities } from '../contracts/activities.ts';
import { deliverSignals } from '../domain/runs/dispatch.ts';
import { appendEvents } from '../domain/runs/events.ts';
import { appendAnd } from './append.ts';
import type { ActivityDeps } from './deps.ts';

export function runLogActivities(deps: ActivityDeps): Pick<RunActivities, 'appendEvents' | 'endRun'> {
  return {
    appendEvents: (input) => appendAnd(deps, input),
    async endRun({ run_id, batch, end, checkpoint }) {
      const { closed, signals } = await deps.orm.em.fork().transactional((em) =>
        appendEvents(em, run_id, batch, checkpoint === undefined ? { end } : { end, checkpoint }),
      );
      await deliverSignals(deps, signals);
      return { closed };
    },
  };
}
