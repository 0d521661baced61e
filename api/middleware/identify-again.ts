/**
 * A body may take minutes to arrive, but its caller is identified by the headers. What has read a body, or
 * waited for a counterpart, asks here before it acts, so that rights that have ended meanwhile are over.
 */
import type { Context } from 'koa';

/** As long as readers of this process may go on with rights that have changed (known-callers.ts). */
export const IDENTIFIED_MS = 1_000;

interface Identified {
  atMs: number;
  /** Reads the caller's rights as they are now. @throws 401, 403 */
  again: () => Promise<void>;
}

const identified = new WeakMap<Context, Identified>();

/** Notes that the caller of a request has just been identified, and how to do so again. */
export function noteIdentified(ctx: Context, again: () => Promise<void>): void {
  identified.set(ctx, { atMs: performance.now(), again });
}

/**
 * Identifies the caller again if that is more than a second ago. @returns whether it did: what was decided by
 * the former rights is to be decided again. @throws 401, 403
 */
export async function identifyAgain(ctx: Context): Promise<boolean> {
  const known = identified.get(ctx);
  if (known === undefined || performance.now() - known.atMs < IDENTIFIED_MS) return false;
  await known.again();
  noteIdentified(ctx, known.again);
  return true;
}
