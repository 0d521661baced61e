/**
 * Delegation: a person gives their vote on a task to another, who decides in their place. Each delegation
 * removes one voter for each that it adds, and nobody votes twice, so people cannot gain votes by delegating.
 */
import { v7 as uuidv7 } from 'uuid';
import type { EntityManager } from '../../db/orm.ts';
import { arrayLiteral } from '../../db/sql.ts';
import { LOG_TEXT } from '../../contracts/log-texts.ts';
import { EVENT } from '../../contracts/run-events.ts';
import { isAdmin, TEAMS_OF_USER, type Actor } from '../auth/actor.ts';
import { accepted, forbidden, invalid, type AppError, type Checked } from '../errors.ts';
import { view } from './decide.ts';
import type { HumanTask, HumanTaskView } from './human-task.ts';
import { checkState, lockTask, record, type Caller, type LockedTask } from './locked-task.ts';
import { cameBy, giverOf, receivedBy, type Giver } from './delegation.ts';
import { hasDelegated, isCandidate, isExcluded, mayApprove } from './policy.ts';
import { ownWords } from './principals.ts';
import { takeOver } from './take-over.ts';

/**
 * Gives a vote to another person: to a candidate, or to anyone if the task allows it. A claim moves along.
 * Without a quorum the person in charge may delegate: the claimant, else the assignee, else any candidate.
 * With a quorum each person delegates their own vote. An admin delegates the claimant's vote, else the
 * assignee's, else their own.
 */
export async function delegate(
  em: EntityManager,
  caller: Caller,
  seen: HumanTask,
  request: Checked<{ to: string }>,
): Promise<HumanTaskView> {
  const { actor } = caller;
  const found = await lockTask(em, actor, seen);
  const giver = giverOf(found.as, found.task);
  if (giver === null)
    throw forbidden('Another person is the assignee: only they can delegate the task.', 'not_the_assignee');
  await checkState(em, found, {
    kind: 'delegate',
    by: found.as.id,
    giver: giver.id,
    to: '',
    any: isAdmin(actor),
    late: found.late,
  });
  const { to } = accepted(request);
  const locked = await takeOver(em, caller, found);
  const { task } = locked;
  const recipient = await findRecipient(em, locked, giver, to);
  const change = delegatedTask(locked, giver, recipient);
  checkQuorum(locked, change);
  await em.execute(
    `update hitl_task set assignee = ?, assignee_key = ?, candidate_keys = candidate_keys || ?::text[],
            delegations = ?::jsonb, delegates = ?::jsonb, updated_at = clock_timestamp(),
            claimed_at = case when claimed_by is null then null else ?::timestamptz end,
            claimed_by = case when claimed_by is null then null else ?::uuid end
      where id = ?`,
    [
      change.assignee,
      change.assignee_key,
      arrayLiteral(change.added),
      JSON.stringify(change.delegations),
      JSON.stringify(change.delegates),
      locked.now,
      recipient.id,
      seen.id,
    ],
  );
  await record(
    em,
    caller,
    { ...locked, asAdmin: giver.asAdmin },
    {
      action: 'delegated',
      type: EVENT.hitlDelegated,
      discriminator: uuidv7(),
      message: LOG_TEXT.hitlDelegated.toUser(task.task_name, actor.username, recipient.username),
      data: { to: recipient.id, from: giver.id === '' ? task.assignee : giver.id },
    },
  );
  return view(em, actor, seen.id);
}

async function findRecipient(
  em: EntityManager,
  { task, state }: LockedTask,
  giver: Giver,
  name: string,
): Promise<Actor> {
  const [user] = await em.execute<(Actor & { status: string })[]>(
    `select id, username, to_json(roles) as roles, to_json(groups) as groups, status, ${TEAMS_OF_USER}
       from user_account u
      where id::text = lower(?) or lower(username) = lower(?) order by id::text = lower(?) desc limit 1`,
    [name, name, name],
  );
  if (!user || user.status !== 'active') throw refuse('unknown_user', 'is not an active user');
  if (!mayApprove(user, task)) throw refuse('cannot_decide', 'may not decide: the role approver is missing');
  if (isExcluded(user, task))
    throw refuse('initiator_excluded', 'started the run and may not decide this task');
  if (state.votes.some(({ by, also }) => by === user.id || also === user.id))
    throw refuse('already_voted', 'has voted already');
  if (ownWords(user).some((word) => giver.words.includes(word)))
    throw refuse('same_person', 'has the task already');
  if (task.delegate === 'candidates' && !isCandidate(user, task) && !mayHaveItBack(user, task)) {
    throw refuse('not_a_candidate', 'is not a candidate of this task');
  }
  return user;
}

/** A person who delegated their vote may receive one back, but not as a former member of a group or team. */
function mayHaveItBack(user: Actor, task: HumanTask): boolean {
  return hasDelegated(user, task) && task.delegates[user.id] !== 'candidate';
}

interface Change extends Pick<HumanTask, 'assignee' | 'assignee_key' | 'delegations' | 'delegates'> {
  /** Principals that join the candidates. */
  added: string[];
}

/**
 * The recipient of the assignee's vote becomes the assignee; with a quorum, the recipient of another vote
 * joins the candidates.
 */
function delegatedTask({ task, as }: LockedTask, giver: Giver, recipient: Actor): Change {
  const returned = new Set(ownWords(recipient));
  const others = Object.entries(task.delegations).filter(([word]) => !returned.has(word));
  const delegations = { ...Object.fromEntries(others), [giver.words[0]]: recipient.id };
  const key = `id:${recipient.id}`;
  const { assignee, assignee_key } = task;
  const delegates = { ...task.delegates, ...cameBy(task, giver, as), ...receivedBy(task, recipient) };
  if (task.quorum !== null && !(assignee_key !== null && giver.words.includes(assignee_key))) {
    const added = isCandidate(recipient, task) ? [] : [key];
    return { assignee, assignee_key, delegations, delegates, added };
  }
  return { assignee: recipient.id, assignee_key: key, delegations, delegates, added: [] };
}

/**
 * Refuses a delegation that leaves too few voters for the quorum. Roles and groups may always gain members,
 * so they count as unlimited.
 */
function checkQuorum({ task, state }: LockedTask, change: Change): void {
  if (task.quorum === null) return;
  const { approvals } = task.quorum;
  const before = votersOf(task, task.principals, state.votes);
  const assigned = change.assignee_key === task.assignee_key ? [] : [task.assignee_key];
  const principals = [
    ...task.principals.filter((word) => !assigned.includes(word)),
    ...change.added,
    ...(change.assignee_key ? [change.assignee_key] : []),
  ];
  const after = votersOf({ ...task, delegations: change.delegations }, principals, state.votes);
  if (before >= approvals && after < approvals) {
    throw refuse('quorum_unreachable', `would leave ${after} to decide, and ${approvals} people are needed`);
  }
}

function votersOf(
  task: HumanTask,
  principals: readonly string[],
  votes: LockedTask['state']['votes'],
): number {
  if (principals.some((word) => /^(?:role|group|team):/.test(word))) return Infinity;
  const free = principals.filter(
    (word) => !Object.hasOwn(task.delegations, word) && !isExcluded({ id: word.slice('id:'.length) }, task),
  );
  return new Set([...free, ...votes.map(({ by }) => `id:${by}`)]).size;
}

function refuse(code: string, message: string): AppError {
  return invalid([{ pointer: '/to', code, message }]);
}
