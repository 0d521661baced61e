import type { DoTask } from '../../../language/definition/model.ts';
import type { Execution, Outcome, Task } from '../execution.ts';
import { pointer } from '../pointer.ts';
import { listFrame, runList, type ListResult } from '../run-list.ts';

/** dsl-reference.md "Do". */
export async function runDo(
  execution: Execution,
  definition: DoTask,
  task: Task,
  input: unknown,
): Promise<Outcome> {
  const list = (task.frame.list ??= listFrame(input));
  return outcome(await runList(execution, definition.do, pointer(task.ref, 'do'), list, task.env));
}

/** `end` inside the list takes precedence over the task's own `then`. */
function outcome(result: ListResult): Outcome {
  return result.end ? { output: result.output, then: 'end' } : { output: result.output };
}
