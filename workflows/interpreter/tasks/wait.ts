import { sleep } from '@temporalio/workflow';
import type { WaitTask } from '../../../language/definition/model.ts';
import type { At } from '../data-flow.ts';
import type { Execution, Outcome, Task } from '../execution.ts';
import { toMs } from '../run-task.ts';

/** dsl-reference.md "Wait". The deadline is absolute, so it survives continue-as-new. */
export async function runWait(
  execution: Execution,
  definition: WaitTask,
  task: Task,
  input: unknown,
  at: At,
): Promise<Outcome> {
  task.frame.until ??= Date.now() + toMs(definition.wait, at, input);
  await sleepUntil(execution, task, task.frame.until);
  return { output: input };
}

/** Sleeps, and lists the timer in `waiting_on`. */
export async function sleepUntil(execution: Execution, task: Task, until: number): Promise<void> {
  const left = until - Date.now();
  if (left <= 0) return;
  await execution.waiting(
    task,
    [{ kind: 'timer', task: task.ref, until: new Date(until).toISOString() }],
    () => sleep(left, { summary: `${task.name}: wait` }),
  );
  execution.recorded(task);
}
