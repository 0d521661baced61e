/**
 * What every call of a counterpart shares (architecture §3): the batch first, then the claim of its idempotency key, the
 * call with heartbeats, its result on record. A repeat after a lost worker finds the result, or the claim.
 */
import { CancelledFailure, Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import type { EntityManager } from '@mikro-orm/postgresql';
import { v7 as uuidv7 } from 'uuid';
import { FAILURE } from '../contracts/activities.ts';
import type { InvocationRef, Invoked, WithBatch } from '../contracts/activities.ts';
import type { DslError } from '../contracts/dsl-error.ts';
import { Fault, fault } from '../contracts/fault.ts';
import { appendOrStop } from './append.ts';
import type { ActivityDeps } from './deps.ts';

const HEARTBEAT_MS = 4_000;

export interface Calling {
  idempotencyKey: string;
  signal: AbortSignal;
  heartbeat(details?: unknown): void;
}

export interface Invocation {
  /** Rights, pins, state: in the transaction of the batch and the claim. */
  prepare?(em: EntityManager): Promise<void>;
  /** False: a call whose outcome is not known is not repeated. */
  idempotent(): boolean;
  call(calling: Calling): Promise<Invoked>;
}

interface Claim {
  claimed_before: boolean;
  result: Invoked | null;
  error: DslError | null;
}

/** The same in every Temporal attempt; another in each visit and DSL attempt. */
export function invocationKey(runId: string, ref: InvocationRef): string {
  return `${runId}:${ref.task}:${ref.visit}:${ref.attempt}`;
}

export async function invokeOnce(deps: ActivityDeps, input: WithBatch & InvocationRef, invocation: Invocation): Promise<Invoked> {
  const key = invocationKey(input.run_id, input);
  let claim: Claim = { claimed_before: false, result: null, error: null };
  const context = Context.current();
  const timer = setInterval(() => context.heartbeat(), HEARTBEAT_MS);
  try {
    await appendOrStop(deps, input, async (em) => {
      claim = await claimKey(em, input.run_id, key);
      if (claim.result || claim.error) return;
      try {
        await invocation.prepare?.(em);
      } catch (error) {
        // The batch is written all the same: workflow code takes a fault for a sign of that.
        if (!(error instanceof Fault)) throw error;
        claim.error = error.error;
      }
    });
    if (claim.result) return claim.result;
    if (claim.error) throw new Fault(claim.error);
    if (claim.claimed_before && !invocation.idempotent()) {
      throw fault('communication', 'The outcome of an earlier call is unknown, and the agent is not idempotent (configuration.retry.idempotent is false)');
    }
    const result = await invocation.call({
      idempotencyKey: key,
      signal: context.cancellationSignal,
      heartbeat: (details) => context.heartbeat(details),
    });
    await finish(deps, input.run_id, key, result);
    return result;
  } catch (error) {
    if (context.cancellationSignal.aborted) {
      // Another worker takes it up; nobody asked for its end.
      if (context.cancellationDetails?.workerShutdown) throw ApplicationFailure.retryable('The worker is shutting down', 'WorkerShutdown');
      throw new CancelledFailure('The invocation was cancelled');
    }
    if (!(error instanceof Fault)) throw error;
    await deps.orm.em.fork().execute(`update invocation set finished_at = clock_timestamp(), error = ?::json where run_id = ? and key = ?`, [
      JSON.stringify(error.error),
      input.run_id,
      key,
    ]);
    throw ApplicationFailure.create({ type: FAILURE.fault, message: error.message, nonRetryable: true, details: [error.error] });
  } finally {
    clearInterval(timer);
  }
}

async function claimKey(em: EntityManager, runId: string, key: string): Promise<Claim> {
  const inserted = await em.execute(`insert into invocation (run_id, key) values (?, ?) on conflict do nothing returning key`, [runId, key]);
  if (inserted.length > 0) return { claimed_before: false, result: null, error: null };
  const [row] = await em.execute<{ result: Invoked | null; error: DslError | null }[]>(
    `select result, error from invocation where run_id = ? and key = ?`,
    [runId, key],
  );
  return { claimed_before: true, result: row?.result ?? null, error: row?.error ?? null };
}

async function finish(deps: ActivityDeps, runId: string, key: string, result: Invoked): Promise<void> {
  const { agent_id = null, agent_version = null, usage } = result;
  await deps.orm.em.fork().transactional(async (em) => {
    const updated = await em.execute<{ key: string }[]>(
      `update invocation set finished_at = clock_timestamp(), result = ?::json, agent_id = ?, agent_version = ?
        where run_id = ? and key = ? and finished_at is null returning key`,
      [JSON.stringify(result), agent_id, agent_version, runId, key],
    );
    if (updated.length === 0 || usage === undefined) return;
    await em.execute(
      `insert into usage_record (id, run_id, user_id, agent_id, agent_version, usage)
       select ?, r.id, r.owner_id, ?, ?, ?::jsonb from run r where r.id = ?`,
      [uuidv7(), agent_id, agent_version, JSON.stringify(usage), runId],
    );
  });
}
