import type { RunTask } from '../../../language/definition/model.ts';
import { resolve, type At } from '../data-flow.ts';
import type { Execution, Outcome, Task } from '../execution.ts';
import { fault } from '../fault.ts';
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
  const reference = {
    namespace: nameOf(workflow.namespace, input, at),
    name: nameOf(workflow.name, input, at),
    version: nameOf(workflow.version, input, at),
  };
  const childInput = workflow.input === undefined ? input : resolve(workflow.input, input, at);
  if (definition.run.await === false) {
    const id = await startChild(execution, task, reference, childInput);
    return { output: input, data: { child_run_id: id } };
  }
  const outcome = await runChild(execution, task, reference, childInput);
  return definition.run.return === 'none' ? { ...outcome, output: null } : outcome;
}

function nameOf(text: string, input: unknown, at: At): string {
  const value = resolve(text, input, at);
  if (typeof value !== 'string')
    throw fault('expression', 'The expression of the workflow to run must give a text', at.ref);
  return value;
}
