import type { RunActivities } from '../contracts/activities.ts';
import { deliverSignals } from '../domain/runs/dispatch.ts';
import { appendEvents, endLoneRun } from '../domain/runs/events.ts';
import { isOver, keepOutcomes, outcomeRows } from '../domain/runs/invocations.ts';
import { appendAnd } from './append.ts';
import type { CallDeps } from './deps.ts';
import { otherOutcome } from './invocation.ts';

export function runLogActivities(
  deps: CallDeps,
): Pick<RunActivities, 'appendEvents' | 'endRun' | 'cancelExecution'> {
  return {
    appendEvents: (input) => appendAnd(deps, input),
    async endRun({ run_id, batch, end, checkpoint }) {
      const ending = checkpoint === undefined ? { end } : { end, checkpoint };
      const outcomes = deps.outcomes.of(run_id);
      const em = deps.orm.em.fork();
      const lone = await endLoneRun(em, run_id, batch, ending, outcomeRows(outcomes));
      if (lone) {
        deps.outcomes.stored(run_id, outcomes);
        if (lone.conflict && !lone.closed) throw otherOutcome();
        return { closed: lone.closed };
      }
      const { closed, signals } = await deps.orm.em.fork().transactional(async (tx) => {
        const kept = outcomes.length === 0 || (await keepOutcomes(tx, run_id, outcomes, { durable: true }));
        if (!kept && !(await isOver(tx, run_id))) throw otherOutcome();
        return appendEvents(tx, run_id, batch, ending);
      });
      deps.outcomes.stored(run_id, outcomes);
      await deliverSignals(deps, signals);
      return { closed };
    },
    cancelExecution: ({ run_id }) => deps.temporal.cancel(run_id),
  };
}
