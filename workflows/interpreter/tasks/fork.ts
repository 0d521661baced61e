import { isRecord } from '../../../contracts/is-record.ts';
import { CancellationScope, isCancellation } from '@temporalio/workflow';
import type { ForkTask } from '../../../language/definition/model.ts';
import { throwIfCancelled } from '../cancellation.ts';
import type { Execution, Outcome, Task } from '../execution.ts';
import { DslFault, RunLimitFault } from '../fault.ts';
import { pointer } from '../pointer.ts';
import { entry } from '../run-list.ts';
import { runTask } from '../run-task.ts';
import { sameJson } from '../same-json.ts';
import { bounded } from '../size.ts';
import type { Branch } from '../state.ts';

/**
 * dsl-reference.md "Fork". Each branch has its own `$context`; the join merges their changes key by key, in
 * declaration order. A fault cancels the other branches; of competing branches, the first that completes
 * wins.
 */
export async function runFork(
  execution: Execution,
  definition: ForkTask,
  task: Task,
  input: unknown,
): Promise<Outcome> {
  const { branches: items, compete = false } = definition.fork;
  const { scope } = task.env;
  const fork = (task.frame.fork ??= {
    base: scope.context,
    branches: items.map(() => ({ scope: { context: scope.context }, frame: { raw: input } })),
  });
  const open = fork.branches.filter((branch) => !branch.done).length;
  if (open > 1) await execution.journal.beforeFork(task.env.strand, open);
  execution.strands(open - 1);
  try {
    await runBranches(execution, definition, task, fork.branches, compete);
  } finally {
    execution.strands(1);
  }
  const ended = fork.branches.find((branch) => branch.done?.end);
  const winner = ended ?? (compete ? fork.branches.find((branch) => branch.done) : undefined);
  for (const branch of winner ? [winner] : fork.branches) {
    scope.context = bounded(merge(fork.base, scope.context, branch.scope.context), 'the context', task.ref);
  }
  if (winner?.done) return { output: winner.done.output, ...(winner.done.end ? { then: 'end' } : {}) };
  return { output: fork.branches.map((branch) => branch.done?.output ?? null) };
}

/**
 * Settles when all branches have settled; cancelled branches close their human tasks first. Throws the first
 * fault.
 */
async function runBranches(
  execution: Execution,
  definition: ForkTask,
  task: Task,
  branches: Branch[],
  compete: boolean,
): Promise<void> {
  const scopes = branches.map(() => new CancellationScope());
  let failure: unknown;
  let failed = 0;
  const cancelOthers = (than: number): void =>
    scopes.forEach((scope, i) => i !== than && !branches[i]?.done && scope.cancel());
  // Only one branch can win; what the others still complete is ignored.
  let won = branches.some((branch) => branch.done && (compete || branch.done.end));
  const work = branches.map(async (branch, i) => {
    if (branch.done) return;
    const [name, item] = entry(definition.fork.branches, i);
    const ref = pointer(task.ref, 'fork', 'branches', i, name);
    try {
      await scopes[i]?.run(async () => {
        const { output, then } = await runTask(execution, name, ref, item, branch.frame, {
          ...task.env,
          scope: branch.scope,
          strand: task.env.strand.branch(),
        });
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
      if (real && !(compete && isHandledFault(error))) cancelOthers(i);
    } finally {
      execution.strands(-1);
    }
  });
  if (won) cancelOthers(-1);
  await Promise.all(work);
  // A cancellation of the whole fork takes precedence over a branch's earlier fault.
  throwIfCancelled();
  if (won || failed === 0) return;
  if (!compete || failed === branches.filter((branch) => !branch.done).length) throw failure;
}

/** A fault that does not end a competing fork. */
function isHandledFault(error: unknown): boolean {
  return error instanceof DslFault && !(error instanceof RunLimitFault);
}

/**
 * Applies the branch's changes to `base`; other keys stay as earlier branches left them. Values are compared,
 * because after continue-as-new what is the same is no longer the same object.
 */
function merge(base: unknown, current: unknown, branch: unknown): unknown {
  if (branch === base) return current;
  if (!isRecord(base) || !isRecord(current) || !isRecord(branch))
    return sameJson(branch, base) ? current : branch;
  const merged = { ...current };
  for (const [key, value] of Object.entries(branch)) if (!sameJson(value, base[key])) merged[key] = value;
  for (const key of Object.keys(base)) if (!Object.hasOwn(branch, key)) delete merged[key];
  return merged;
}
