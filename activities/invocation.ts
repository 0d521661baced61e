/**
 * What every call of a counterpart shares (architecture §3): the batch first, then the claim of its idempotency key, the
 * call with heartbeats, its result on record. A repeat after a lost worker finds the result, or the claim.
 */
import { Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { FAILURE } from '../contracts/activities.ts';
import type { InvocationRef, Invoked, WithBatch } from '../contracts/activities.ts';
import { Fault, fault } from '../contracts/fault.ts';
import type { CallProgress } from '../domain/ports.ts';
import { deliverSignals } from '../domain/runs/dispatch.ts';
import { beginInvocation, failInvocation, finishInvocation, isOver, keepProgress, progressOf } from '../domain/runs/invocations.ts';
import type { Begun } from '../domain/runs/invocations.ts';
import type { ActivityDeps } from './deps.ts';
import { failureOf, heartbeating } from './under-way.ts';

const HEARTBEAT_MS = 4_000;

export interface Calling {
  idempotencyKey: string;
  signal: AbortSignal;
  heartbeat(details?: unknown): void;
  progress: CallProgress;
  /** While `signal` is aborted: somebody asked for the end; the worker does not just stop. */
  cancelRequested(): Promise<boolean>;
}

export interface Invocation {
  /** Key of the agent's pin; null where there is none. */
  pin: string | null;
  /** What the call needs; may refuse it by a fault. */
  prepare(begun: Begun): Promise<void>;
  /** False: a call whose outcome is not known is not repeated. */
  idempotent(): boolean;
  call(calling: Calling): Promise<Invoked>;
}

/** The same in every Temporal attempt; another in each visit and DSL attempt. */
export function invocationKey(runId: string, ref: InvocationRef & { round?: number }): string {
  const key = `${runId}:${ref.task}:${ref.visit}:${ref.attempt}`;
  return ref.round === undefined ? key : `${key}:${ref.round}`;
}

export async function invokeOnce(deps: ActivityDeps, input: WithBatch & InvocationRef & { round?: number }, invocation: Invocation): Promise<Invoked> {
  const { run_id: runId, batch, task, name, visit, attempt } = input;
  const key = invocationKey(runId, input);
  const context = Context.current();
  return heartbeating(context, HEARTBEAT_MS, async () => {
    try {
      const begun = await beginInvocation(deps.orm.em.fork(), runId, batch, { task, name, visit, attempt, key, pin: invocation.pin });
      if (begun.closed) throw ApplicationFailure.nonRetryable('The run is over', FAILURE.closed);
      await deliverSignals(deps, begun.signals);
      if (begun.result) return begun.result;
      if (begun.error) throw new Fault(begun.error);
      await invocation.prepare(begun);
      const progress = begun.claimed_before ? await progressOf(deps.orm.em.fork(), runId, key) : null;
      if (begun.claimed_before && progress === null && !invocation.idempotent()) {
        throw fault('communication', 'The outcome of an earlier call is unknown, and the agent is not idempotent (configuration.retry.idempotent is false)');
      }
      const result = await invocation.call({
        idempotencyKey: key,
        signal: context.cancellationSignal,
        heartbeat: (details) => context.heartbeat(details),
        progress: { repeated: begun.claimed_before, kept: progress, keep: (value) => keepProgress(deps.orm.em.fork(), runId, key, value) },
        cancelRequested: async () => {
          const { cancelRequested, notFound } = context.cancellationDetails ?? {};
          // Temporal forgets an activity with its workflow: a run that was cancelled may have ended before this call heard of it.
          return cancelRequested === true || (notFound === true && (await isOver(deps.orm.em.fork(), runId)));
        },
      });
      const repeatable = invocation.idempotent();
      const keep = (): Promise<void> => finishInvocation(deps.orm.em.fork(), runId, key, result, { durable: !repeatable });
      // Where a repeat may call again with the same key, the kept result only spares that call: nobody waits for it, the run goes on first.
      if (repeatable) setImmediate(() => void keep().catch((error: unknown) => deps.logger.warn({ err: error, run_id: runId }, 'cannot keep the result of a call')));
      else await keep();
      return result;
    } catch (error) {
      const failure = failureOf(context, error, 'The invocation');
      if (error instanceof Fault && !context.cancellationSignal.aborted) await failInvocation(deps.orm.em.fork(), runId, key, error.error);
      throw failure;
    }
  });
}
