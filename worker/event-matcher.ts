/** Matches events with their listeners as soon as they are stored; any number of workers may. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Listener } from '../db/listener.ts';
import { INBOUND_CHANNEL } from '../domain/events/inbound.ts';
import { matchEvents, type MatchDeps } from '../domain/events/matcher.ts';

/** Also what a lost notification delays an event by. */
const IDLE_MS = 1_000;

export function startEventMatcher(deps: MatchDeps, databaseUrl: string): { stop(): Promise<void> } {
  let stopped = false;
  let isNotified = false;
  let wake = (): void => {};
  const notified = (): void => {
    isNotified = true;
    wake();
  };
  const listener = new Listener({
    url: databaseUrl,
    channel: INBOUND_CHANNEL,
    applicationName: 'cadenza-events',
    notified,
    connected: notified,
    lost: () => {},
    failed: (error) => deps.logger.warn({ err: error }, 'cannot listen for events, polling'),
  });

  const run = async (): Promise<void> => {
    while (!stopped) {
      isNotified = false;
      listener.connect();
      let more = false;
      try {
        more = await matchEvents(deps);
      } catch (error) {
        deps.logger.warn({ err: error }, 'cannot match events with their listeners, trying again');
      }
      if (more || isNotified || stopped) continue;
      const pause = new AbortController();
      wake = () => pause.abort();
      await sleep(IDLE_MS, undefined, { signal: pause.signal }).catch(() => {});
    }
  };
  const done = run();
  return {
    async stop() {
      stopped = true;
      wake();
      await done;
      await listener.stop();
    },
  };
}
