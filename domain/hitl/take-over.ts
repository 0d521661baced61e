/**
 * Takes a task over from people who held it and cannot decide it any more: their claim ends, and votes return
 * to those who gave them. Until somebody does that the row stays as it is, so nothing has to run when a
 * membership ends, and who comes back in time has the task as before.
 */
import { v7 as uuidv7 } from 'uuid';
import { LOG_TEXT } from '../../contracts/log-texts.ts';
import { EVENT } from '../../contracts/run-events.ts';
import type { EntityManager } from '../../db/orm.ts';
import type { Actor } from '../auth/actor.ts';
import { notFound } from '../errors.ts';
import { endClaim } from './end-claim.ts';
import { findTask, type HumanTask } from './human-task.ts';
import { record, type Caller, type LockedTask } from './locked-task.ts';
import { claimantOf, hasVoteBack } from './policy.ts';
import { ownWords } from './principals.ts';

/** Whether the row has to be changed before this person acts. */
export function takesOver(as: Actor, task: HumanTask): boolean {
  return claimantOf(task) !== task.claimed_by || hasVoteBack(as, task);
}

/** The task as it is then. It is locked, and the state admits what comes. */
export async function takeOver(em: EntityManager, caller: Caller, locked: LockedTask): Promise<LockedTask> {
  const { task: before, as } = locked;
  if (!takesOver(as, before)) return locked;
  if (claimantOf(before) !== before.claimed_by) await endClaim(em, caller, locked);
  if (hasVoteBack(as, before)) await takeVoteBack(em, caller, locked);
  const task = await findTask(em, before.id);
  if (!task) throw notFound('human task');
  return { ...locked, task };
}

/** Who got the vote loses what they had by it alone, so that it does not count twice if they come back. */
async function takeVoteBack(em: EntityManager, caller: Caller, locked: LockedTask): Promise<void> {
  const { task, as } = locked;
  const words: string[] = ownWords(as);
  const given = Object.entries(task.delegations);
  const to = given.find(([word]) => words.includes(word))?.[1] ?? '';
  const kept = given.filter(([word]) => !words.includes(word));
  const isFree = task.delegates[to] === 'free' && !kept.some(([, receiver]) => receiver === to);
  await em.execute(
    `update hitl_task set delegations = ?::jsonb, updated_at = clock_timestamp(),
            candidate_keys = case when ? then array_remove(candidate_keys, ?) else candidate_keys end,
            assignee = case when assignee_key = ? then ? else assignee end,
            assignee_key = case when assignee_key = ? then ? else assignee_key end
      where id = ?`,
    [
      JSON.stringify(Object.fromEntries(kept)),
      isFree,
      `id:${to}`,
      `id:${to}`,
      as.id,
      `id:${to}`,
      `id:${as.id}`,
      task.id,
    ],
  );
  await record(em, caller, locked, {
    action: 'delegated',
    type: EVENT.hitlDelegated,
    discriminator: uuidv7(),
    message: LOG_TEXT.hitlDelegated.toUser(task.task_name, caller.actor.username, as.username),
    data: { to: as.id, from: to },
  });
}
