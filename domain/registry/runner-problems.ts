/**
 * Warnings about human tasks that nobody but an admin may be able to decide: those for the run's owner, in a
 * workflow that runners start, who need no role. Runners change without the definition, so the warnings are
 * computed at each reading.
 */
import type { Runners } from '../../contracts/runners.ts';
import { ownerTasks } from '../../language/definition/owner-tasks.ts';
import { MAX_PROBLEMS } from '../../language/definition/problems.ts';
import type { Problem } from '../../language/definition/validate.ts';

/** @param runners null: the reader may not know them */
export function runnerProblems(runners: Runners | null, definition: unknown): Problem[] {
  if (runners === null || !hasRunners(runners)) return [];
  return ownerTasks(definition)
    .slice(0, MAX_PROBLEMS)
    .map((pointer) => ({
      pointer,
      code: 'runner_cannot_decide',
      message:
        'is for whoever starts the run, and a runner without the role approver may not decide it: ' +
        'give "assignee" or "candidates"',
      severity: 'warning',
    }));
}

function hasRunners({ users = [], groups = [], everyone = false }: Runners): boolean {
  return everyone || users.length > 0 || groups.length > 0;
}
