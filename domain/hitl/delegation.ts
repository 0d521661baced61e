/** Determines whose vote a delegation gives away. */
import { isAdmin, type Actor } from '../auth/actor.ts';
import type { HumanTask } from './human-task.ts';
import { claimantOf, isAssignee, isCandidate, isNamed } from './policy.ts';
import { ownWords } from './principals.ts';

/** The person whose vote is delegated. */
export interface Giver {
  /** The principals (see principals.ts) that mean this person alone; the first one is stored. */
  words: readonly [string, ...string[]];
  /** Empty for a name without a user. */
  id: string;
  /** An admin delegates on the person's behalf. */
  asAdmin: boolean;
}

/** Null if another person is the assignee, who alone may delegate. */
export function giverOf(actor: Actor, task: HumanTask): Giver | null {
  const { assignee_key } = task;
  const claimed_by = claimantOf(task);
  if (claimed_by !== null)
    return { words: [`id:${claimed_by}`], id: claimed_by, asAdmin: claimed_by !== actor.id };
  const self: Giver = { words: ownWords(actor), id: actor.id, asAdmin: !isCandidate(actor, task) };
  if (task.quorum !== null && isCandidate(actor, task)) return self;
  if (assignee_key === null || isAssignee(actor, task)) return self;
  if (!isAdmin(actor)) return null;
  return {
    words: [assignee_key],
    id: assignee_key.startsWith('id:') ? assignee_key.slice('id:'.length) : '',
    asAdmin: true,
  };
}

/** Whoever gives a vote without being named has it by a role, group or team; an admin perhaps by none. */
export function cameBy(task: HumanTask, giver: Giver, as: Actor): HumanTask['delegates'] {
  if (giver.id === '' || (giver.id === as.id && !isCandidate(as, task))) return {};
  const username = giver.id === as.id ? as.username : null;
  return isNamed({ id: giver.id, username }, task) ? {} : { [giver.id]: 'candidate' };
}

/** How the receiver of a vote has it: see `delegates`. */
export function receivedBy(task: HumanTask, recipient: Actor): HumanTask['delegates'] {
  if (isNamed(recipient, task)) return {};
  if (isCandidate(recipient, task)) return { [recipient.id]: 'candidate' };
  return { [recipient.id]: 'free' };
}
