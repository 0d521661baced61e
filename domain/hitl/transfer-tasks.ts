/** Hands over the human tasks of a departing user. */
import { v7 as uuidv7 } from 'uuid';
import { UNDECIDED } from '../../contracts/hitl.ts';
import { arrayLiteral, isOneOf } from '../../db/sql.ts';
import type { EntityManager } from '../../db/orm.ts';
import { LOG_TEXT } from '../../contracts/log-texts.ts';
import { EVENT } from '../../contracts/run-events.ts';
import { TASK_COLUMNS, type HumanTask } from './human-task.ts';
import { record, type Caller } from './locked-task.ts';

/**
 * Makes `to` the assignee and claimant of one batch of the undecided tasks where `from` is, by id. Both are
 * user ids; `caller` is an admin. Candidates stay unchanged. Must run inside the caller's transaction.
 * @returns the ids of the tasks
 */
export async function handOverTasks(
  em: EntityManager,
  caller: Caller,
  { from, to }: { from: string; to: string },
  { after, limit }: { after: string | null; limit: number },
): Promise<string[]> {
  // Tasks on which `from` has voted, or a deputy for them, are excluded: a vote stays cast.
  const theirs = `${isOneOf('t.status', UNDECIDED)}
    and not exists (select from hitl_vote v
                     where v.task_id = t.id and (v.voted_by = ?::uuid or v.in_place_of = ?::uuid))
    and (t.principals && array['id:' || ?::text] and t.assignee_key = 'id:' || ?::text
         or t.claimed_by = ?::uuid)`;
  const fromValues = [from, from, from, from, from];
  const found = await em.execute<{ id: string; run_id: string }[]>(
    `select t.id, t.run_id from hitl_task t where ${theirs} and (?::uuid is null or t.id > ?::uuid)
      order by t.id limit ?`,
    [...fromValues, after, after, limit],
  );
  const ids = found.map(({ id }) => id);
  await em.execute('select from run where id = any(?::uuid[]) order by id for no key update', [
    arrayLiteral(new Set(found.map(({ run_id: run }) => run))),
  ]);
  const tasks = await em.execute<HumanTask[]>(
    `select ${TASK_COLUMNS} from hitl_task t where ${theirs} and t.id = any(?::uuid[])
      order by t.id for update`,
    [...fromValues, arrayLiteral(ids)],
  );
  for (const task of tasks) {
    await em.execute(
      `update hitl_task set assignee = case when assignee_key = 'id:' || ?::text then ? else assignee end,
              assignee_key = case when assignee_key = 'id:' || ?::text
                                  then 'id:' || ?::text else assignee_key end,
              claimed_by = case when claimed_by = ?::uuid then ?::uuid else claimed_by end,
              updated_at = clock_timestamp(),
              delegations = (delegations - ('id:' || ?::text))
                            || jsonb_build_object('id:' || ?::text, ?::text)
        where id = ?`,
      [from, to, from, to, from, to, to, from, to, task.id],
    );
    await record(
      em,
      caller,
      { task, asAdmin: true },
      {
        action: 'delegated',
        type: EVENT.hitlDelegated,
        discriminator: uuidv7(),
        message: LOG_TEXT.hitlDelegated.byTransfer(task.task_name, caller.actor.username),
        data: { to, from },
      },
    );
  }
  return ids;
}
