import type { DslError } from '../../../contracts/dsl-error.ts';
import type { RaiseTask } from '../../../contracts/definition/model.ts';
import { resolve } from '../data-flow.ts';
import type { At } from '../data-flow.ts';
import type { Execution, Task } from '../execution.ts';
import { DslFault, fault } from '../fault.ts';

/** dsl-reference.md "Raise": `type` stays as written; `instance` is the task's pointer unless the error names one. */
export function runRaise(x: Execution, definition: RaiseTask, task: Task, input: unknown, at: At): never {
  const { error } = definition.raise;
  const template = typeof error === 'string' ? x.definition.use?.errors?.[error] : error;
  if (template === undefined) throw fault('configuration', `The error ${JSON.stringify(error)} is not defined`, task.ref);
  const made = resolve(template, input, at) as Partial<DslError>;
  throw new DslFault({
    type: String(made.type),
    status: Number(made.status),
    ...(made.title === undefined ? {} : { title: text(made.title) }),
    ...(made.detail === undefined ? {} : { detail: text(made.detail) }),
    instance: made.instance === undefined ? task.ref : text(made.instance),
  });
}

const text = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));
