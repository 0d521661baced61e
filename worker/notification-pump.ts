/** Tells people of tasks and of their accounts as soon as something happens; any number of workers may. */
import { setTimeout as sleep } from 'node:timers/promises';

import type { Logger } from '../config/logger.ts';
import { Listener } from '../db/listener.ts';
import { wakeTargets } from '../domain/delivery/reconcile.ts';
import { prepareMessages, type PrepareDeps } from '../domain/notifications/prepare.ts';
import { shardTarget } from '../domain/notifications/shards.ts';
import type { TemporalGateway } from '../domain/ports.ts';
import type { PauseFlag } from './write-pause.ts';

export interface NotificationPumpDeps {
  expand: PrepareDeps;
  temporal: Pick<TemporalGateway, 'wakeDelivery'>;
  logger: Logger;
  /** Nothing is written while writes are paused. */
  pause: Pick<PauseFlag, 'ended'>;
}

/** Also what a lost notification delays people by. */
const IDLE_MS = 5_000;

export function startNotificationPump(
  { expand, temporal, logger, pause: writePause }: NotificationPumpDeps,
  databaseUrl: string,
): { stop(): Promise<void> } {
  let stopped = false;
  let woken = true;
  let pause = new AbortController();
  const wake = (): void => {
    woken = true;
    pause.abort();
  };
  const listener = new Listener({
    url: databaseUrl,
    channel: 'notice',
    notified: wake,
    connected: wake,
    lost: () => {},
    failed: (error) => logger.warn({ err: error }, 'cannot listen for notifications, polling'),
  });
  const run = async (): Promise<void> => {
    while (!stopped) {
      await writePause.ended();
      void listener.connect();
      woken = false;
      pause = new AbortController();
      try {
        const shards = await prepareMessages(expand);
        await wakeTargets(temporal, [...shards].map(shardTarget));
      } catch (error) {
        logger.warn({ err: error }, 'cannot tell people of their tasks, trying again');
      }
      if (!woken && !stopped) await sleep(IDLE_MS, undefined, { signal: pause.signal }).catch(() => {});
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
