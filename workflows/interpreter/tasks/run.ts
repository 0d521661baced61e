import type { RunTask } from '../../../language/definition/model.ts';
import { resolve, type At } from '../data-flow.ts';
import type { Execution, Outcome, Task } from '../execution.ts';
import { fault } from '../fault.ts';
import { runChild, startChild } from '../functions/child.ts';

/**
 * dsl-reference.md "Run": `workflow` starts a child run; with `await: false` the task's output is its input.
 */
export async function runRun(
  execution: Execution,
  definition: RunTask,
  task: Task,
  input: unknown,
  at: At,
): Promise<Outcome> {
  const { workflow } = definition.run;
  if (!workflow) throw fault('configuration', 'Only run: workflow is available yet', task.ref);
  const { namespace, name, version } = workflow;
  const reference = { namespace, name, version };
  const childInput = workflow.input === undefined ? input : resolve(workflow.input, input, at);
  if (definition.run.await === false) {
    const id = await startChild(execution, task, reference, childInput);
    return { output: input, data: { child_run_id: id } };
  }
  return runChild(execution, task, reference, childInput);
}
