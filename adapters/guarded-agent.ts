/** Shared by agents that are called over protocols other than plain HTTP: secrets, time limit, redaction. */
import type { AgentCall, AgentResult } from '../domain/ports.ts';
import { timeoutOf } from './call-settings.ts';
import { guarded, type CallGuard } from './guarded-call.ts';
import { loadSensitive } from './secrets/sensitive.ts';

/** The longest delay that timers support, less what a farewell takes. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1 - 60_000;

interface GuardedAgent {
  /** Of the configuration. */
  timeout: number | string | Record<string, number> | undefined;
  /** The parts of the configuration that may name secrets. */
  stored: unknown;
  /** Texts for a model, in which the name of no secret stays as it is. */
  texts?: unknown;
}

/** Makes one call of an agent, as `guarded`. */
export async function guardedAgent(
  call: AgentCall,
  { timeout, stored, texts }: GuardedAgent,
  run: (guard: CallGuard) => Promise<AgentResult>,
): Promise<AgentResult> {
  const { signal, agent } = call;
  signal.throwIfAborted();
  const timeoutMs = Math.min(timeoutOf(timeout, call.timeoutMs), MAX_TIMEOUT_MS);
  const sensitive = await loadSensitive(stored, call.secret, texts);
  call.partial?.redactBy(sensitive);
  const limits = { signal, timeoutMs, sensitive, counterpart: agent.name };
  const { result, durationMs } = await guarded(limits, async (guard) => {
    // The assertion holds: `clean` copies and keeps the shape.
    return sensitive.clean(await run(guard)) as AgentResult;
  });
  return { ...result, usage: { requests: 1, duration_ms: durationMs, ...result.usage } };
}
