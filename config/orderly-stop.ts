/** What all programs need to end in order, within a time, whatever their networks do. */
import type { Logger } from './logger.ts';

const TICK_MS = 100;
/** More than this between two ticks: the process was frozen, or its machine was. */
const LONGEST_TICK_MS = 1_000;

/**
 * Waits for the work, for a limited time. Time in which the process was frozen does not count, as the work
 * could not use it.
 *
 * @returns whether the work has ended; what it throws, this throws
 */
export async function within(limitMs: number, work: Promise<unknown>): Promise<boolean> {
  let leftMs = limitMs;
  let seenMs = performance.now();
  const { promise: over, resolve } = Promise.withResolvers<false>();
  const timer = setInterval(() => {
    const now = performance.now();
    leftMs -= Math.min(now - seenMs, LONGEST_TICK_MS);
    seenMs = now;
    if (leftMs <= 0) resolve(false);
  }, TICK_MS);
  try {
    return await Promise.race([work.then(() => true), over]);
  } finally {
    clearInterval(timer);
    // It may still fail, with nobody waiting.
    work.catch(() => {});
  }
}

/**
 * Call when a program begins to stop: what fails on the way is logged, and does not end it at once with 1.
 */
export function failuresAreLogged(logger: Logger): void {
  process.on('uncaughtException', (error) => logger.error({ err: error }, 'a failure while stopping'));
}
