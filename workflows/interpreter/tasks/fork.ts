import { CancellationScope, isCancellation } from '@temporalio/workflow';
import type { ForkTask } from '../../../contracts/definition/model.ts';
import type { Execution, Outcome, Task } from '../execution.ts';
import { DslFault } from '../fault.ts';
import { pointer } from '../pointer.ts';
import { entry } from '../run-list.ts';
import { runTask } from '../run-task.ts';
import { bounded } from '../size.ts';
import type { Branch } from '../state.ts';

/**
 * dsl-reference.md "Fork". Each branch has a `$context` of its own; at the join what they changed is put together in
 * declaration order, key by key. A fault cancels the rest; of competing branches the first that completes wins.
 */
export async function runFork(x: Execution, definition: ForkTask, task: Task, input: unknown): Promise<Outcome> {
  const { branches: items, compete = false } = definition.fork;
  const { scope } = task.env;
  const fork = (task.frame.fork ??= {
    base: scope.context,
    branches: items.map(() => ({ scope: { context: scope.context }, frame: { raw: input } })),
  });
  const open = fork.branches.filter((branch) => !branch.done).length;
  x.strands(open - 1);
  try {
    await runBranches(x, definition, task, fork.branches, compete);
  } finally {
    x.strands(1);
  }
  const ended = fork.branches.find((branch) => branch.done?.end);
  const winner = ended ?? (compete ? fork.branches.find((branch) => branch.done) : undefined);
  for (const branch of winner ? [winner] : fork.branches) {
    scope.context = bounded(merge(fork.base, scope.context, branch.scope.context), 'the context', task.ref);
  }
  if (winner?.done) return { output: winner.done.output, ...(winner.done.end ? { then: 'end' } : {}) };
  return { output: fork.branches.map((branch) => branch.done?.output ?? null) };
}

/** Settles when all branches have: cancelled ones first close their human tasks. Throws the first fault. */
async function runBranches(x: Execution, definition: ForkTask, task: Task, branches: Branch[], compete: boolean): Promise<void> {
  const scopes = branches.map(() => new CancellationScope());
  let failure: unknown;
  let failed = 0;
  const cancelOthers = (than: number): void => scopes.forEach((scope, i) => i !== than && !branches[i]?.done && scope.cancel());
  // Other branches may not win once one has; what they then still complete does not count.
  let won = branches.some((branch) => branch.done && (compete || branch.done.end));
  const work = branches.map(async (branch, i) => {
    if (branch.done) return;
    const [name, item] = entry(definition.fork.branches, i);
    const ref = pointer(task.ref, 'fork', 'branches', i, name);
    try {
      await scopes[i]?.run(async () => {
        const gate = x.gate();
        if (gate) await gate;
        const { output, then } = await runTask(x, name, ref, item, branch.frame, { ...task.env, scope: branch.scope });
        if (won) return;
        branch.done = { output, end: then === 'end' };
        branch.frame = { raw: null };
        if (compete || then === 'end') {
          won = true;
          cancelOthers(i);
        }
      });
    } catch (error) {
      if (won && isCancellation(error)) return;
      failed++;
      const real = !isCancellation(error);
      if (failure === undefined || (real && isCancellation(failure))) failure = error;
      if (real && !(compete && error instanceof DslFault)) cancelOthers(i);
    } finally {
      x.strands(-1);
    }
  });
  if (won) cancelOthers(-1);
  await Promise.all(work);
  if (won || failed === 0) return;
  if (!compete || failed === branches.filter((branch) => !branch.done).length) throw failure;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Takes over what the branch changed of `base`; other keys stay as earlier branches left them. */
function merge(base: unknown, current: unknown, branch: unknown): unknown {
  if (branch === base) return current;
  if (!isObject(base) || !isObject(current) || !isObject(branch)) return branch;
  const merged = { ...current };
  for (const [key, value] of Object.entries(branch)) if (value !== base[key]) merged[key] = value;
  for (const key of Object.keys(base)) if (!Object.hasOwn(branch, key)) delete merged[key];
  return merged;
}
