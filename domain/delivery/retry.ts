/** When a delivery that failed is tried again, and when it is given up. */

export interface RetryPolicy {
  /** Pause after the first failure; it doubles, up to `steadyMs`. */
  firstMs: number;
  /** Or a twentieth of the message's age, if that is longer: who was away for long may be found again a little later. */
  steadyMs: number;
  longestMs: number;
  /** So many deliveries in a row given up: the target is disabled. */
  maxFailures: number;
  /** For one attempt. */
  timeoutMs: number;
}

/** About 120 attempts in the 24 hours of a delivery; after an outage of ten minutes the next comes within 36 s. */
export const standardRetry: RetryPolicy = { firstMs: 5_000, steadyMs: 30_000, longestMs: 3_600_000, maxFailures: 3, timeoutMs: 15_000 };

export interface Failed {
  /** At this message, the failed one included. */
  attempts: number;
  /** Of the message. */
  ageMs: number;
  /** `Retry-After`. */
  askedMs: number | null;
}

/** ± 20 %, so that targets that failed together are not tried together; at least what the receiver asked for. */
export function pauseMs({ firstMs, steadyMs, longestMs }: RetryPolicy, { attempts, ageMs, askedMs }: Failed, random = Math.random()): number {
  const doubled = firstMs * 2 ** Math.min(attempts - 1, 30);
  const pause = Math.min(doubled, Math.max(steadyMs, ageMs / 20), longestMs);
  return Math.round(Math.max(pause * (0.8 + 0.4 * random), Math.min(askedMs ?? 0, longestMs)));
}
