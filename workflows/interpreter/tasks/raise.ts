import type { DslError } from '../../../contracts/dsl-error.ts';
import type { RaiseTask } from '../../../language/definition/model.ts';
import { resolve, type At } from '../data-flow.ts';
import type { Execution, Task } from '../execution.ts';
import { DslFault, fault } from '../fault.ts';

/**
 * dsl-reference.md "Raise": `type` is kept as written; `instance` is the task's pointer unless the error
 * names one.
 */
export function runRaise(
  execution: Execution,
  definition: RaiseTask,
  task: Task,
  input: unknown,
  at: At,
): never {
  const { error } = definition.raise;
  const template = typeof error === 'string' ? execution.definition.use?.errors?.[error] : error;
  if (template === undefined)
    throw fault('configuration', `The error ${JSON.stringify(error)} is not defined`, task.ref);
  const raised = resolve(template, input, at) as Partial<DslError>;
  throw new DslFault({
    type: String(raised.type),
    status: Number(raised.status),
    ...(raised.title === undefined ? {} : { title: text(raised.title) }),
    ...(raised.detail === undefined ? {} : { detail: text(raised.detail) }),
    instance: raised.instance === undefined ? task.ref : text(raised.instance),
  });
}

const text = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));
