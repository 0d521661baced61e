/** A task list in sequence: dsl.md "Task Flow", dsl-reference.md "Flow Directive". */
import type { TaskItem } from '../../contracts/definition/model.ts';
import type { Env, Execution } from './execution.ts';
import { fault } from './fault.ts';
import { pointer } from './pointer.ts';
import { runTask } from './run-task.ts';
import type { ListFrame } from './state.ts';

export interface ListResult {
  output: unknown;
  /** `end` was asked for somewhere inside: the whole workflow ends. */
  end: boolean;
}

export function listFrame(data: unknown): ListFrame {
  return { index: 0, data };
}

/** `exit` leaves this list; `end` is passed on; a name goes on with that task of this list. */
export async function runList(x: Execution, items: TaskItem[], base: string, list: ListFrame, env: Env): Promise<ListResult> {
  while (list.index < items.length) {
    const [name, task] = entry(items, list.index);
    const ref = pointer(base, list.index, name);
    const gate = x.gate();
    if (gate) await gate;
    list.child ??= { raw: list.data };
    const { output, then } = await runTask(x, name, ref, task, list.child, env);
    list.data = output;
    delete list.child;
    if (then === 'end') return { output, end: true };
    if (then === 'exit') break;
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
  if (index < 0) throw fault('configuration', `There is no task ${JSON.stringify(name)} to go on with in this scope`, ref);
  return index;
}
