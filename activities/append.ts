/** The batch that an activity carries goes into the log first, in the transaction of the activity's own change. */
import { ApplicationFailure } from '@temporalio/common';
import type { EntityManager } from '@mikro-orm/postgresql';
import { FAILURE } from '../contracts/activities.ts';
import type { Appended, WithBatch } from '../contracts/activities.ts';
import { deliverSignals } from '../domain/runs/dispatch.ts';
import { isTerminal } from '../contracts/run-events.ts';
import { appendEvents, lockRun } from '../domain/runs/events.ts';
import type { ActivityDeps } from './deps.ts';

/** Appends, then lets `change` act in the same transaction; nothing of it happens if the run is over. */
export async function appendAnd(
  deps: ActivityDeps,
  { run_id, batch }: WithBatch,
  change: (em: EntityManager) => Promise<unknown> = async () => {},
): Promise<Appended> {
  const { closed, signals } = await deps.orm.em.fork().transactional(async (em) => {
    const result = await appendEvents(em, run_id, batch);
    if (!result.closed) await change(em);
    return result;
  });
  await deliverSignals(deps, signals);
  return { closed };
}

/** As `appendAnd`, but the change comes first: for one that the batch's projection tells of. */
export async function changeAndAppend(deps: ActivityDeps, { run_id, batch }: WithBatch, change: (em: EntityManager) => Promise<unknown>): Promise<Appended> {
  const { closed, signals } = await deps.orm.em.fork().transactional(async (em) => {
    const run = await lockRun(em, run_id);
    if (run && !isTerminal(run.status)) await change(em);
    return appendEvents(em, run_id, batch);
  });
  await deliverSignals(deps, signals);
  return { closed };
}

/** As `appendAnd`, for activities that must not go on when the run is over. */
export async function appendOrStop(deps: ActivityDeps, input: WithBatch, change?: (em: EntityManager) => Promise<unknown>): Promise<void> {
  const { closed } = await appendAnd(deps, input, change);
  if (closed) throw ApplicationFailure.nonRetryable('The run is over', FAILURE.closed);
}
