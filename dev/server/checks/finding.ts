/** What one check of `cadenza server doctor` has found. */
export interface Finding {
  check: string;
  status: 'ok' | 'warn' | 'error';
  /** What was found, and what to do about it. */
  detail: string;
}

export const ok = (check: string, detail: string): Finding => ({ check, status: 'ok', detail });
export const warn = (check: string, detail: string): Finding => ({ check, status: 'warn', detail });
export const error = (check: string, detail: string): Finding => ({ check, status: 'error', detail });

export const reasonOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause));

const LIMIT_MS = 10_000;

/** A check that fails or takes too long is a finding, too. */
export async function checked(
  check: string,
  todo: string,
  work: () => Promise<Finding[]>,
): Promise<Finding[]> {
  const { promise: late, resolve } = Promise.withResolvers<Finding[]>();
  const timer = setTimeout(
    () => resolve([error(check, `no answer within ${LIMIT_MS / 1_000} seconds. ${todo}`)]),
    LIMIT_MS,
  );
  try {
    return await Promise.race([work(), late]);
  } catch (cause) {
    return [error(check, `${reasonOf(cause)}. ${todo}`)];
  } finally {
    clearTimeout(timer);
  }
}

const CLOCK_WARN_MS = 2_000;
const CLOCK_ERROR_MS = 30_000;

/** @param aheadMs how much the other clock is ahead of this one, and `blurMs` how exactly that is known */
export function clockFinding(check: string, aheadMs: number, blurMs: number): Finding {
  const off = Math.max(0, Math.abs(aheadMs) - blurMs);
  if (off < CLOCK_WARN_MS) return ok(check, 'agrees with this machine');
  const detail =
    `${(off / 1_000).toFixed(1)} s ${aheadMs > 0 ? 'ahead of' : 'behind'} this machine. ` +
    'Let NTP set the clocks of all machines: times in logs differ, and tokens may be refused.';
  return off < CLOCK_ERROR_MS ? warn(check, detail) : error(check, detail);
}
