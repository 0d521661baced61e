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

/**
 * Makes one call. `counterpart` names it in errors, as text for users. Throws a `Fault` without secrets in
 * its text, and the signal's reason when the call is cancelled.
 */
export async function guardedCall(
  call: HttpCall,
  counterpart: string,
  run: (guard: CallGuard) => Promise<unknown>,
): Promise<HttpResult> {
  call.signal.throwIfAborted();
  const startedAt = performance.now();
  const elapsedMs = (): number => Math.round(performance.now() - startedAt);
  const deadline = AbortSignal.timeout(call.timeoutMs);
  const sensitive = createSensitive();
  for (const value of call.sensitive ?? []) sensitive.protect(value, '<SECRET>');
  try {
    const output = await run({
      sensitive,
      signal: AbortSignal.any([call.signal, deadline]),
      leftMs: () => Math.max(1, call.timeoutMs - elapsedMs()),
    });
    return { output: sensitive.clean(output), usage: { requests: 1, duration_ms: elapsedMs() } };
  } catch (error) {
    if (call.signal.aborted) throw call.signal.reason;
    if (deadline.aborted && !(error instanceof Fault))
      throw fault('timeout', `${counterpart} did not answer within ${call.timeoutMs} ms`, { cause: error });
    throw shortened(withoutSecrets(error, sensitive));
  }
}

function shortened(error: unknown): unknown {
  if (!(error instanceof Fault) || (error.error.detail?.length ?? 0) <= MAX_DETAIL_LENGTH) return error;
  return new Fault({ ...error.error, detail: `${error.error.detail?.slice(0, MAX_DETAIL_LENGTH)}…` });
}
