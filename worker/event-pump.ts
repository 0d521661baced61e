/**
 * Puts events into the outbox as soon as they are committed. The reconciler finds the ones that it misses.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../config/logger.ts';
import { ANY_RUN, type RunEventWatcher } from '../db/run-event-watcher.ts';
import { fanOut, type FanOutDeps } from '../domain/delivery/fan-out.ts';
import { wakeTargets } from '../domain/delivery/reconcile.ts';
import type { TemporalGateway } from '../domain/ports.ts';
import type { PauseFlag } from './write-pause.ts';

export interface EventPumpDeps extends FanOutDeps {
  temporal: Pick<TemporalGateway, 'wakeDelivery'>;
  runEvents: RunEventWatcher;
  logger: Logger;
  /** Nothing is written while writes are paused. */
  pause: Pick<PauseFlag, 'ended'>;
}

const IDLE_MS = 5_000;
/** If no target wants events, the pump checks only this often, so it does not slow runs down. */
const UNWANTED_MS = 1_000;
/** The pause while open transactions hold back later events. */
const BEHIND_MS = { first: 20, longest: 1_000 };

export function startEventPump(deps: EventPumpDeps): { stop(): Promise<void> } {
  const watch = deps.runEvents.watch(ANY_RUN);
  let stopped = false;
  let interrupt = (): void => {};
  const stopping = new Promise<void>((resolve) => (interrupt = resolve));

  const run = async (): Promise<void> => {
    let behindMs = BEHIND_MS.first;
    while (!stopped) {
      await Promise.race([deps.pause.ended(), stopping]);
      if (stopped) break;
      let pauseMs = BEHIND_MS.longest;
      try {
        const { due, state } = await fanOut(deps);
        await wakeTargets(deps.temporal, due);
        behindMs = state === 'behind' ? Math.min(behindMs * 2, BEHIND_MS.longest) : BEHIND_MS.first;
        if (state === 'unwanted') await Promise.race([sleep(UNWANTED_MS), stopping]);
        pauseMs = state === 'more' ? 0 : state === 'behind' ? behindMs : IDLE_MS;
      } catch (error) {
        deps.logger.warn({ err: error }, 'cannot hand events to deliveries, trying again');
      }
      if (pauseMs > 0 && !stopped) await watch.next(pauseMs);
    }
  };
  const done = run();
  return {
    async stop() {
      stopped = true;
      interrupt();
      watch.close();
      await done;
    },
  };
}
