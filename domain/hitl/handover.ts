/** Claiming, releasing, delegating (interface-decisions §6): who has a task in hand. */
import { v7 as uuidv7 } from 'uuid';
import type { EntityManager } from '../../db/orm.ts';
import { EVENT } from '../../contracts/run-events.ts';
import { hasRole, isAdmin } from '../auth/actor.ts';
import type { Actor, Role } from '../auth/actor.ts';
import { forbidden, invalid } from '../errors.ts';
import { view } from './decide.ts';
import type { HumanTask, HumanTaskView } from './human-task.ts';
import { checkState, loadForChange, lockTask, record } from './locked-task.ts';
import type { Caller, LockedTask } from './locked-task.ts';
import { isAssignee, isExcluded } from './policy.ts';
import { later } from './submission.ts';

/** From now on nobody else can decide the task. Claiming what one has claimed changes nothing. */
export async function claim(em: EntityManager, caller: Caller, taskId: string): Promise<HumanTaskView> {
  const { actor } = caller;
  const locked = await lockTask(em, actor, await loadForChange(em, caller, taskId));
  await checkState(em, locked, { kind: 'claim', by: actor.id, late: locked.late });
  if (locked.task.claimed_by === null) {
    await em.execute(`update hitl_task set status = 'claimed', claimed_by = ?, claimed_at = ?, updated_at = clock_timestamp() where id = ?`, [
      actor.id, locked.now, taskId,
    ]);
    await record(em, caller, locked, {
      action: 'claimed',
      type: EVENT.hitlClaimed,
      discriminator: uuidv7(),
      message: `${actor.username} claimed it`,
      data: {},
    });
  }
  return view(em, taskId);
}

/** Gives a claim back; an admin may end anybody's. */
export async function release(em: EntityManager, caller: Caller, taskId: string): Promise<HumanTaskView> {
  const { actor } = caller;
  const locked = await lockTask(em, actor, await loadForChange(em, caller, taskId));
  await checkState(em, locked, { kind: 'release', by: actor.id, any: isAdmin(actor), late: locked.late });
  const { claimed_by } = locked.task;
  await em.execute(`update hitl_task set status = 'open', claimed_by = null, claimed_at = null, updated_at = clock_timestamp() where id = ?`, [taskId]);
  await record(em, caller, { ...locked, asAdmin: claimed_by !== actor.id }, {
    action: 'released',
    type: EVENT.hitlReleased,
    discriminator: uuidv7(),
    message: `${actor.username} released it`,
    data: { claimed_by },
  });
  return view(em, taskId);
}

interface Recipient {
  id: string;
  username: string;
}

/**
 * Makes somebody else the assignee; a claim goes along. Whoever has the task in hand may: who claimed it, else the
 * assignee, else any candidate; an admin always.
 */
export async function delegate(em: EntityManager, caller: Caller, taskId: string, to: () => string): Promise<HumanTaskView> {
  const { actor } = caller;
  const seen = await loadForChange(em, caller, taskId);
  const name = later(to);
  const locked = await lockTask(em, actor, seen);
  const { task } = locked;
  const asAdmin = !inHand(actor, task);
  if (asAdmin && !isAdmin(actor) && task.claimed_by === null) throw forbidden('Another person is the assignee: only they can delegate the task.', 'not_the_assignee');
  await checkState(em, locked, { kind: 'delegate', by: actor.id, to: '', any: isAdmin(actor), late: locked.late });
  const recipient = await findRecipient(em, actor, locked, name());
  await em.execute(
    `update hitl_task set assignee = ?, assignee_key = ?, updated_at = clock_timestamp(),
            claimed_at = case when claimed_by is null then null else ?::timestamptz end,
            claimed_by = case when claimed_by is null then null else ?::uuid end
      where id = ?`,
    [name(), `id:${recipient.id}`, locked.now, recipient.id, taskId],
  );
  await record(em, caller, { task, asAdmin }, {
    action: 'delegated',
    type: EVENT.hitlDelegated,
    discriminator: uuidv7(),
    message: `${actor.username} delegated it to ${recipient.username}`,
    data: { to: recipient.id, from: task.claimed_by ?? task.assignee },
  });
  return view(em, taskId);
}

function inHand(actor: Actor, task: HumanTask): boolean {
  if (task.claimed_by !== null) return task.claimed_by === actor.id;
  return task.assignee_key === null || isAssignee(actor, task);
}

async function findRecipient(em: EntityManager, actor: Actor, { task, state }: LockedTask, name: string): Promise<Recipient> {
  const [user] = await em.execute<(Recipient & { roles: Role[]; status: string })[]>(
    `select id, username, to_json(roles) as roles, status from user_account where id::text = lower(?) or lower(username) = lower(?)
      order by id::text = lower(?) desc limit 1`,
    [name, name, name],
  );
  const refuse = (code: string, message: string) => invalid([{ pointer: '/to', code, message }]);
  if (!user || user.status !== 'active') throw refuse('unknown_user', 'is no user');
  if (!hasRole(user, 'approver')) throw refuse('cannot_decide', 'may not decide: the role approver is missing');
  if (isExcluded(user.id, task)) throw refuse('initiator_excluded', 'started the run and may not decide this task');
  if (state.votes.some((vote) => vote.by === user.id)) throw refuse('already_voted', 'has voted already');
  if (user.id === (task.claimed_by ?? (isAssignee(actor, task) ? actor.id : null))) throw refuse('same_person', 'has the task already');
  return user;
}
