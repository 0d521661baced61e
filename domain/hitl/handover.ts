/** Claiming and releasing human tasks. */
import { v7 as uuidv7 } from 'uuid';
import type { EntityManager } from '../../db/orm.ts';
import { LOG_TEXT } from '../../contracts/log-texts.ts';
import { EVENT } from '../../contracts/run-events.ts';
import { isAdmin } from '../auth/actor.ts';
import { view } from './decide.ts';
import { endClaim } from './end-claim.ts';
import type { HumanTask, HumanTaskView } from './human-task.ts';
import { checkState, lockTask, record, type Caller } from './locked-task.ts';
import { takeOver } from './take-over.ts';

/** Reserves the task: nobody else can decide it. Claiming it again changes nothing. */
export async function claim(em: EntityManager, caller: Caller, seen: HumanTask): Promise<HumanTaskView> {
  const { actor } = caller;
  const found = await lockTask(em, actor, seen);
  await checkState(em, found, { kind: 'claim', by: found.as.id, late: found.late });
  const locked = await takeOver(em, caller, found);
  if (locked.task.claimed_by === null) {
    await em.execute(
      `update hitl_task set status = 'claimed', claimed_by = ?, claimed_at = ?,
              first_claimed_at = coalesce(first_claimed_at, ?), updated_at = clock_timestamp() where id = ?`,
      [locked.as.id, locked.now, locked.now, seen.id],
    );
    await record(em, caller, locked, {
      action: 'claimed',
      type: EVENT.hitlClaimed,
      discriminator: uuidv7(),
      message: LOG_TEXT.hitlClaimed(locked.task.task_name, actor.username),
      data: {},
    });
  }
  return view(em, actor, seen.id);
}

/** Releases a claim; an admin may release anyone's. */
export async function release(em: EntityManager, caller: Caller, seen: HumanTask): Promise<HumanTaskView> {
  const { actor } = caller;
  const locked = await lockTask(em, actor, seen);
  await checkState(em, locked, { kind: 'release', by: locked.as.id, any: isAdmin(actor), late: locked.late });
  await endClaim(em, caller, { ...locked, asAdmin: locked.task.claimed_by !== locked.as.id });
  return view(em, actor, seen.id);
}
