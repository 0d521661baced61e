import type { RunActivities } from '../contracts/activities.ts';
import { deliverSignals } from '../domain/runs/dispatch.ts';
import { catchUp } from '../domain/events/inbox.ts';
import { closeListener, openListener, takeEvents } from '../domain/events/listeners.ts';
import { appendAnd } from './append.ts';
import type { ActivityDeps } from './deps.ts';

type ListenerActivities = Pick<RunActivities, 'openListener' | 'takeEvents' | 'closeListener'>;

/** Row, run event and the first events are one transaction; then comes what was being stored meanwhile. */
export function listenerActivities(deps: ActivityDeps): ListenerActivities {
  const caughtUp = async (id: string): Promise<void> =>
    deliverSignals(deps, await deps.orm.em.fork().transactional((em) => catchUp(em, id))).then(() => {});
  return {
    async openListener({ batch, ...input }) {
      let opened: Awaited<ReturnType<typeof openListener>> | null = null;
      const { closed } = await appendAnd(deps, { run_id: input.run_id, batch }, async (em) => {
        opened = await openListener(em, input);
      });
      if (opened === null) return { closed, events: [], done: true, more: false, after: 0 };
      await caughtUp(input.id);
      return { closed, ...(opened as Awaited<ReturnType<typeof openListener>>) };
    },
    async takeEvents({ batch, ...input }) {
      let taken: Awaited<ReturnType<typeof takeEvents>> | null = null;
      const { closed } = await appendAnd(deps, { run_id: input.run_id, batch }, async (em) => {
        taken = await takeEvents(em, input);
      });
      if (taken === null) return { closed, events: [], done: true, more: false };
      await caughtUp(input.id);
      return { closed, ...(taken as Awaited<ReturnType<typeof takeEvents>>) };
    },
    closeListener: ({ batch, ...input }) =>
      appendAnd(deps, { run_id: input.run_id, batch }, (em) => closeListener(em, input)),
  };
}
