import type { DoTask } from '../../../contracts/definition/model.ts';
import type { Execution, Outcome, Task } from '../execution.ts';
import { pointer } from '../pointer.ts';
import { listFrame, runList } from '../run-list.ts';
import type { ListResult } from '../run-list.ts';

/** dsl-reference.md "Do". */
export async function runDo(x: Execution, definition: DoTask, task: Task, input: unknown): Promise<Outcome> {
  const list = (task.frame.list ??= listFrame(input));
  return outcome(await runList(x, definition.do, pointer(task.ref, 'do'), list, task.env));
}

/** `end` inside a list wins over the task's own `then`. */
export function outcome(result: ListResult): Outcome {
  return result.end ? { output: result.output, then: 'end' } : { output: result.output };
}
