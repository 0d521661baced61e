import type { SwitchTask } from '../../../language/definition/model.ts';
import { isTrue, type At } from '../data-flow.ts';
import type { Outcome } from '../execution.ts';

/** dsl-reference.md "Switch": the first matching case; the default only if none matches. */
export function runSwitch(definition: SwitchTask, input: unknown, at: At): Outcome {
  let fallback: string | undefined;
  for (const item of definition.switch) {
    for (const { when, then } of Object.values(item)) {
      if (when === undefined) fallback ??= then;
      else if (isTrue(when, input, at)) return { output: input, then };
    }
  }
  return fallback === undefined ? { output: input } : { output: input, then: fallback };
}
