/** How workers of all kinds end. */
import { failuresAreLogged, within } from '../config/orderly-stop.ts';
import type { Logger } from '../config/logger.ts';
import type { RunningWorker } from './create-worker.ts';

/** Longer than the SDK gives activities until it cancels them (`shutdownGraceTime`). */
const DRAIN_MS = 15_000;
/** Statements and requests on a silent network end later than this. */
const CLOSE_MS = 5_000;

export interface Drain {
  /** Takes no more work. */
  stop(): void;
  /**
   * Runs the worker. Once it is told to stop, its work gets some seconds to end; what does not end in them is
   * left as it is, and repeated by another worker, as after a kill. @throws if the worker fails by itself
   */
  run(): Promise<void>;
}

export function createDrain(worker: RunningWorker, logger: Logger): Drain {
  const asked = Promise.withResolvers<void>();
  let isAsked = false;
  return {
    stop() {
      if (isAsked) return;
      isAsked = true;
      failuresAreLogged(logger);
      if (worker.getState() === 'RUNNING') worker.shutdown();
      asked.resolve();
    },
    async run() {
      const running = worker.run();
      try {
        await Promise.race([running, asked.promise]);
        if (await within(DRAIN_MS, running)) return;
        logger.warn({ seconds: DRAIN_MS / 1_000 }, 'work did not end in time, another worker repeats it');
      } catch (error) {
        if (!isAsked) throw error;
        logger.warn({ err: error }, 'the worker did not drain, another one repeats its work');
      }
    },
  };
}

/** Closes what the worker had open, for a limited time. The steps come one after the other. */
export async function closeAll(logger: Logger, steps: readonly (() => readonly unknown[])[]): Promise<void> {
  const closing = (async () => {
    for (const step of steps) await Promise.allSettled(step());
  })();
  if (!(await within(CLOSE_MS, closing)))
    logger.warn({ seconds: CLOSE_MS / 1_000 }, 'connections did not close in time');
}
