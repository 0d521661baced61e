/** The 409 responses of human tasks. Each gives the reason, and the accepted decision if there is one. */
import type { EntityManager } from '../../db/orm.ts';
import { AppError } from '../errors.ts';
import { findDecisions, type HumanTask } from './human-task.ts';
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

/** `keepsChanges`: the request expired the task, which is kept although the request is refused. */
export async function refused(
  em: EntityManager,
  task: HumanTask,
  reason: Refusal,
  keepsChanges = false,
): Promise<AppError> {
  const decision = reason === 'already_decided' ? await namedDecision(em, task.id) : null;
  return new AppError('conflict', reason, DETAIL[reason], {
    extra: { decision, ...(reason === 'claimed_by_another' ? { claimed_by: task.claimed_by } : {}) },
    keepsChanges,
  });
}

/** With the name of who decided, as in the task's record. */
async function namedDecision(em: EntityManager, taskId: string): Promise<object | null> {
  const decision = (await findDecisions(em, [taskId])).get(taskId);
  if (!decision) return null;
  const [person] = await em.execute<{ name: string }[]>(
    'select coalesce(display_name, username) as name from user_account where id = ?',
    [decision.decided_by],
  );
  return { ...decision, decided_by_name: person?.name ?? null };
}
