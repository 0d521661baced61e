/**
 * Bounds what this process holds of answers that their clients do not read: of a user, or of an address
 * without one, over all connections and protocols. Whatever an answer is (text, a stream of events, a file),
 * what is made of it and not yet taken by the system counts.
 */
import { Readable } from 'node:stream';
import type { Context, Middleware } from 'koa';

import type { Logger } from '../config/logger.ts';
import { anonymous, type Actor } from '../domain/auth/actor.ts';
import { addressKey } from '../domain/auth/throttle.ts';
import { tokenIdOf, type WorkerCaller } from '../domain/jobs/worker-tokens.ts';

const MIB = 1024 * 1024;
/** Above it, connections that have not been read for `STALLED_LOOKS` are closed, the slowest first. */
const MAX_UNREAD_BYTES = 64 * MIB;
/** Above it, also others: no client reads that many answers at once. */
const MAX_BYTES = 4 * MAX_UNREAD_BYTES;
const LOOK_MS = 500;
/** Five seconds. Looks count, not time, because a process that is busy gives nobody a chance to read. */
const STALLED_LOOKS = 10;
/**
 * Smaller answers are not looked at; `REQUESTS_PER_USER` bounds them. Larger ones go to the connection
 * in pieces of this size, so that one that is read slowly differs from one that is not read.
 */
const PIECE_BYTES = 64 * 1024;

/** An answer under way. */
interface Answer {
  /** Bytes that its client has yet to take. */
  held(): number;
  /** Bytes that its client has taken; without it, less that is held shows that it reads. */
  taken?(): number;
  /** Bytes that are held as long as any of them are left. */
  whole?: number;
  /** Closes its connection. */
  cut(): void;
}

interface Watched extends Answer {
  lastHeld: number;
  lastTaken: number;
  /** Looks since the client was last seen to read. */
  idle: number;
}

export class UnreadAnswers {
  readonly #logger: Logger;
  readonly #open = new Map<string, Set<Watched>>();
  #timer: NodeJS.Timeout | null = null;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** @returns call it when the answer is over */
  add(caller: string, answer: Answer): () => void {
    const watched: Watched = { ...answer, lastHeld: answer.held(), lastTaken: 0, idle: 0 };
    const own = this.#open.get(caller) ?? new Set();
    this.#open.set(caller, own.add(watched));
    if (watched.lastHeld >= PIECE_BYTES) this.#look(caller, own, 0);
    this.#timer ??= setInterval(() => this.#lookAtAll(), LOOK_MS).unref();
    return () => {
      own.delete(watched);
      if (own.size === 0 && this.#open.get(caller) === own) this.#open.delete(caller);
    };
  }

  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
  }

  #lookAtAll(): void {
    for (const [caller, own] of this.#open) this.#look(caller, own, 1);
    if (this.#open.size > 0 || this.#timer === null) return;
    clearInterval(this.#timer);
    this.#timer = null;
  }

  #look(caller: string, own: ReadonlySet<Watched>, looks: 0 | 1): void {
    let bytes = 0;
    for (const answer of own) {
      const held = answer.held();
      const taken = answer.taken?.() ?? 0;
      const isRead = held < answer.lastHeld || held === 0 || taken > answer.lastTaken;
      answer.idle = isRead ? 0 : answer.idle + looks;
      answer.lastHeld = held;
      answer.lastTaken = taken;
      bytes += weightOf(answer);
    }
    if (bytes <= MAX_UNREAD_BYTES) return;
    for (const answer of [...own].toSorted((a, b) => b.idle - a.idle)) {
      const isStalled = answer.idle >= STALLED_LOOKS;
      if (bytes <= (isStalled ? MAX_UNREAD_BYTES : MAX_BYTES)) return;
      if (answer.lastHeld === 0) continue;
      bytes -= weightOf(answer);
      answer.cut();
      this.#logger.warn(
        { caller, bytes: weightOf(answer) },
        'closed a connection whose client does not read',
      );
    }
  }
}

function weightOf({ lastHeld, whole = lastHeld }: Watched): number {
  return lastHeld === 0 ? 0 : whole;
}

/** Outside of what compresses answers. */
export function unreadMiddleware(unread: UnreadAnswers): Middleware {
  return async (ctx, next) => {
    await next();
    const answer = answerOf(ctx);
    if (answer === null || ctx.res.closed) return;
    ctx.res.once('close', unread.add(callerOf(ctx), answer));
  };
}

function answerOf(ctx: Context): Answer | null {
  const body: unknown = ctx.body;
  if (ctx.method === 'HEAD') return null;
  if (body instanceof Readable) return streamOn(ctx, () => body.readableLength);
  if (typeof body !== 'string' && !Buffer.isBuffer(body)) return null;
  // No character has fewer bytes than one.
  if (body.length < PIECE_BYTES) return null;
  return inPieces(ctx, typeof body === 'string' ? Buffer.from(body) : body);
}

/** A function of its own, so that nothing of it holds the text, too. */
function inPieces(ctx: Context, bytes: Buffer): Answer {
  let sent = 0;
  function* pieces(): Generator<Buffer> {
    while (sent < bytes.length) {
      const piece = bytes.subarray(sent, sent + PIECE_BYTES);
      sent += piece.length;
      yield piece;
    }
  }
  const stream = Readable.from(pieces(), { objectMode: false, highWaterMark: PIECE_BYTES });
  ctx.body = stream;
  ctx.length = bytes.length;
  // Each piece is a part of the same memory.
  const answer = streamOn(ctx, () => bytes.length - sent + stream.readableLength);
  return { ...answer, whole: bytes.length };
}

function streamOn({ res }: Context, unsent: () => number): Answer {
  return {
    held: () => unsent() + res.writableLength,
    // A file's buffer is filled again as fast as it is emptied.
    taken: () => (res.socket === null ? 0 : res.socket.bytesWritten - res.socket.writableLength),
    cut: () => res.destroy(),
  };
}

function callerOf(ctx: Context): string {
  const worker: WorkerCaller | undefined = ctx.state['worker'];
  const actor: Actor | undefined = ctx.state['actor'];
  if (worker !== undefined) return tokenIdOf(worker);
  return actor === undefined || actor === anonymous ? addressKey(ctx.ip) : actor.id;
}
