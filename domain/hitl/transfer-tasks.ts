/** Hands over the human tasks of a departing user. */
import { v7 as uuidv7 } from 'uuid';
import { UNDECIDED } from '../../contracts/hitl.ts';
import { arrayLiteral, isOneOf } from '../../db/sql.ts';
import type { EntityManager } from '../../db/orm.ts';
import { LOG_TEXT } from '../../contracts/log-texts.ts';
import { EVENT } from '../../contracts/run-events.ts';
import { TEAMS_OF_USER, type Actor } from '../auth/actor.ts';
import { receivedBy } from './delegation.ts';
import { recordRelease } from './end-claim.ts';
import { TASK_COLUMNS, type HumanTask } from './human-task.ts';
import { record, type Caller } from './locked-task.ts';
import { isCandidate, isNamed, mayApprove } from './policy.ts';

/**
 * Makes `to` the assignee and claimant of one batch of the undecided tasks where `from` is, by id. Both are
 * user ids; `caller` is an admin. Must run inside the caller's transaction.
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
  const people = await readPeople(em, { from, to });
  if (people !== null) for (const task of tasks) await handOver(em, caller, task, people);
  return ids;
}

interface People {
  from: Actor;
  to: Actor;
}

async function readPeople(
  em: EntityManager,
  { from, to }: { from: string; to: string },
): Promise<People | null> {
  const rows = await em.execute<Actor[]>(
    `select id, username, to_json(roles) as roles, to_json(groups) as groups, ${TEAMS_OF_USER}
       from user_account u where id in (?, ?)`,
    [from, to],
  );
  const [giver, successor] = [from, to].map((id) => rows.find((row) => row.id === id));
  return giver && successor ? { from: giver, to: successor } : null;
}

/** What somebody has as a member of a group or team is not theirs to leave to who is no candidate. */
async function handOver(em: EntityManager, caller: Caller, task: HumanTask, people: People): Promise<void> {
  const { from, to } = people;
  if (isNamed(from, task) || (isCandidate(to, task) && mayApprove(to, task))) {
    await give(em, task, people);
    await record(
      em,
      caller,
      { task, asAdmin: true },
      {
        action: 'delegated',
        type: EVENT.hitlDelegated,
        discriminator: uuidv7(),
        message: LOG_TEXT.hitlDelegated.byTransfer(task.task_name, caller.actor.username),
        data: { to: to.id, from: from.id },
      },
    );
    return;
  }
  await returnToCandidates(em, task, from.id);
  await recordRelease(em, caller, { task, asAdmin: true });
}

async function give(em: EntityManager, task: HumanTask, { from, to }: People): Promise<void> {
  const [fromWord, toWord] = [`id:${from.id}`, `id:${to.id}`];
  const isAssigned = task.assignee_key === fromWord;
  const added = isAssigned || isCandidate(to, task) ? [] : [toWord];
  const others = Object.entries(task.delegations).filter(([word]) => word !== fromWord && word !== toWord);
  await em.execute(
    `update hitl_task set assignee = ?, assignee_key = ?, claimed_by = ?, updated_at = clock_timestamp(),
            candidate_keys = candidate_keys || ?::text[], delegations = ?::jsonb, delegates = ?::jsonb
      where id = ?`,
    [
      isAssigned ? to.id : task.assignee,
      isAssigned ? toWord : task.assignee_key,
      task.claimed_by === from.id ? to.id : task.claimed_by,
      arrayLiteral(added),
      JSON.stringify({ ...Object.fromEntries(others), [fromWord]: to.id }),
      JSON.stringify({ ...task.delegates, ...receivedBy(task, to) }),
      task.id,
    ],
  );
}

async function returnToCandidates(em: EntityManager, task: HumanTask, from: string): Promise<void> {
  const delegations = Object.entries(task.delegations).filter(([, to]) => to !== from);
  const [isAssigned, isClaimed] = [task.assignee_key === `id:${from}`, task.claimed_by === from];
  await em.execute(
    `update hitl_task set assignee = ?, assignee_key = ?, status = ?, claimed_by = ?,
            claimed_at = ?::timestamptz, delegations = ?::jsonb, updated_at = clock_timestamp()
      where id = ?`,
    [
      isAssigned ? null : task.assignee,
      isAssigned ? null : task.assignee_key,
      isClaimed ? 'open' : task.status,
      isClaimed ? null : task.claimed_by,
      isClaimed ? null : task.claimed_at,
      JSON.stringify(Object.fromEntries(delegations)),
      task.id,
    ],
  );
}
