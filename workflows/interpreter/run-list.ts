/** Runs a task list in sequence: dsl.md "Task Flow", dsl-reference.md "Flow Directive". */
import type { TaskItem } from '../../language/definition/model.ts';
import type { Env, Execution } from './execution.ts';
import { fault } from './fault.ts';
import { pointer } from './pointer.ts';
import { runTask } from './run-task.ts';
import type { ListFrame } from './state.ts';

export interface ListResult {
  output: unknown;
  /** A task inside requested `end`, which ends the whole workflow. */
  end: boolean;
  /** A task left the list with `exit`. */
  exit?: true;
}

export function listFrame(data: unknown): ListFrame {
  return { index: 0, data };
}

/** `exit` leaves this list; `end` is passed on; a name continues with that task of this list. */
export async function runList(
  execution: Execution,
  items: TaskItem[],
  base: string,
  list: ListFrame,
  env: Env,
): Promise<ListResult> {
  while (list.index < items.length) {
    const [name, task] = entry(items, list.index);
    const ref = pointer(base, list.index, name);
    list.child ??= { raw: list.data };
    const { output, then } = await runTask(execution, name, ref, task, list.child, env);
    list.data = output;
    delete list.child;
    if (then === 'end') return { output, end: true };
    if (then === 'exit') return { output, end: false, exit: true };
    list.index = then === 'continue' ? list.index + 1 : indexOf(items, then, ref);
  }
  return { output: list.data, end: false };
}

export function entry(items: TaskItem[], index: number): [string, TaskItem[string]] {
  const found = Object.entries(items[index] ?? {})[0];
  if (!found) throw new Error(`no task at ${index}`);
  return found;
}

function indexOf(items: TaskItem[], name: string, ref: string): number {
  const index = items.findIndex((item) => Object.hasOwn(item, name));
  if (index < 0)
    throw fault('configuration', `There is no task ${JSON.stringify(name)} to go on with in this scope`, ref);
  return index;
}
