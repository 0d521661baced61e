/** Shared by agents that are called over protocols other than plain HTTP: secrets, time limit, redaction. */
import { Fault, fault } from '../contracts/fault.ts';
import type { AgentCall, AgentResult } from '../domain/ports.ts';
import { timeoutOf, withoutSecrets } from './call-settings.ts';
import type { CallGuard } from './guarded-call.ts';
import { loadSensitive } from './secrets/sensitive.ts';

/** The longest delay that timers support, less what a farewell takes. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1 - 60_000;

interface GuardedAgent {
  /** Of the configuration. */
  timeout: number | string | Record<string, number> | undefined;
  /** The parts of the configuration that may name secrets. */
  stored: unknown;
}

/**
 * Makes one call. Throws a `Fault` without secrets in its text, and the signal's reason when the call is
 * cancelled.
 */
export async function guardedAgent(
  call: AgentCall,
  { timeout, stored }: GuardedAgent,
  run: (guard: CallGuard) => Promise<AgentResult>,
): Promise<AgentResult> {
  call.signal.throwIfAborted();
  const startedAt = performance.now();
  const elapsedMs = (): number => Math.round(performance.now() - startedAt);
  const timeoutMs = Math.min(timeoutOf(timeout, call.timeoutMs), MAX_TIMEOUT_MS);
  const sensitive = await loadSensitive(stored, call.secret);
  call.partial?.redactBy(sensitive);
  const deadline = AbortSignal.timeout(Math.round(timeoutMs));
  try {
    const result = await run({
      sensitive,
      signal: AbortSignal.any([call.signal, deadline]),
      leftMs: () => Math.max(1, timeoutMs - elapsedMs()),
    });
    // The assertion holds: `clean` copies and keeps the shape.
    const cleaned = sensitive.clean(result) as AgentResult;
    return { ...cleaned, usage: { requests: 1, duration_ms: elapsedMs(), ...cleaned.usage } };
  } catch (error) {
    if (call.signal.aborted) throw call.signal.reason;
    if (deadline.aborted && !(error instanceof Fault))
      throw fault('timeout', `${call.agent.name} did not answer within ${timeoutMs} ms`, { cause: error });
    throw withoutSecrets(error, sensitive);
  }
}
