/** Measures the calls of agents that this process makes. */
import { CancelledFailure } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { FAILURE, type Invoked } from '../contracts/activities.ts';

/** `awaited`: the outcome comes from outside, after the call. */
type CallEnd = 'completed' | 'faulted' | 'cancelled' | 'awaited';

export interface AgentCalls {
  record(agentId: string, end: CallEnd, seconds: number): void;
}

/**
 * `agentId` is null for outcomes that are known from before. Not measured are calls that Temporal repeats,
 * and what becomes a run, a process or a loop of turns, which are measured themselves.
 */
export async function measured(
  calls: AgentCalls | undefined,
  agentId: () => string | null,
  call: () => Promise<Invoked>,
): Promise<Invoked> {
  if (!calls) return call();
  const begun = performance.now();
  const ended = (end: CallEnd | null): void => {
    const id = agentId();
    if (id !== null && end !== null) calls.record(id, end, (performance.now() - begun) / 1_000);
  };
  try {
    const result = await call();
    ended(endOf(result));
    return result;
  } catch (error) {
    ended(endBy(error));
    throw error;
  }
}

function endOf({ child, process, loop, awaits }: Invoked): CallEnd | null {
  if (child ?? process ?? loop) return null;
  return awaits ? 'awaited' : 'completed';
}

function endBy(error: unknown): CallEnd | null {
  if (error instanceof CancelledFailure) return 'cancelled';
  if (!(error instanceof ApplicationFailure)) return null;
  if (error.type === FAILURE.fault) return 'faulted';
  return error.type === 'CallEnded' ? 'cancelled' : null;
}
