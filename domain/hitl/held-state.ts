import type { HumanTask } from './human-task.ts';
import { claimantOf } from './policy.ts';
import type { TaskState } from './state-machine.ts';

/** A task's state without its votes: claimed by nobody if its claimant cannot decide it any more. */
export function heldState(
  task: Pick<HumanTask, 'status' | 'claimed_by' | 'lapsed' | 'quorum'>,
): Omit<TaskState, 'votes'> {
  const claimedBy = claimantOf(task);
  const status = task.status === 'claimed' && claimedBy === null ? 'open' : task.status;
  return { status, claimed_by: claimedBy, quorum: task.quorum };
}
