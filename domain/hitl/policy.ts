/** Who sees a human task, and who may decide it (interface-decisions §2, §6). Deny by default. */
import { hasRole, isAdmin } from '../auth/actor.ts';
import type { Actor } from '../auth/actor.ts';
import { forbidden, notFound } from '../errors.ts';
import type { HumanTask } from './human-task.ts';
import { principalsOf } from './principals.ts';

/** Assignee and candidates: those whom "my tasks" lists it for. */
export function isCandidate(actor: Actor, task: Pick<HumanTask, 'principals'>): boolean {
  const own = new Set(principalsOf(actor));
  return task.principals.some((principal) => own.has(principal));
}

export function isAssignee(actor: Actor, task: Pick<HumanTask, 'assignee_key'>): boolean {
  return task.assignee_key !== null && principalsOf(actor).includes(task.assignee_key);
}

/** Besides candidates and assignee: who holds it, the run's owner, admins. */
export function maySee(actor: Actor, task: HumanTask): boolean {
  return isCandidate(actor, task) || task.claimed_by === actor.id || task.owner_id === actor.id || isAdmin(actor);
}

/** The initiator, where the quorum excludes them: even as an admin. */
export function isExcluded(userId: string, task: Pick<HumanTask, 'quorum' | 'initiator_id'>): boolean {
  return task.quorum?.exclude_initiator === true && task.initiator_id === userId;
}

/** Throws 404 for what the caller may not see. */
export function checkSees(actor: Actor, task: HumanTask | null): asserts task is HumanTask {
  if (task === null || !maySee(actor, task)) throw notFound('human task');
}

/**
 * Throws 403 for who may not decide it. Claiming, releasing and delegating need the same right.
 * @returns whether they act as an admin only.
 */
export function checkMayAct(actor: Actor, task: HumanTask): { asAdmin: boolean } {
  if (!hasRole(actor, 'approver')) throw forbidden('Deciding needs the role approver.');
  if (isExcluded(actor.id, task)) throw forbidden('Whoever started the run may not decide this task.', 'initiator_excluded');
  const candidate = isCandidate(actor, task) || task.claimed_by === actor.id;
  if (!candidate && !isAdmin(actor)) throw forbidden('You are not a candidate of this task.', 'not_a_candidate');
  return { asAdmin: !candidate };
}
