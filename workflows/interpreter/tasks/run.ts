import type { RunTask } from '../../../language/definition/model.ts';
import { resolve, type At } from '../data-flow.ts';
import type { Execution, Outcome, Task } from '../execution.ts';
import { runChild, startChild } from '../functions/child.ts';
import { runProcess } from '../functions/process.ts';

/**
 * dsl-reference.md "Run": `workflow` starts a child run, the others run a process. With `await: false` the
 * task's output is its input.
 */
export async function runRun(
  execution: Execution,
  definition: RunTask,
  task: Task,
  input: unknown,
  at: At,
): Promise<Outcome> {
  const { workflow } = definition.run;
  if (!workflow) return runProcess(execution, definition.run, task, input, at);
  const { namespace, name, version } = workflow;
  const reference = { namespace, name, version };
  const childInput = workflow.input === undefined ? input : resolve(workflow.input, input, at);
  if (definition.run.await === false) {
    const id = await startChild(execution, task, reference, childInput);
    return { output: input, data: { child_run_id: id } };
  }
  return runChild(execution, task, reference, childInput);
}
