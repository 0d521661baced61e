/** Records the spans of what has ended, soon after it is committed; one worker at a time does. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../config/logger.ts';
import type { EntityManager } from '../db/orm.ts';
import { ANY_RUN, type RunEventWatcher } from '../db/run-event-watcher.ts';
import { openTraceCursor, readEndedSpans, type EndedSpans } from '../domain/runs/ended-spans.ts';
import type { Tracing } from '../tracing/start.ts';
import { recordRun, recordTask } from './record-spans.ts';

interface TracePumpDeps {
  fork: () => EntityManager;
  tracing: Tracing;
  runEvents: RunEventWatcher;
  logger: Logger;
}

const IDLE_MS = 5_000;
/** Collects what ends at about the same time. */
const PAUSE_MS = 500;

export function startTracePump({ fork, tracing, runEvents, logger }: TracePumpDeps): {
  stop(): Promise<void>;
} {
  const watch = runEvents.watch(ANY_RUN);
  let stopped = false;
  let isOpen = false;
  const stopping = new AbortController();

  const pass = async (): Promise<EndedSpans['state']> => {
    if (!isOpen) await openTraceCursor(fork());
    isOpen = true;
    const state = await fork().transactional(async (em) => {
      const ended = await readEndedSpans(em);
      ended.tasks.forEach(recordTask);
      ended.runs.forEach(recordRun);
      return ended.state;
    });
    // A slow receiver slows this reader down, before the queue of the exporter would drop something.
    if (state === 'more') await tracing.flush();
    return state;
  };
  const run = async (): Promise<void> => {
    while (!stopped) {
      const state = await pass().catch((error: unknown) => {
        logger.warn({ err: error }, 'cannot read what has ended for traces, trying again');
        return 'done' as const;
      });
      if (stopped || state === 'more') continue;
      await watch.next(IDLE_MS);
      await sleep(PAUSE_MS, undefined, { signal: stopping.signal }).catch(() => {});
    }
  };
  const done = run();
  return {
    async stop() {
      stopped = true;
      stopping.abort();
      watch.close();
      await done;
    },
  };
}
