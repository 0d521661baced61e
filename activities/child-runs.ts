import { v7 as uuidv7 } from 'uuid';
import { LOG_TEXT } from '../contracts/log-texts.ts';
import { FAILURE, type CreateChildRunInput, type RunActivities } from '../contracts/activities.ts';
import type { ChildDonePayload, EventBatch } from '../contracts/run-events.ts';
import type { EntityManager } from '../db/orm.ts';
import { Fault, fault } from '../contracts/fault.ts';
import { ApplicationFailure } from '@temporalio/common';
import { AppError } from '../domain/errors.ts';
import { fileIdsIn, shareFiles } from '../domain/files/run-files.ts';
import { createChildRun, isCompleted } from '../domain/runs/children.ts';
import { deliverSignals, startRun } from '../domain/runs/dispatch.ts';
import { enqueueSignal } from '../domain/runs/signals.ts';
import { appendAnd, appendOrStop, appendWith } from './append.ts';
import type { ActivityDeps } from './deps.ts';

type ChildRunActivities = Pick<RunActivities, 'createChildRun' | 'readChildOutput' | 'cancelChildRun'>;

/**
 * Child runs are ordinary runs, started by a client; the reconciler starts those that a crash left pending.
 */
export function childRunActivities(deps: ActivityDeps): ChildRunActivities {
  return {
    async createChildRun(input) {
      if (input.retry_of !== undefined && (await isCompleted(deps.orm.em.fork(), input.retry_of))) {
        return {
          ...(await appendAnd(deps, { ...input, batch: withChild(input, input.retry_of) })),
          completed: true,
        };
      }
      const em = deps.orm.em.fork();
      if (input.adopted === true) {
        const appended = await appendAnd(deps, input);
        await startRun(deps, input.child_run_id);
        const done = await endOf(em, input);
        return { ...appended, ...(done === null ? {} : { done }) };
      }
      const before = await createdBefore(em, input);
      // The workflow takes the batch as written; the log has the creation already, and leaves it out.
      if (before !== null) return { ...(await appendAnd(deps, input)), before };
      const appended = await insertChild(deps, input);
      if (!appended.closed) await startRun(deps, input.child_run_id);
      return appended;
    },
    async readChildOutput(input) {
      await appendOrStop(deps, input);
      const em = deps.orm.em.fork();
      const [row] = await em.execute<{ output: unknown }[]>(`select output from run where id = ?`, [
        input.child_run_id,
      ]);
      const output = row?.output ?? null;
      await shareFiles(em, input.child_run_id, input.run_id, fileIdsIn(output));
      return { output };
    },
    async cancelChildRun(input) {
      const at = new Date().toISOString();
      const cancel = { kind: 'cancel', by: null, at, reason: 'cancelled by the parent run' } as const;
      const { closed, answer: id } = await appendWith(deps, input, (em) =>
        enqueueSignal(em, input.child_run_id, cancel, { id: uuidv7() }),
      );
      if (id !== null) await deliverSignals(deps, [id]);
      return { closed };
    },
  };
}

/** The child whose creation the parent's log has under the same key, if it is another one. */
async function createdBefore(
  em: EntityManager,
  { run_id, child_run_id, batch }: CreateChildRunInput,
): Promise<string | null> {
  const event = batch.events.find(({ data }) => data['child_run_id'] === child_run_id);
  const [row] = await em.execute<{ id: string }[]>(
    `select c.id from run c
      where c.id = (log_data(?::uuid, ?) ->> 'child_run_id')::uuid
        and c.parent_run_id = ?::uuid and c.id <> ?`,
    [run_id, event?.key ?? '', run_id, child_run_id],
  );
  return row?.id ?? null;
}

/** What the parent was told of the child's end; null while it lives. */
async function endOf(
  em: EntityManager,
  { run_id, child_run_id }: CreateChildRunInput,
): Promise<ChildDonePayload | null> {
  const [row] = await em.execute<{ payload: ChildDonePayload }[]>(
    `select payload from run_signal
      where run_id = ? and kind = 'child.done' and payload ->> 'child_run_id' = ? limit 1`,
    [run_id, child_run_id],
  );
  return row?.payload ?? null;
}

/** The batch with another child's id in the event of its creation. */
function withChild({ batch, child_run_id: planned }: CreateChildRunInput, child_run_id: string): EventBatch {
  const events = batch.events.map((event) =>
    event.data['child_run_id'] === planned
      ? {
          ...event,
          message: LOG_TEXT.childCreated.completedBefore(child_run_id),
          data: { ...event.data, child_run_id },
        }
      : event,
  );
  return { ...batch, events };
}

async function insertChild(deps: ActivityDeps, input: CreateChildRunInput): Promise<{ closed: boolean }> {
  try {
    return await appendAnd(deps, input, (em) => createChildRun(em, input, deps.limits));
  } catch (error) {
    const refused =
      error instanceof Fault
        ? error
        : error instanceof AppError
          ? fault(error.kind === 'too_many_requests' ? 'runtime' : 'configuration', error.detail)
          : null;
    if (!refused) throw error;
    // The rollback also undid the batch, so append it separately before reporting the fault.
    await appendOrStop(deps, {
      ...input,
      batch: {
        ...input.batch,
        events: input.batch.events.filter((event) => event.data['child_run_id'] !== input.child_run_id),
      },
    });
    throw ApplicationFailure.create({
      type: FAILURE.fault,
      message: refused.message,
      nonRetryable: true,
      details: [refused.error],
    });
  }
}
