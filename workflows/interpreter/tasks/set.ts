import type { SetTask } from '../../../contracts/definition/model.ts';
import { evaluate, resolve } from '../data-flow.ts';
import type { At } from '../data-flow.ts';
import type { Outcome } from '../execution.ts';

/** dsl-reference.md "Set": the data replaces the task's output, it is not merged. */
export function runSet(definition: SetTask, input: unknown, at: At): Outcome {
  const { set } = definition;
  return { output: typeof set === 'string' ? evaluate(set, input, at) : resolve(set, input, at) };
}
