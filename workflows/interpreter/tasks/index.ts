/** Task kind → its runner; one file a kind. */
import type { Task as TaskDefinition } from '../../../contracts/definition/model.ts';
import type { At } from '../data-flow.ts';
import type { Execution, Outcome, Task } from '../execution.ts';
import { fault } from '../fault.ts';
import { taskType } from '../task-type.ts';
import { runCall } from './call.ts';
import { runDo } from './do.ts';
import { runEmit } from './emit.ts';
import { runFor } from './for.ts';
import { runFork } from './fork.ts';
import { runRaise } from './raise.ts';
import { runRun } from './run.ts';
import { runSet } from './set.ts';
import { runSwitch } from './switch.ts';
import { runTry } from './try.ts';
import { runWait } from './wait.ts';

/** Throws at once, or in what it returns; async only where there is something to wait for, like all on the path of every step. */
export function runKind(x: Execution, definition: TaskDefinition, task: Task, input: unknown, at: At): Outcome | Promise<Outcome> {
  if ('call' in definition) return runCall(x, definition, task, input, at);
  if ('emit' in definition) return runEmit(x, definition, task, input, at);
  if ('for' in definition) return runFor(x, definition, task, input, at);
  if ('do' in definition) return runDo(x, definition, task, input);
  if ('fork' in definition) return runFork(x, definition, task, input);
  if ('raise' in definition) return runRaise(x, definition, task, input, at);
  if ('run' in definition) return runRun(x, definition, task, input, at);
  if ('set' in definition) return runSet(definition, input, at);
  if ('switch' in definition) return runSwitch(definition, input, at);
  if ('try' in definition) return runTry(x, definition, task, input, at);
  if ('wait' in definition) return runWait(x, definition, task, input, at);
  throw fault('configuration', `Tasks of kind ${taskType(definition)} are not available yet`, task.ref);
}
