import type { Task as TaskDefinition } from '../../../language/definition/model.ts';
import { isTrue, type At } from '../data-flow.ts';
import type { Execution, Outcome, Task } from '../execution.ts';
import type { ListedExtension } from '../extensions.ts';
import { pointer } from '../pointer.ts';
import { listFrame, runList, type ListResult } from '../run-list.ts';
import type { ExtensionFrame } from '../state.ts';

/**
 * Runs a task with its extensions. `exit` in `before` replaces the work of the task by the output of `before`
 * so far; in `after` it replaces the output of the task. Otherwise the outputs of extensions are dropped.
 */
export async function runExtended(
  execution: Execution,
  { extensions, definition }: { extensions: readonly ListedExtension[]; definition: TaskDefinition },
  task: Task,
  input: unknown,
  at: At,
  work: () => Promise<Outcome>,
): Promise<Outcome> {
  const frames = (task.frame.extensions ??= extensions.map(() => ({})));
  const described = { ...definition, ...(at.variables['task'] as Record<string, unknown>) };
  const runPart = (
    part: 'before' | 'after',
    { ref, extension }: ListedExtension,
    frame: ExtensionFrame,
    given: unknown,
    more: Record<string, unknown> = {},
  ): Promise<ListResult> => {
    const list = (frame[part] ??= listFrame(given));
    const env = { ...task.env, variables: {}, extended: { ...described, ...more } };
    return runList(execution, extension[part] ?? [], pointer(ref, part), list, env);
  };
  const from = async (index: number): Promise<Outcome> => {
    const [listed, frame] = [extensions[index], frames[index]];
    if (!listed || !frame) return work();
    frame.applies ??= appliesTo(listed, input, {
      ...at,
      variables: { ...at.variables, context: task.env.scope.context, task: described },
    });
    if (!frame.applies) return from(index + 1);
    if (!frame.passed) {
      const before = await runPart('before', listed, frame, input);
      if (before.end || before.exit) return outcomeOf(before);
      frame.passed = true;
      delete frame.before;
    }
    frame.outcome ??= await from(index + 1);
    const { outcome } = frame;
    const after = await runPart('after', listed, frame, outcome.output, { output: outcome.output });
    return after.end || after.exit ? { ...outcome, ...outcomeOf(after) } : outcome;
  };
  return from(0);
}

function appliesTo({ extension: { when } }: ListedExtension, input: unknown, at: At): boolean {
  return when === undefined || isTrue(when, input, at);
}

function outcomeOf({ output, end }: ListResult): Outcome {
  return end ? { output, then: 'end' } : { output };
}
