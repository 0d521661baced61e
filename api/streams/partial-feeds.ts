/**
 * Gives the streams of a run what its calls produce while they run, and tells the workers which runs have
 * such streams here. Everything is lost that comes while nobody listens, or that a slow client does not take.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../../config/logger.ts';
import type { PartialOutput } from '../../contracts/partial-output.ts';
import type { EntityManager } from '../../db/orm.ts';
import type { RunEventWatcher } from '../../db/run-event-watcher.ts';
import { FOLLOWED_SECONDS, noteFollowed } from '../../domain/runs/partial-output.ts';

export interface PartialFeed {
  /** SSE blocks that have come since the last call. */
  take(): string[];
  close(): void;
}

export interface PartialFeeds {
  /**
   * Resolves when feeds miss nothing that calls produce from now on, or after a while without the database.
   */
  ready(): Promise<void>;
  /** `woken` is called when something has come. */
  join(runId: string, woken: () => void): PartialFeed;
  stop(): void;
}

interface PartialFeedsDeps {
  fork: () => EntityManager;
  logger: Logger;
  runEvents: Pick<RunEventWatcher, 'takePartials'>;
}

/** Streams that are opened together are noted together. */
const SOON_MS = 50;
/** A stream begins after this time even if there is no connection to the database. */
const READY_MS = 2_000;
const NOTE_MS = (FOLLOWED_SECONDS * 1_000) / 3;
/** Of one stream. Beyond that the oldest blocks are dropped. */
const MAX_CHARACTERS = 64 * 1024;

export function createPartialFeeds({ fork, logger, runEvents }: PartialFeedsDeps): PartialFeeds {
  const feeds = new Map<string, Set<Feed>>();
  let timer: NodeJS.Timeout | undefined;
  let isNoted = true;
  let isStopped = false;

  const note = async (): Promise<void> => {
    isNoted = true;
    // Connects again where the connection was lost. Workers send nothing before we listen.
    await ready();
    await noteFollowed(fork(), feeds.keys()).catch((error: unknown) =>
      logger.warn({ err: error }, 'cannot note which runs are followed'),
    );
    // A stream may have come meanwhile.
    schedule(isNoted ? NOTE_MS : SOON_MS);
  };
  const schedule = (ms: number): void => {
    clearTimeout(timer);
    if (feeds.size > 0 && !isStopped) timer = setTimeout(() => void note(), ms).unref();
  };
  const deliver = (notification: string): void => {
    // The assertion holds: `notificationOf` wrote it.
    const [runId, partial] = JSON.parse(notification) as [string, PartialOutput];
    const block = `event: ${partial.type}\ndata: ${JSON.stringify(partial)}\n\n`;
    feeds.get(runId)?.forEach((feed) => feed.put(block));
  };

  const ready = async (): Promise<void> => {
    const patience = new AbortController();
    const waited = sleep(READY_MS, undefined, { signal: patience.signal, ref: false }).catch(() => {});
    await Promise.race([runEvents.takePartials(deliver), waited]);
    patience.abort();
  };

  return {
    ready,
    join(runId, woken) {
      const feed = new Feed(woken);
      const ofRun = feeds.get(runId) ?? new Set();
      feeds.set(runId, ofRun.add(feed));
      if (ofRun.size === 1 && isNoted) {
        isNoted = false;
        schedule(SOON_MS);
      }
      return {
        take: () => feed.take(),
        close() {
          ofRun.delete(feed);
          if (ofRun.size === 0 && feeds.get(runId) === ofRun) feeds.delete(runId);
        },
      };
    },
    stop() {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}

/** Of one stream. */
class Feed {
  readonly #woken: () => void;
  #blocks: string[] = [];
  #characters = 0;

  constructor(woken: () => void) {
    this.#woken = woken;
  }

  put(block: string): void {
    this.#blocks.push(block);
    this.#characters += block.length;
    while (this.#characters > MAX_CHARACTERS) this.#characters -= this.#blocks.shift()?.length ?? 0;
    this.#woken();
  }

  take(): string[] {
    const blocks = this.#blocks;
    this.#blocks = [];
    this.#characters = 0;
    return blocks;
  }
}
