/** Shared by calls over protocols other than plain HTTP: time limit, redaction, usage. */
import { Fault, fault } from '../contracts/fault.ts';
import type { HttpCall, HttpResult } from '../domain/ports.ts';
import { withoutSecrets } from './call-settings.ts';
import { createSensitive, type Sensitive } from './secrets/sensitive.ts';

/** Counterparts and their documents choose the names that messages repeat. */
const MAX_DETAIL_LENGTH = 4_000;

export interface CallGuard {
  sensitive: Sensitive;
  /** Aborts when the call is cancelled, and at its time limit. */
  signal: AbortSignal;
  /** Milliseconds until the time limit, at least 1. */
  leftMs: () => number;
}

interface Guarded {
  signal: AbortSignal;
  timeoutMs: number;
  sensitive: Sensitive;
  /** Names the other side in errors, as text for users. */
  counterpart: string;
}

/**
 * Makes one call of any kind. Throws a `Fault` without secrets in its text, and the signal's reason when the
 * call is cancelled.
 */
export async function guarded<T>(
  { signal, timeoutMs, sensitive, counterpart }: Guarded,
  run: (guard: CallGuard) => Promise<T>,
): Promise<{ result: T; durationMs: number }> {
  signal.throwIfAborted();
  const startedAt = performance.now();
  const elapsedMs = (): number => Math.round(performance.now() - startedAt);
  const deadline = AbortSignal.timeout(Math.round(timeoutMs));
  try {
    const result = await run({
      sensitive,
      signal: AbortSignal.any([signal, deadline]),
      leftMs: () => Math.max(1, timeoutMs - elapsedMs()),
    });
    return { result, durationMs: elapsedMs() };
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    if (deadline.aborted && !(error instanceof Fault))
      throw fault('timeout', `${counterpart} did not answer within ${timeoutMs} ms`, { cause: error });
    throw withoutSecrets(error, sensitive);
  }
}

/** Makes one call that a definition describes, as `guarded`. */
export async function guardedCall(
  call: HttpCall,
  counterpart: string,
  run: (guard: CallGuard) => Promise<unknown>,
): Promise<HttpResult> {
  const sensitive = createSensitive();
  for (const value of call.sensitive ?? []) sensitive.protect(value, '<SECRET>');
  const { signal, timeoutMs } = call;
  try {
    const { result, durationMs } = await guarded({ signal, timeoutMs, sensitive, counterpart }, run);
    return { output: sensitive.clean(result), usage: { requests: 1, duration_ms: durationMs } };
  } catch (error) {
    throw signal.aborted ? error : shortened(error);
  }
}

function shortened(error: unknown): unknown {
  if (!(error instanceof Fault) || (error.error.detail?.length ?? 0) <= MAX_DETAIL_LENGTH) return error;
  return new Fault({ ...error.error, detail: `${error.error.detail?.slice(0, MAX_DETAIL_LENGTH)}…` });
}
