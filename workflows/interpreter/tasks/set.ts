import type { SetTask } from '../../../language/definition/model.ts';
import { evaluate, resolve, type At } from '../data-flow.ts';
import type { Outcome } from '../execution.ts';

/** dsl-reference.md "Set": the data replaces the task's output and is not merged into it. */
export function runSet(definition: SetTask, input: unknown, at: At): Outcome {
  const { set } = definition;
  return { output: typeof set === 'string' ? evaluate(set, input, at) : resolve(set, input, at) };
}
