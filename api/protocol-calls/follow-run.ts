/**
 * Waits for a run in a request of another standard, which ends with the run or at a bound. The tables are the
 * truth; notifications only wake the reader, so any copy of the API can wait for any run.
 */
import { EVENT, isTerminal, type RunStatus } from '../../contracts/run-events.ts';
import { STREAM_PAGE_BYTES } from '../../db/large-fields.ts';
import type { EntityManager } from '../../db/orm.ts';
import type { Actor } from '../../domain/auth/actor.ts';
import { AppError, notFound } from '../../domain/errors.ts';
import { maySeeInside, maySeeRun, readInside, type InsideOfRun } from '../../domain/runs/policy.ts';
import { listEvents } from '../../domain/runs/queries.ts';
import type { EventRow } from '../../domain/runs/row.ts';
import type { AppDeps } from '../deps.ts';
import type { LiveSession } from '../streams/live-sessions.ts';

const BATCH = 200;
/** Readers wake at least this often, to notice a bound, a client that left, a new owner, or a shutdown. */
const WAKE_MS = 3_000;
const ENDS: ReadonlySet<string> = new Set([EVENT.runCompleted, EVENT.runFaulted, EVENT.runCancelled]);

export interface Waiting {
  deps: Pick<AppDeps, 'orm' | 'runEvents' | 'isStopping'>;
  /** Ends when the caller's token does. */
  session: Pick<LiveSession, 'signal' | 'actor' | 'recheck'>;
  /** Aborted when the client goes away. */
  gone: AbortSignal;
}

export interface Following {
  runId: string;
  /** Only entries of the log after this one. */
  after: number;
  /** By `performance.now()`, which does not jump when the clock is set. */
  untilMs: number;
  /** Wakes the reader for what is not in the log. */
  nudges?: Nudges;
}

/** `late`: the bound was reached, and the run goes on. */
export type FollowEnd = 'ended' | 'late' | 'gone' | 'stopping';

export interface News {
  /** Of the log; none after a quiet while. */
  events: EventRow[];
  /** Whether the caller may see inside the run. */
  inside: boolean;
}

/**
 * Yields new entries of the log for those who may see inside.
 * @throws 401 if the caller's token ends, 404 once the caller may not see the run any more
 */
export async function* followRun(
  { deps, session, gone }: Waiting,
  { runId, after, untilMs, nudges = new Nudges() }: Following,
): AsyncGenerator<News, FollowEnd, void> {
  const watch = deps.runEvents.watch(runId);
  const stopped = AbortSignal.any([gone, session.signal]);
  const wake = (): void => watch.close();
  stopped.addEventListener('abort', wake, { once: true });
  let seq = after;
  let sleep: Promise<void> | null = null;
  /** Whether the log may have news. */
  let isDue = true;
  let isFirst = true;
  let inside = false;
  const slept = async (): Promise<void> => {
    await watch.next(Math.max(Math.min(WAKE_MS, untilMs - performance.now()), 0));
    isDue = true;
    sleep = null;
  };
  try {
    for (;;) {
      if (gone.aborted) return 'gone';
      if (session.signal.aborted)
        throw new AppError('unauthorized', 'invalid_token', 'The access token is no longer valid.');
      if (isDue) {
        isDue = false;
        const events = await listEvents(deps.orm.em.fork(), runId, {
          after: seq,
          limit: BATCH,
          bytes: STREAM_PAGE_BYTES,
        });
        // After the events: what the caller may still see is no later than this.
        if (events.length > 0 && !isFirst) await session.recheck();
        isFirst = false;
        const run = await readSeen(deps.orm.em.fork(), session.actor, runId);
        seq = events.at(-1)?.seq ?? seq;
        inside = maySeeInside(session.actor, run);
        yield { events: inside ? events : [], inside };
        if (events.some(({ type }) => ENDS.has(type))) return 'ended';
        if (events.length === 0 && isTerminal(run.status)) return 'ended';
        if (events.at(-1)?.is_full === true) isDue = true;
        else if (deps.isStopping()) return 'stopping';
        else if (performance.now() >= untilMs) return 'late';
      } else yield { events: [], inside };
      if (!isDue && !stopped.aborted) await Promise.race([(sleep ??= slept()), nudges.next()]);
    }
  } finally {
    stopped.removeEventListener('abort', wake);
    watch.close();
  }
}

/** @throws 404 */
async function readSeen(
  em: EntityManager,
  actor: Actor,
  runId: string,
): Promise<InsideOfRun & { status: RunStatus }> {
  const run = await readInside(em, runId);
  if (run === undefined || !maySeeRun(actor, run)) throw notFound('run');
  return run;
}

/** Wakes one reader. */
export class Nudges {
  #isOpen = false;
  #wake: () => void = () => {};

  /** Something has come. */
  give(): void {
    this.#isOpen = true;
    this.#wake();
  }

  /** Resolves once something has come since the last call. */
  async next(): Promise<void> {
    if (!this.#isOpen)
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    this.#isOpen = false;
  }
}
