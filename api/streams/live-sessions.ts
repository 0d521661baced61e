/**
 * Sessions of streams and bounded waits, which outlive the check at the start of a request. One statement
 * every two seconds checks all of them, so a session ends here even if another API process ended it, and
 * streams know their user's current roles without a query of their own.
 */
import type { Context } from 'koa';

import type { EntityManager } from '../../db/orm.ts';
import { actorsOfClaims, type ExpiringClaims } from '../../domain/auth/access-token.ts';
import type { Actor } from '../../domain/auth/actor.ts';
import { overloaded, type Load } from '../load-guard.ts';
import { claimsOf } from '../middleware/auth.ts';
import { releaseOf } from '../middleware/requests-at-once.ts';
import { StreamPlaces, type StreamPlacesOptions } from './stream-places.ts';

const CHECK_MS = 2_000;
/** Many changes at once are one check. */
const SOON_MS = 200;

export interface LiveSession {
  /** The user as of the last check. */
  readonly actor: Actor;
  /** Aborted when the access token becomes invalid: expired, logged out, user disabled, client deleted. */
  readonly signal: AbortSignal;
  /** Checks immediately, for data that must not be shown even within the two seconds. */
  recheck(): Promise<void>;
  close(): void;
}

/** The caller that opens a session, and their address. */
export interface SessionOpener {
  claims: ExpiringClaims;
  actor: Actor;
  ip: string;
  /** Ends the count of the request that becomes a stream. */
  release?: () => void;
}

/** The opener of an authenticated request. */
export function openerOf(ctx: Context): SessionOpener {
  return { claims: claimsOf(ctx), actor: ctx.state['actor'], ip: ctx.ip, release: releaseOf(ctx) };
}

export interface LiveSessions {
  /**
   * Opens a session for a stream.
   * @throws 429 if the user or the address has too many streams open on all copies of the API; 503 while this
   * process has too much to do
   */
  openStream(opener: SessionOpener): Promise<LiveSession>;
  /** Opens a session for a wait, which ends by itself within a minute. */
  openWait(opener: SessionOpener): LiveSession;
  /** Ends this part of the streams, at least one, the oldest first: their clients continue them later. */
  endStreams(part: number): void;
  /** Checks all at once, because somebody's rights may have changed. */
  recheckSoon(): void;
  /** Checks no more, and streams stop counting. They end now for another reason. */
  stop(): Promise<void>;
}

export interface LiveSessionsOptions extends StreamPlacesOptions {
  /** How much this process has to do. */
  load: () => Load;
}

interface OpenSession {
  claims: ExpiringClaims;
  actor: Actor;
  ended: AbortController;
  isStream: boolean;
}

export function createLiveSessions(options: LiveSessionsOptions): LiveSessions {
  const open = new Set<OpenSession>();
  const places = new StreamPlaces(options);
  let timer: NodeJS.Timeout | null = null;
  let isChecking = false;
  let isStopped = false;

  const checkAll = async (): Promise<void> => {
    timer = null;
    isChecking = true;
    await tryCheck(options, [...open]);
    isChecking = false;
    schedule();
  };
  const schedule = (): void => {
    if (open.size === 0 || timer || isChecking || isStopped) return;
    timer = setTimeout(() => void checkAll(), CHECK_MS);
    timer.unref();
  };
  const pause = (): void => {
    if (timer) clearTimeout(timer);
    timer = null;
  };
  const add = ({ claims, actor }: SessionOpener, isStream: boolean, closed: () => void): LiveSession => {
    const session: OpenSession = { claims, actor, ended: new AbortController(), isStream };
    open.add(session);
    schedule();
    return {
      get actor() {
        return session.actor;
      },
      signal: session.ended.signal,
      recheck: () => check(options.fork(), [session]),
      close() {
        if (!open.delete(session)) return;
        closed();
        if (open.size === 0) pause();
      },
    };
  };

  return {
    openWait: (opener) => add(opener, false, () => {}),
    recheckSoon: coalesced(() => tryCheck(options, [...open])),
    stop() {
      isStopped = true;
      pause();
      return places.stop();
    },
    endStreams: (part) => endOldest(open, part),
    async openStream(opener) {
      if (options.load() !== 'ok') throw overloaded();
      const leave = await places.take(opener.actor.id, opener.ip);
      opener.release?.();
      return add(opener, true, leave);
    },
  };
}

function endOldest(open: ReadonlySet<OpenSession>, part: number): void {
  const streams = [...open].filter((session) => session.isStream && !session.ended.signal.aborted);
  for (const session of streams.slice(0, Math.ceil(streams.length * part))) session.ended.abort();
}

/** Runs the work once for all requests of a short time. */
function coalesced(work: () => Promise<void>): () => void {
  let isDue = false;
  return () => {
    if (isDue) return;
    isDue = true;
    setTimeout(() => {
      isDue = false;
      void work();
    }, SOON_MS).unref();
  };
}

async function tryCheck(
  { fork, logger }: Pick<LiveSessionsOptions, 'fork' | 'logger'>,
  sessions: OpenSession[],
): Promise<void> {
  await check(fork(), sessions).catch((error: unknown) =>
    logger.warn({ err: error }, 'cannot check whether sessions are still valid'),
  );
}

async function check(em: EntityManager, sessions: readonly OpenSession[]): Promise<void> {
  const nowSeconds = Date.now() / 1_000;
  for (const session of sessions) if (session.claims.exp <= nowSeconds) session.ended.abort();
  const actors = await actorsOfClaims(
    em,
    sessions.map(({ claims }) => claims),
  );
  sessions.forEach((session, index) => {
    const actor = actors[index];
    if (actor) session.actor = actor;
    else session.ended.abort();
  });
}
