/** The methods that read, follow or cancel tasks. */
import { Task, type CancelTaskRequest, type GetTaskRequest, type SubscribeToTaskRequest } from '@a2a-js/sdk';
import { UnsupportedOperationError } from '@a2a-js/sdk/errors';
import { isTerminalState } from '../../../contracts/a2a/objects.ts';
import type { TaskRow } from '../../../domain/a2a/task-row.ts';
import { writeAudit } from '../../../domain/audit/write.ts';
import type { Actor } from '../../../domain/auth/actor.ts';
import { AppError } from '../../../domain/errors.ts';
import { deliverCommands } from '../../../domain/runs/dispatch.ts';
import { commandRun } from '../../../domain/runs/service.ts';
import { inTransaction } from '../../transaction.ts';
import { changing, resumePosition, type A2ACall } from '../call.ts';
import { followTask, readTask, readTaskRow, showTask } from '../task-reader.ts';
import { afterCommit } from './after-commit.ts';
import { historyLengthOf, invalidField, taskIdOf } from './fields.ts';
import { requireStreaming } from './send.ts';
import { streamItems, type EventStream } from './stream-items.ts';

/**
 * Cancel waits this long for the run to end. After that it returns the task as it is, while the cancellation
 * continues.
 */
const CANCEL_WAIT_MS = 8_000;

export async function getTask(call: A2ACall, { id, historyLength }: GetTaskRequest): Promise<Task> {
  const options = { historyLength: historyLengthOf(historyLength) };
  return Task.fromJSON(await readTask(call, taskIdOf(id), options));
}

export async function* resubscribe(call: A2ACall, { id }: SubscribeToTaskRequest): EventStream {
  requireStreaming(call);
  const from = resumePosition(call);
  const row = await readTaskRow(call, taskIdOf(id));
  const missedNothing =
    from === null || from.seq > row.last_seq || (from.seq === row.last_seq && from.part === null);
  if (isTerminalState(row.state) && missedNothing)
    throw new UnsupportedOperationError('The task has ended: use GetTask instead.');
  if (from !== null && from.seq > row.last_seq)
    throw invalidField('/Last-Event-ID', 'Last-Event-ID must be the id of an event of this stream');
  if (from === null) {
    const task = await showTask(call, row);
    yield* streamItems(call, [{ id: String(row.last_seq), update: { task } }]);
  }
  const after = from ?? { seq: row.last_seq, part: null };
  yield* streamItems(call, followTask(call, { taskId: row.id, after, stopAtInterruption: false }));
}

export async function cancelTask(call: A2ACall, { id }: CancelTaskRequest): Promise<Task> {
  const row = await readTaskRow(call, taskIdOf(id));
  const actor = changing(call);
  if (isTerminalState(row.state)) throw notCancelable();
  const commanded = await requestCancel(call, actor, row.id);
  await afterCommit(call, () => deliverCommands(call.deps, [commanded]));
  const ended = await untilEnded(call, row.id);
  if (isTerminalState(ended.state) && ended.state !== 'TASK_STATE_CANCELED') throw notCancelable();
  return Task.fromJSON(await showTask(call, ended));
}

async function requestCancel(
  { deps, origin }: A2ACall,
  actor: Actor,
  id: string,
): ReturnType<typeof commandRun> {
  try {
    return await inTransaction(
      () => deps.orm.em.fork(),
      async (em) => {
        await writeAudit(em, origin, { action: 'cancelRun', objectType: 'run', objectId: id });
        return commandRun(em, actor, id, 'cancel');
      },
    );
  } catch (error) {
    throw error instanceof AppError && error.code === 'run_finished' ? notCancelable() : error;
  }
}

async function untilEnded(call: A2ACall, id: string): Promise<TaskRow> {
  const until = performance.now() + CANCEL_WAIT_MS;
  const watch = call.deps.runEvents.watch(id);
  try {
    for (;;) {
      const row = await readTaskRow(call, id);
      const leftMs = until - performance.now();
      if (isTerminalState(row.state) || leftMs <= 0 || call.signal.aborted) return row;
      await watch.next(leftMs);
    }
  } finally {
    watch.close();
  }
}

function notCancelable(): AppError {
  return new AppError('conflict', 'task_not_cancelable', 'The task has ended, so it cannot be cancelled.');
}
