/** Matches events with their listeners as soon as they are stored; any number of workers may. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Listener } from '../db/listener.ts';
import { INBOUND_CHANNEL } from '../domain/events/inbound.ts';
import { keepMatching } from '../domain/events/matcher.ts';
import type { MatchDeps } from '../domain/events/offer.ts';
import { SenderTurns } from '../domain/events/sender-turns.ts';
import type { PauseFlag } from './write-pause.ts';

/** Also what a lost notification delays an event by. */
const IDLE_MS = 1_000;
/** How long a notification may wait while others are at work. Most of them are for these. */
const BUSY_MS = 50;

export function startEventMatcher(
  deps: MatchDeps,
  writePause: Pick<PauseFlag, 'ended'>,
  databaseUrl: string,
): { stop(): Promise<void> } {
  const turns = new SenderTurns();
  let stopped = false;
  let pause = new AbortController();
  const wake = (): void => {
    turns.wake();
    pause.abort();
    pause = new AbortController();
  };
  const listener = new Listener({
    url: databaseUrl,
    channel: INBOUND_CHANNEL,
    notified: wake,
    connected: wake,
    lost: () => {},
    failed: (error) => deps.logger.warn({ err: error }, 'cannot listen for events, polling'),
  });
  void listener.connect();

  const done = keepMatching(deps, turns, {
    isStopped: () => stopped,
    async idle(wakes) {
      await writePause.ended();
      void listener.connect();
      if (turns.isBusy && !stopped) await sleep(BUSY_MS);
      if (turns.wakes === wakes && !stopped) {
        await sleep(IDLE_MS, undefined, { signal: pause.signal }).catch(() => {});
        if (turns.wakes === wakes) turns.wake();
      }
      return !stopped;
    },
  });
  return {
    async stop() {
      stopped = true;
      wake();
      await done;
      await listener.stop();
    },
  };
}
