import { FUNCTION_FACTS, resolveCallee } from '../../language/definition/call-function.ts';
import type { Definition, Task as TaskDefinition } from '../../language/definition/model.ts';
import { taskKindOf } from '../../language/definition/task-kind.ts';

/** The kind as shown to people: `call: agent` is `agent`; a call of a custom function is `call`. */
export function taskType(task: TaskDefinition, { use }: Definition): string {
  const kind = taskKindOf(task) ?? 'unknown';
  if (!('call' in task)) return kind;
  const callee = resolveCallee(task.call, use?.functions);
  return callee?.kind === 'builtin' ? FUNCTION_FACTS[callee.name].taskType : kind;
}
