/**
 * Limits how much of this process's time one caller's large request bodies take. Reading such a body blocks
 * the event loop for everybody: 2 MB of JSON with 100,000 names take 50 to 200 ms. A caller may use up a
 * burst at once; after that, their large bodies wait until they have used no more than their share.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '../../domain/errors.ts';
import type { Measure } from '../../domain/measure.ts';

/** Smaller bodies never wait, so that a caller who uploads much can still decide a task. */
const LARGE_BYTES = 16 * 1024;
/** The part of the time that one caller's bodies may take. */
const SHARE = 0.05;
const BURST_MS = 6_000;
const MAX_WAIT_MS = 10_000;
/** At least this much is counted for a large body, because it is also stored, answered and logged. */
const MS_PER_MIB = 20;
/** Bodies that take less are not counted. */
const COUNTED_MS = 5;
const MAX_CALLERS = 10_000;

export interface BodyTurn {
  /** Does synchronous work with the body, and counts its time as the caller's. */
  measure: Measure;
  /** The same for work that ends elsewhere: it is counted when what is returned is called first. */
  begin(): () => void;
  /** Counts work that cannot be measured, because it waits for others in between. */
  count(ms: number): void;
}

export interface BodyTurns {
  /**
   * Waits for the caller's turn. @throws 429 `too_much_work` if it would take longer than 10 s
   * @param caller a user's id, or the address of an unauthenticated client
   */
  take(caller: string, bytes: number): Promise<BodyTurn>;
}

/**
 * `nowMs`: a clock that never goes back. `spentMs`: a clock of the work of this thread, so that what a busy
 * machine does beside it does not count as a caller's.
 */
export function createBodyTurns(
  nowMs: () => number = () => performance.now(),
  spentMs: () => number = nowMs,
): BodyTurns {
  /** When the time that a caller has used is made up for by waiting. Callers without debt are absent. */
  const settledMs = new Map<string, number>();

  const count = (caller: string, usedMs: number): void => {
    if (usedMs <= 0) return;
    if (settledMs.size >= MAX_CALLERS) forgetSettled(settledMs, nowMs());
    settledMs.set(caller, Math.max(settledMs.get(caller) ?? 0, nowMs()) + usedMs / SHARE);
  };

  return {
    async take(caller, bytes) {
      const large = bytes >= LARGE_BYTES;
      const expectedMs = large ? (bytes / 1024 / 1024) * MS_PER_MIB : 0;
      if (large) {
        const waitMs = (settledMs.get(caller) ?? 0) - nowMs() - BURST_MS / SHARE;
        if (waitMs > MAX_WAIT_MS) throw tooMuchWork(waitMs);
        // Counted before the wait, so that bodies that arrive together wait for each other.
        count(caller, expectedMs);
        if (waitMs > 0) await sleep(waitMs);
      }
      let measuredMs = 0;
      let countedMs = Math.max(expectedMs, COUNTED_MS);
      const add = (usedMs: number): void => {
        measuredMs += usedMs;
        count(caller, measuredMs - countedMs);
        countedMs = Math.max(countedMs, measuredMs);
      };
      const begin = (): (() => void) => {
        const begunMs = spentMs();
        let ended = false;
        return () => {
          if (!ended) add(spentMs() - begunMs);
          ended = true;
        };
      };
      return {
        measure(work) {
          const end = begin();
          try {
            return work();
          } finally {
            end();
          }
        },
        begin,
        count: add,
      };
    },
  };
}

function forgetSettled(settledMs: Map<string, number>, nowMs: number): void {
  for (const [caller, atMs] of settledMs) if (atMs <= nowMs) settledMs.delete(caller);
  // Everybody is in debt: forgetting them is better than growing without limit.
  if (settledMs.size >= MAX_CALLERS) settledMs.clear();
}

function tooMuchWork(waitMs: number): AppError {
  const detail =
    'Your large request bodies take more than their share of the server: ' +
    'send fewer, smaller or simpler ones.';
  const headers = { 'Retry-After': String(Math.ceil(waitMs / 1_000)) };
  return new AppError('too_many_requests', 'too_much_work', detail, { headers });
}
