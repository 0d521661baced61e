/** Server-Sent Events over a shared log reader: catching up, following, heartbeats, and ending the stream. */
import { Readable } from 'node:stream';
import type { Context } from 'koa';

import type { EndpointResponse } from '../endpoint.ts';
import { UNREAD_BYTES } from './event-stream.ts';
import type { LiveSession } from './live-sessions.ts';
import type { PartialFeed } from './partial-feeds.ts';
import type { Entry, Reading, SharedReader } from './shared-reader.ts';

const HEARTBEAT_MS = 15_000;
/** Grace period in which a client that does not read may notice that its session ended. */
const UNREAD_GRACE_MS = 1_000;
const BEHIND_MS = 50;
/** How often an idle stream checks whether its user may still follow. */
const CHECK_MS = 2_000;

export interface Follower<E extends Entry<Place>, Place> {
  reader: SharedReader<E, Place>;
  from: Place;
  /** Reads entries that the shared reader no longer keeps. */
  catchUp(after: Place): Promise<Omit<Reading<E, Place>, 'more'>>;
  /** SSE text of an entry for this client; null to skip it. */
  blockOf(entry: E): string | null;
  /** What is sent beside the log, without a place in it. */
  partials?: PartialFeed;
  /** SSE comment block. */
  mark(word: 'connected' | 'heartbeat', place: Place): string;
  /** False once the user may no longer follow this log. */
  mayFollow(): boolean;
  isStopping(): boolean;
}

/** Responds with the stream. `close` releases its resources, however the stream ends. */
export function sendStream<E extends Entry<Place>, Place>(
  ctx: Context,
  session: LiveSession,
  follower: Follower<E, Place>,
  close: () => void,
): EndpointResponse {
  const disconnected = new AbortController();
  const release = () => {
    disconnected.abort();
    session.close();
    close();
  };
  // The client may have left while the stream was prepared.
  if (ctx.res.closed || ctx.res.destroyed) release();
  else ctx.res.once('close', release);
  cutUnread(ctx, session);
  const body = Readable.from(blocks(AbortSignal.any([session.signal, disconnected.signal]), follower), {
    objectMode: false,
    highWaterMark: UNREAD_BYTES,
  });
  return {
    status: 200,
    type: 'text/event-stream',
    body,
    headers: { 'Cache-Control': 'no-store', 'X-Accel-Buffering': 'no' },
  };
}

/**
 * Cuts the connection of a client that does not read. Such a stream never gets to its next chunk, where it
 * would notice that the session ended.
 */
export function cutUnread(ctx: Context, { signal }: LiveSession): void {
  signal.addEventListener('abort', () => {
    setTimeout(() => {
      if (!ctx.res.writableFinished) ctx.res.destroy();
    }, UNREAD_GRACE_MS).unref();
  });
}

/**
 * Yields SSE blocks until `signal` is aborted. It also ends with a stopped reader, whose `next` returns at
 * once and would make this loop spin.
 */
async function* blocks<E extends Entry<Place>, Place>(
  signal: AbortSignal,
  follower: Follower<E, Place>,
): AsyncGenerator<string> {
  const { reader } = follower;
  let place = follower.from;
  let sentAtMs = performance.now();
  yield follower.mark('connected', place);
  while (!signal.aborted && !reader.isStopped && follower.mayFollow()) {
    const kept = reader.after(place);
    const page = kept ?? (await follower.catchUp(place));
    for (const entry of page.entries) {
      if (signal.aborted) return;
      place = entry.place;
      const block = follower.blockOf(entry);
      if (block === null) continue;
      yield block;
      sentAtMs = performance.now();
    }
    place = page.reached;
    if (page.over || follower.isStopping()) return;
    const partials = follower.partials?.take() ?? [];
    for (const block of partials) {
      if (signal.aborted) return;
      yield block;
      sentAtMs = performance.now();
    }
    if (page.entries.length > 0 || partials.length > 0) continue;
    if (performance.now() - sentAtMs >= HEARTBEAT_MS) {
      yield follower.mark('heartbeat', place);
      sentAtMs = performance.now();
    }
    const restMs = Math.max(0, sentAtMs + HEARTBEAT_MS - performance.now());
    await reader.next(place, kept === null ? BEHIND_MS : Math.min(restMs, CHECK_MS), signal);
  }
}
