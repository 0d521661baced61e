/** The 409s of human tasks: each names what stands in the way, and carries the winning decision. */
import type { EntityManager } from '../../db/orm.ts';
import { AppError } from '../errors.ts';
import { findDecisions } from './human-task.ts';
import type { HumanTask } from './human-task.ts';
import type { Refusal } from './state-machine.ts';

const DETAIL: Record<Refusal, string> = {
  already_decided: 'The task has been decided already.',
  task_expired: 'The task has expired: nobody decided it in time.',
  task_cancelled: 'The task was cancelled together with what waited for it.',
  claimed_by_another: 'Somebody else has claimed the task: only they can act on it until they release it.',
  already_voted: 'You have voted on this task already.',
  quorum_not_claimable: 'Several people decide this task together: it cannot be claimed.',
  not_claimed: 'Nobody has claimed the task.',
};

/** `keepsChanges`: the task was found expired, and stays so although the request is refused. */
export async function refused(em: EntityManager, task: HumanTask, reason: Refusal, keepsChanges = false): Promise<AppError> {
  const decision = reason === 'already_decided' ? ((await findDecisions(em, [task.id])).get(task.id) ?? null) : null;
  return new AppError('conflict', reason, DETAIL[reason], {
    extra: { decision, ...(reason === 'claimed_by_another' ? { claimed_by: task.claimed_by } : {}) },
    keepsChanges,
  });
}
