/** `invocation`: what was asked of a counterpart under which idempotency key, and what came of it. */
import type { EntityManager } from '@mikro-orm/postgresql';
import type { InvocationRef, Invoked } from '../../contracts/activities.ts';
import type { DslError } from '../../contracts/dsl-error.ts';
import type { EventBatch } from '../../contracts/run-events.ts';
import type { PinnedAgent } from '../ports.ts';
import { storable } from '../storable.ts';
import { appendArguments } from './events.ts';

export interface Begun {
  closed: boolean;
  signals: string[];
  /** Somebody began it before: a repeat after a lost worker. */
  claimed_before: boolean;
  result: Invoked | null;
  error: DslError | null;
  /** The pinned agent, and its status now, `invisible` to whose rights count; null where the pin is not there yet. */
  snapshot: PinnedAgent | null;
  agent_status: string | null;
}

/** Appends the batch, claims the key, reads the pin: one statement (db/migrations/0009). */
export async function beginInvocation(
  em: EntityManager,
  runId: string,
  batch: EventBatch,
  invocation: InvocationRef & { key: string; pin: string | null },
): Promise<Begun> {
  const { sql, values, signal } = appendArguments(runId, batch);
  const [row] = await em.execute<{ result: Omit<Begun, 'signals'> & { signalled?: boolean } }[]>(
    `select begin_invocation(${sql}, ?::text, ?::text, ?::text, ?::int) as result`,
    [...values, invocation.key, invocation.pin, invocation.task, invocation.visit],
  );
  if (!row || row.result.closed) {
    return { closed: true, signals: [], claimed_before: false, result: null, error: null, snapshot: null, agent_status: null };
  }
  return { ...row.result, signals: row.result.signalled ? [signal] : [] };
}

/** What an attempt before has left for its repeat; null if nothing. */
export async function progressOf(em: EntityManager, runId: string, key: string): Promise<unknown> {
  const [row] = await em.execute<{ progress: unknown }[]>(`select progress from invocation where run_id = ? and key = ?`, [runId, key]);
  return row?.progress ?? null;
}

export async function keepProgress(em: EntityManager, runId: string, key: string, progress: Record<string, unknown>): Promise<void> {
  await em.execute(`update invocation set progress = ?::json where run_id = ? and key = ?`, [JSON.stringify(storable(progress)), runId, key]);
}

/** Whether nobody waits for a call of the run any more. */
export async function isOver(em: EntityManager, runId: string): Promise<boolean> {
  const rows = await em.execute(`select from run where id = ? and status in ('cancelled', 'faulted', 'completed')`, [runId]);
  return rows.length > 0;
}

/**
 * Keeps the result, for a repeat after a lost worker. `durable: false` where a repeat may call again: the commit does not wait
 * for the disk, which every step would pay for.
 */
export async function finishInvocation(em: EntityManager, runId: string, key: string, result: Invoked, { durable }: { durable: boolean }): Promise<void> {
  const { agent_id = null, agent_version = null } = result;
  await em.execute(
    `update invocation set finished_at = clock_timestamp(), result = ?::json, agent_id = ?, agent_version = ?
       from (select ${durable ? 'true' : `set_config('synchronous_commit', 'off', true) is not null`}) as commits (so)
      where commits.so and run_id = ? and key = ? and finished_at is null`,
    [JSON.stringify(storable(result)), agent_id, agent_version, runId, key],
  );
}

export async function failInvocation(em: EntityManager, runId: string, key: string, error: DslError): Promise<void> {
  await em.execute(`update invocation set finished_at = clock_timestamp(), error = ?::json where run_id = ? and key = ?`, [
    JSON.stringify(storable(error)),
    runId,
    key,
  ]);
}
