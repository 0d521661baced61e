/** When a delivery that failed is tried again, and when it is given up. */

export interface RetryPolicy {
  /** Pause after the first failure; it doubles. */
  firstMs: number;
  longestMs: number;
  /** So many deliveries in a row given up: the target is disabled. */
  maxFailures: number;
  /** For one attempt. */
  timeoutMs: number;
}

/** About 34 attempts in the 24 hours of a delivery. */
export const standardRetry: RetryPolicy = { firstMs: 5_000, longestMs: 3_600_000, maxFailures: 3, timeoutMs: 15_000 };

/** Doubling, ± 20 %, so that targets that failed together are not tried together; at least what the receiver asked for. */
export function pauseMs(policy: RetryPolicy, attempts: number, askedMs: number | null, random = Math.random()): number {
  const doubled = Math.min(policy.firstMs * 2 ** Math.min(attempts - 1, 30), policy.longestMs);
  return Math.round(Math.max(doubled * (0.8 + 0.4 * random), Math.min(askedMs ?? 0, policy.longestMs)));
}
