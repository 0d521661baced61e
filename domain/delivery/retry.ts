/** When a failed delivery is retried, and when it is given up. */

export interface RetryPolicy {
  /** Pause after the first failure; it doubles, up to `steadyMs`. */
  firstMs: number;
  /**
   * The longest regular pause. For old messages it grows to a twentieth of their age: a receiver that was
   * down for long can wait a little longer.
   */
  steadyMs: number;
  longestMs: number;
  /** The target is disabled after this many deliveries in a row were given up. */
  maxFailures: number;
  /** Timeout of one attempt. */
  timeoutMs: number;
}

/**
 * About 120 attempts in a delivery's 24 hours. After an outage of ten minutes the next attempt follows within
 * 36 s.
 */
export const STANDARD_RETRY: RetryPolicy = {
  firstMs: 5_000,
  steadyMs: 30_000,
  longestMs: 3_600_000,
  maxFailures: 3,
  timeoutMs: 15_000,
};

export interface Failed {
  /** Attempts for this message, including the failed one. */
  attempts: number;
  /** The message's age. */
  ageMs: number;
  /** `Retry-After`. */
  askedMs: number | null;
}

/**
 * The pause before the next attempt, at least the requested `Retry-After`. Varies by ± 20 %, so that targets
 * that failed together are not retried together.
 */
export function pauseMs(
  { firstMs, steadyMs, longestMs }: RetryPolicy,
  { attempts, ageMs, askedMs }: Failed,
  random = Math.random(),
): number {
  const doubled = firstMs * 2 ** Math.min(attempts - 1, 30);
  const pause = Math.min(doubled, Math.max(steadyMs, ageMs / 20), longestMs);
  return Math.round(Math.max(pause * (0.8 + 0.4 * random), Math.min(askedMs ?? 0, longestMs)));
}
