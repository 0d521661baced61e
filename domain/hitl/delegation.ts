/** Determines whose vote a delegation gives away. */
import { isAdmin, type Actor } from '../auth/actor.ts';
import type { HumanTask } from './human-task.ts';
import { isAssignee, isCandidate } from './policy.ts';
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
  const { claimed_by, assignee_key } = task;
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
