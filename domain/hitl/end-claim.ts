/** How a claim ends before the decision: the task is open again, or its candidates' once more. */
import { v7 as uuidv7 } from 'uuid';
import { LOG_TEXT } from '../../contracts/log-texts.ts';
import { EVENT } from '../../contracts/run-events.ts';
import type { EntityManager } from '../../db/orm.ts';
import { record, type Caller, type Recorded } from './locked-task.ts';

/** Opens the locked task, and records it. */
export async function endClaim(em: EntityManager, caller: Caller, locked: Recorded): Promise<void> {
  await em.execute(
    `update hitl_task set status = 'open', claimed_by = null, claimed_at = null,
       updated_at = clock_timestamp() where id = ?`,
    [locked.task.id],
  );
  await recordRelease(em, caller, locked);
}

/** The task is as it was before. */
export async function recordRelease(em: EntityManager, caller: Caller, locked: Recorded): Promise<void> {
  const { task_name: name, claimed_by } = locked.task;
  await record(em, caller, locked, {
    action: 'released',
    type: EVENT.hitlReleased,
    discriminator: uuidv7(),
    message: LOG_TEXT.hitlReleased.byUser(name, caller.actor.username),
    data: { claimed_by },
  });
}
