/** Maps each task kind to its runner; one file for each kind. */
import type { Task as TaskDefinition, TaskKind, TaskOfKind } from '../../../language/definition/model.ts';
import { taskKindOf } from '../../../language/definition/task-kind.ts';
import type { At } from '../data-flow.ts';
import type { Execution, Outcome, Task } from '../execution.ts';
import { fault } from '../fault.ts';
import { runCall } from './call.ts';
import { runDo } from './do.ts';
import { runEmit } from './emit.ts';
import { runFor } from './for.ts';
import { runFork } from './fork.ts';
import { runListen } from './listen.ts';
import { runRaise } from './raise.ts';
import { runRun } from './run.ts';
import { runSet } from './set.ts';
import { runSwitch } from './switch.ts';
import { runTry } from './try.ts';
import { runWait } from './wait.ts';

type Runner<Kind extends TaskKind> = (
  execution: Execution,
  definition: TaskOfKind[Kind],
  task: Task,
  input: unknown,
  at: At,
) => Outcome | Promise<Outcome>;

/** Null: this kind does not run yet. */
const RUNNERS: { readonly [Kind in TaskKind]: Runner<Kind> | null } = {
  call: runCall,
  do: runDo,
  emit: runEmit,
  for: runFor,
  fork: runFork,
  listen: runListen,
  raise: runRaise,
  run: runRun,
  set: (_execution, definition, _task, input, at) => runSet(definition, input, at),
  switch: (_execution, definition, _task, input, at) => runSwitch(definition, input, at),
  try: runTry,
  wait: runWait,
};

/**
 * Throws synchronously or rejects. It returns a promise only if there is something to wait for, because it is
 * on the path of every step.
 */
export function runKind(
  execution: Execution,
  definition: TaskDefinition,
  task: Task,
  input: unknown,
  at: At,
): Outcome | Promise<Outcome> {
  const kind = taskKindOf(definition);
  // The kind is told by a key of this definition, so its runner takes this definition.
  const run = kind && (RUNNERS[kind] as Runner<TaskKind> | null);
  if (!run)
    throw fault('configuration', `Tasks of kind ${kind ?? 'unknown'} are not available yet`, task.ref);
  return run(execution, definition, task, input, at);
}
