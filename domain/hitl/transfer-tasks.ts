/** What a user leaves behind when they go: human tasks that wait for them by name. */
import { v7 as uuidv7 } from 'uuid';
import type { EntityManager } from '../../db/orm.ts';
import { EVENT } from '../../contracts/run-events.ts';
import { TASK_COLUMNS } from './human-task.ts';
import type { HumanTask } from './human-task.ts';
import { record } from './locked-task.ts';
import type { Caller } from './locked-task.ts';

/**
 * Makes `to` the assignee and holder of the undecided tasks that `from` is; ids of users, `caller` an admin. Candidates stay
 * as they are. Must run inside the caller's transaction. @returns how many.
 */
export async function handOverTasks(em: EntityManager, caller: Caller, { from, to }: { from: string; to: string }): Promise<number> {
  const theirs = `t.status in ('open', 'claimed') and (t.principals && array['id:' || ?::text] and t.assignee_key = 'id:' || ?::text or t.claimed_by = ?::uuid)`;
  const who = [from, from, from];
  await em.execute(`select id from run where id in (select t.run_id from hitl_task t where ${theirs}) order by id for update`, who);
  const tasks = await em.execute<HumanTask[]>(`select ${TASK_COLUMNS} from hitl_task t where ${theirs} order by t.id for update`, who);
  for (const task of tasks) {
    await em.execute(
      `update hitl_task set assignee = case when assignee_key = 'id:' || ?::text then ? else assignee end,
              assignee_key = case when assignee_key = 'id:' || ?::text then 'id:' || ?::text else assignee_key end,
              claimed_by = case when claimed_by = ?::uuid then ?::uuid else claimed_by end, updated_at = clock_timestamp()
        where id = ?`,
      [from, to, from, to, from, to, task.id],
    );
    await record(em, caller, { task, asAdmin: true }, {
      action: 'delegated',
      type: EVENT.hitlDelegated,
      discriminator: uuidv7(),
      message: `${caller.actor.username} handed it over`,
      data: { to, from },
    });
  }
  return tasks.length;
}
