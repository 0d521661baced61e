import type { RunActivities } from '../contracts/activities.ts';
import type { TakenEvents } from '../contracts/listening.ts';
import { deliverSignals } from '../domain/runs/dispatch.ts';
import { catchUp } from '../domain/events/inbox.ts';
import { closeListener, openListener, takeEvents } from '../domain/events/listeners.ts';
import { appendAnd, appendWith } from './append.ts';
import type { ActivityDeps } from './deps.ts';

type ListenerActivities = Pick<RunActivities, 'openListener' | 'takeEvents' | 'closeListener'>;

/** Of a run that has ended. */
const NO_EVENTS: TakenEvents = { events: [], done: true, more: false };

/** Row, run event and the first events are one transaction; then comes what was being stored meanwhile. */
export function listenerActivities(deps: ActivityDeps): ListenerActivities {
  const caughtUp = async (id: string): Promise<void> =>
    deliverSignals(deps, await deps.orm.em.fork().transactional((em) => catchUp(em, id))).then(() => {});
  return {
    async openListener({ batch, ...input }) {
      const { closed, answer } = await appendWith(deps, { run_id: input.run_id, batch }, (em) =>
        openListener(em, input),
      );
      if (answer === null) return { closed, ...NO_EVENTS, after: 0 };
      await caughtUp(input.id);
      return { closed, ...answer };
    },
    async takeEvents({ batch, ...input }) {
      const { closed, answer } = await appendWith(deps, { run_id: input.run_id, batch }, (em) =>
        takeEvents(em, input),
      );
      if (answer === null) return { closed, ...NO_EVENTS };
      await caughtUp(input.id);
      return { closed, ...answer };
    },
    closeListener: ({ batch, ...input }) =>
      appendAnd(deps, { run_id: input.run_id, batch }, (em) => closeListener(em, input)),
  };
}
