/** Who sees a human task, and who may decide it (docs/human-tasks.md#who). Deny by default. */
import { hasRole, isAdmin, type AbsentPerson, type Actor } from '../auth/actor.ts';
import { forbidden, notFound, type AppError } from '../errors.ts';
import type { HumanTask } from './human-task.ts';
import { hasTeamRole } from '../auth/ownership.ts';
import { excludableWords, ownWords, principalsOf, teamWords } from './principals.ts';
import { isUndecided } from './state-machine.ts';

/**
 * Whether the actor is the assignee or a candidate; "my tasks" lists the task for them. Who came to it as a
 * member of a group or team stays, by whatever delegation, only while they are a candidate.
 */
export function isCandidate(actor: Actor, task: Pick<HumanTask, 'principals' | 'delegates'>): boolean {
  const own = principalsOf(actor);
  const notByItself = task.delegates[actor.id] === 'candidate' ? `id:${actor.id}` : null;
  return task.principals.some((principal) => own.has(principal) && principal !== notByItself);
}

/** Whether the task is for this person by themself, not only by a role, group or team. */
export function isNamed(
  { id, username }: Pick<Actor, 'id'> & { username: string | null },
  { principals, delegates }: Pick<HumanTask, 'principals' | 'delegates'>,
): boolean {
  if (username !== null && principals.includes(`name:${username.toLowerCase()}`)) return true;
  return principals.includes(`id:${id}`) && delegates[id] !== 'candidate';
}

/** The person who holds the task; null also for a claim of somebody who cannot decide it any more. */
export function claimantOf({ claimed_by, lapsed }: Pick<HumanTask, 'claimed_by' | 'lapsed'>): string | null {
  return claimed_by !== null && lapsed.includes(claimed_by) ? null : claimed_by;
}

export function isAssignee(actor: Actor, task: Pick<HumanTask, 'assignee_key'>): boolean {
  return task.assignee_key !== null && principalsOf(actor).has(task.assignee_key);
}

/**
 * Visible to candidates, the assignee, their deputies, and those who see the run from inside:
 * its owner (unless started as a runner), builders of its team, and admins.
 */
export function maySee(actor: Actor, task: HumanTask): boolean {
  return isConcerned(actor, task) || ownsRunOf(actor, task) || isAdmin(actor) || isDeputyFor(actor, task);
}

/**
 * Whether the actor sees the task as part of a run. Who started a team's run and is no member (any more) does
 * if its workflow is public.
 */
export function ownsRunOf(
  actor: Actor,
  task: Pick<HumanTask, 'owner_id' | 'team_id' | 'by_grant' | 'is_public'>,
): boolean {
  if (hasTeamRole(actor, task.team_id, 'builder')) return true;
  if (task.owner_id !== actor.id || task.by_grant) return false;
  return task.team_id === null || task.is_public || hasTeamRole(actor, task.team_id, 'viewer');
}

/** Approvers by their own role, in the team of the run, or in a team that is a candidate. */
export function mayApprove(actor: Actor, task: Pick<HumanTask, 'team_id' | 'principals'>): boolean {
  if (hasRole(actor, 'approver') || hasTeamRole(actor, task.team_id, 'approver')) return true;
  return teamWords(actor).some((word) => task.principals.includes(word));
}

/** Whether the task is that of somebody absent, and undecided or changed since the absence began. */
export function isDeputyFor(actor: Actor, task: HumanTask): boolean {
  return (actor.deputyFor ?? []).some((absent) => isConcerned(absent, task) && isOfAbsence(absent, task));
}

function isOfAbsence({ since }: AbsentPerson, { status, updated_at: changed }: HumanTask): boolean {
  return isUndecided(status) || Date.parse(changed) >= Date.parse(since);
}

/**
 * Whether the task is for this person. A claim gives no right: an admin's, who is no candidate, counts
 * because of the role.
 */
export function isConcerned(
  person: Actor,
  task: Pick<HumanTask, 'principals' | 'delegates' | 'claimed_by'>,
): boolean {
  return isCandidate(person, task) || (task.claimed_by === person.id && isAdmin(person));
}

/** The absent person as whom the actor may act; null if there is none. */
function absentPersonOf(actor: Actor, task: HumanTask): Actor | null {
  if (!hasRole(actor, 'approver') || isExcluded(actor, task)) return null;
  const mayActFor = (absent: AbsentPerson): boolean =>
    isConcerned(absent, task) &&
    isOfAbsence(absent, task) &&
    !isExcluded(absent, task) &&
    !hasDelegated(absent, task);
  const people = (actor.deputyFor ?? []).filter(mayActFor);
  return people.find(({ id }) => id === task.claimed_by) ?? people[0] ?? null;
}

/**
 * Who counts as acting: the actor, if the task is theirs; otherwise the absent person whose deputy they are.
 * What an absent person has claimed, the deputy has.
 */
export function actsAs(actor: Actor, task: HumanTask): Actor {
  const absent = absentPersonOf(actor, task);
  if (absent === null || claimantOf(task) === actor.id) return actor;
  const isOwn = isCandidate(actor, task) && !hasDelegated(actor, task);
  return isOwn && task.claimed_by !== absent.id ? actor : absent;
}

/** Whether the quorum excludes this person, as an initiator or by name; applies to admins too. */
export function isExcluded(
  person: Pick<Actor, 'id'> & Partial<Pick<Actor, 'username' | 'groups'>>,
  task: Pick<HumanTask, 'quorum' | 'initiator_id' | 'initiator_ids' | 'excluded'>,
): boolean {
  if (task.quorum === null) return false;
  const words = excludableWords({ username: '', groups: [], ...person });
  return task.excluded.some((word) => words.includes(word)) || isInitiator(person.id, task);
}

function isInitiator(
  userId: string,
  {
    quorum,
    initiator_id: first,
    initiator_ids: others,
  }: Pick<HumanTask, 'quorum' | 'initiator_id' | 'initiator_ids'>,
): boolean {
  return quorum?.exclude_initiator === true && (first === userId || others.includes(userId));
}

/**
 * Whether somebody else has the person's vote: they gave it away, did not receive it back, and one of those
 * who got it, one after the other, can still decide.
 */
export function hasDelegated(
  actor: Pick<Actor, 'id' | 'username'>,
  task: Pick<HumanTask, 'delegations' | 'lapsed'>,
): boolean {
  return holdersAfter(ownWords(actor), task).some((id) => !task.lapsed.includes(id));
}

/** Whether the person gave their vote away, and has it back because nobody who got it can decide any more. */
export function hasVoteBack(
  actor: Pick<Actor, 'id' | 'username'>,
  task: Pick<HumanTask, 'delegations' | 'lapsed'>,
): boolean {
  const holders = holdersAfter(ownWords(actor), task);
  return holders.length > 0 && holders.every((id) => task.lapsed.includes(id));
}

/** Who got the vote of the person of these words, one after the other. */
function holdersAfter(words: readonly string[], { delegations }: Pick<HumanTask, 'delegations'>): string[] {
  const holders = new Set<string>();
  const given = words.find((word) => Object.hasOwn(delegations, word));
  let holder = given === undefined ? undefined : delegations[given];
  while (holder !== undefined && !holders.has(holder)) {
    holders.add(holder);
    holder = delegations[`id:${holder}`];
  }
  return [...holders];
}

/**
 * Ids of the people in whose place somebody decides: those who delegated to them, directly or through others.
 * Names without a user are left out.
 */
export function standsFor(userId: string, task: Pick<HumanTask, 'delegations'>): string[] {
  const found: string[] = [];
  for (const receivers = [userId]; receivers.length > 0;) {
    const receiver = receivers.pop();
    const givers = Object.entries(task.delegations)
      .filter(([, to]) => to === receiver)
      .flatMap(([word]) => (word.startsWith('id:') ? [word.slice('id:'.length)] : []));
    const added = givers.filter((giver) => giver !== userId && !found.includes(giver));
    found.push(...added);
    receivers.push(...added);
  }
  return found;
}

/** @throws 404 if the caller may not see the task */
export function checkSees(actor: Actor, task: HumanTask | null): asserts task is HumanTask {
  if (task === null || !maySee(actor, task)) throw notFound('human task');
}

/** The 403 for a viewer who may not decide the task, whatever its state; null if they may. */
export function refusalToAct(actor: Actor, task: HumanTask): AppError | null {
  if (!mayApprove(actor, task)) return forbidden('This requires the role approver.', 'role_required');
  if (isInitiator(actor.id, task))
    return forbidden('The people who started the run may not decide this task.', 'initiator_excluded');
  if (isExcluded(actor, task)) return forbidden('You may not decide this task.', 'person_excluded');
  if (actsAs(actor, task) !== actor) return null;
  if (hasDelegated(actor, task))
    return forbidden(
      'You have delegated this task to somebody else, who decides in your place.',
      'delegated',
    );
  const mayDecide = isCandidate(actor, task) || isAdmin(actor);
  return mayDecide ? null : forbidden('You are not a candidate of this task.', 'not_a_candidate');
}

/**
 * @throws 403 if the actor may not decide the task; claiming, releasing and delegating need the same right.
 * @returns whether they act as an admin only
 */
export function checkMayAct(actor: Actor, task: HumanTask): { asAdmin: boolean; as: Actor } {
  const refusal = refusalToAct(actor, task);
  if (refusal !== null) throw refusal;
  const as = actsAs(actor, task);
  return { asAdmin: !isConcerned(as, task), as };
}
