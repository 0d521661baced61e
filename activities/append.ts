/** Appends an activity's batch to the run's log, in the same transaction as the activity's own change. */
import { ApplicationFailure } from '@temporalio/common';
import type { EntityManager } from '../db/orm.ts';
import { FAILURE, type Appended, type WithBatch } from '../contracts/activities.ts';
import { deliverSignals } from '../domain/runs/dispatch.ts';
import { endTreeOverLimits } from '../domain/runs/end-tree.ts';
import { isTerminal, type EventBatch } from '../contracts/run-events.ts';
import { appendEvents, lockRun } from '../domain/runs/events.ts';
import type { ActivityDeps } from './deps.ts';

/** What an append needs. */
type AppendDeps = Pick<ActivityDeps, 'orm' | 'temporal' | 'logger' | 'limits'>;

/** Appends, then calls `change` in the same transaction. Does nothing if the run has ended. */
export async function appendAnd(
  deps: AppendDeps,
  input: WithBatch,
  change: (em: EntityManager) => Promise<unknown> = async () => {},
): Promise<Appended> {
  const { answer: _answer, ...appended } = await appendWith(deps, input, change);
  return appended;
}

/** The same with the answer of `change`: null if the run has ended. */
export async function appendWith<T>(
  deps: AppendDeps,
  { run_id, batch }: WithBatch,
  change: (em: EntityManager) => Promise<T>,
): Promise<Appended & { answer: T | null }> {
  const { closed, signals, tree, behind, answer } = await deps.orm.em.fork().transactional(async (em) => {
    const result = await appendEvents(em, run_id, batch);
    return { ...result, answer: result.closed ? null : await change(em) };
  });
  await deliverSignals(deps, signals);
  await endTreeOverLimits(deps, tree);
  return { closed, answer, ...(behind === null || behind === undefined ? {} : { behind }) };
}

/**
 * Like `appendAnd`, but makes the change first, for changes that the batch's projection mentions. The change
 * answers with the batch to append. `complete` follows the batch, for what depends on its events.
 */
export async function changeAndAppend(
  deps: AppendDeps,
  { run_id, batch }: WithBatch,
  change: (em: EntityManager) => Promise<EventBatch>,
  complete: (em: EntityManager) => Promise<unknown>,
): Promise<Appended> {
  const { closed, signals, tree } = await deps.orm.em.fork().transactional(async (em) => {
    const run = await lockRun(em, run_id);
    const known = run && !isTerminal(run.status) ? await change(em) : batch;
    const result = await appendEvents(em, run_id, known);
    if (!result.closed) await complete(em);
    return result;
  });
  await deliverSignals(deps, signals);
  await endTreeOverLimits(deps, tree);
  return { closed };
}

/** Like `appendAnd`, for activities that must not continue if the run has ended. */
export async function appendOrStop(
  deps: AppendDeps,
  input: WithBatch,
  change?: (em: EntityManager) => Promise<unknown>,
): Promise<void> {
  const { closed } = await appendAnd(deps, input, change);
  if (closed) throw ApplicationFailure.nonRetryable('The run is over', FAILURE.closed);
}
