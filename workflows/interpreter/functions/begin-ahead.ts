/** Begins a call before its activity does, if the way to it is the same in a repetition (docs/adr/0075). */
import { proxySinks, workflowInfo } from '@temporalio/workflow';
import type { CallToBegin, RunSinks } from '../../../contracts/activities.ts';
import type { Execution, Task } from '../execution.ts';
import { sizeOf } from '../size.ts';

/** It travels to the worker besides the activity's input. */
const MAX_INPUT = 64 * 1024;

const { calls } = proxySinks<RunSinks>();

/** Call it right before the activity is scheduled. @returns the input of the activity */
export function beginningAhead<I extends { ahead_ms?: number }>(
  execution: Execution,
  task: Task,
  input: I,
  callOf: (input: I) => CallToBegin,
): I {
  if (!execution.mayBeginAhead(task) || sizeOf(input) > MAX_INPUT) return input;
  const { historyLength, unsafe } = workflowInfo();
  const begun = { ...input, ahead_ms: execution.shortCalls.taskStartedMs(historyLength) };
  // Nothing of a sink is recorded, so a branch on the replay is no other way.
  if (!unsafe.isReplaying) calls.begin(callOf(begun));
  return begun;
}
