/**
 * Gives back the undecided human tasks of people whose accounts have ended
 * (docs/human-tasks.md#people-who-leave). A vote that was delegated to them is back with who gave it, if that
 * person may still decide; what was theirs by itself is the candidates'. Nobody gains a vote: each entry of
 * `delegations` that goes gives one back. If too few people are left, admins are told.
 */
import { UNDECIDED } from '../../contracts/hitl.ts';
import { LOG_TEXT } from '../../contracts/log-texts.ts';
import { EVENT } from '../../contracts/run-events.ts';
import { isUuid } from '../../contracts/uuid.ts';
import type { EntityManager } from '../../db/orm.ts';
import { arrayLiteral, isOneOf } from '../../db/sql.ts';
import { TEAMS_OF_USER, type Actor } from '../auth/actor.ts';
import { addNotice, votersOf } from '../notifications/expand.ts';
import { eventRows } from '../runs/event-columns.ts';
import { serviceEvent } from '../runs/events.ts';
import { auditRows, type AuditAction } from './audit.ts';
import { hasVotedOnTask, TASK_COLUMNS, type HumanTask } from './human-task.ts';
import { isCandidate, isExcluded, mayApprove } from './policy.ts';
import { ownWords } from './principals.ts';

/** Tasks of one transaction. */
const BATCH = 50;
/** Before somebody's tasks that could not be given back are tried again. */
const PAUSE = `interval '1 minute'`;

/** Goes on with what accounts have left, each batch in a transaction of its own. @returns the tasks */
export async function returnTasks(fork: () => EntityManager, inTime: () => boolean): Promise<number> {
  let returned = 0;
  while (inTime()) {
    const [due] = await fork().execute<{ user_id: string }[]>(
      `select user_id from task_return where due_at <= clock_timestamp() order by due_at, user_id limit 1`,
    );
    if (!due) break;
    try {
      returned += await fork().transactional((em) => returnBatch(em, due.user_id));
    } catch (error) {
      // One person's do not hold up the others'.
      await fork().execute(`update task_return set due_at = clock_timestamp() + ${PAUSE} where user_id = ?`, [
        due.user_id,
      ]);
      throw error;
    }
  }
  return returned;
}

type Leaver = Actor & { status: string };

async function returnBatch(em: EntityManager, userId: string): Promise<number> {
  const [row] = await em.execute<{ after_id: string | null }[]>(
    'select after_id from task_return where user_id = ? for update',
    [userId],
  );
  const [leaver] = await em.execute<Leaver[]>(
    `select id, username, to_json(roles) as roles, to_json(groups) as groups, status, ${TEAMS_OF_USER}
       from user_account u where id = ?`,
    [userId],
  );
  if (!row || !leaver) return 0;
  // Whoever is back has their tasks as before.
  const tasks = leaver.status === 'active' ? [] : await lockTasks(em, leaver, row.after_id);
  for (const task of tasks) await giveBack(em, task, leaver);
  const last = tasks.length < BATCH ? undefined : tasks.at(-1)?.id;
  await em.execute(
    last === undefined
      ? 'delete from task_return where user_id = ?'
      : 'update task_return set after_id = ? where user_id = ?',
    last === undefined ? [userId] : [last, userId],
  );
  return tasks.length;
}

/** Locks the runs first. A task on which the person has voted stays as it is: a vote stays cast. */
async function lockTasks(em: EntityManager, leaver: Leaver, after: string | null): Promise<HumanTask[]> {
  const theirs = `t.id in (
    select p.id from hitl_task p where p.principals && ?::text[] and ${isOneOf('p.status', UNDECIDED)}
    union all
    select c.id from hitl_task c where c.claimed_by = ?::uuid and ${isOneOf('c.status', UNDECIDED)})`;
  const values = [arrayLiteral(ownWords(leaver)), leaver.id];
  const found = await em.execute<{ id: string; run_id: string }[]>(
    `select t.id, t.run_id from hitl_task t where ${theirs} and (?::uuid is null or t.id > ?::uuid)
        and not ${hasVotedOnTask('?::uuid')}
      order by t.id limit ?`,
    [...values, after, after, leaver.id, BATCH],
  );
  await em.execute('select from run where id = any(?::uuid[]) order by id for no key update', [
    arrayLiteral(new Set(found.map(({ run_id: run }) => run))),
  ]);
  await em.execute('select from hitl_task where id = any(?::uuid[]) order by id for update', [
    arrayLiteral(found.map(({ id }) => id)),
  ]);
  return em.execute<HumanTask[]>(
    `select ${TASK_COLUMNS} from hitl_task t where ${theirs} and t.id = any(?::uuid[]) order by t.id`,
    [...values, arrayLiteral(found.map(({ id }) => id))],
  );
}

async function giveBack(em: EntityManager, task: HumanTask, leaver: Leaver): Promise<void> {
  const words: string[] = ownWords(leaver);
  const { receivers, delegations, gone } = await votesBack(em, task, leaver);
  const left = task.principals.filter((word) => !words.includes(word) && !gone.includes(word));
  const isAssigned = task.assignee_key !== null && words.includes(task.assignee_key);
  const isClaimed = task.claimed_by === leaver.id;
  const [receiver] = receivers;
  const becomesOpen = isAssigned && receiver === undefined && left.length > 0;
  const assignee =
    isAssigned && receiver !== undefined
      ? { name: receiver.id, key: `id:${receiver.id}` }
      : becomesOpen
        ? { name: null, key: null }
        : { name: task.assignee, key: task.assignee_key };
  if (receivers.length > 0 || becomesOpen || isClaimed)
    await em.execute(
      `update hitl_task set assignee = ?, assignee_key = ?, delegations = ?::jsonb,
              candidate_keys = array(select c.word from unnest(candidate_keys) with ordinality as c (word, n)
                                      where c.word <> all(?::text[]) order by c.n),
              status = case when ? then 'open' else status end,
              claimed_by = case when ? then null else claimed_by end,
              claimed_at = case when ? then null else claimed_at end, updated_at = clock_timestamp()
        where id = ?`,
      [
        assignee.name,
        assignee.key,
        JSON.stringify(delegations),
        arrayLiteral(gone),
        isClaimed,
        isClaimed,
        isClaimed,
        task.id,
      ],
    );
  const isReleased = becomesOpen || (isClaimed && receiver === undefined);
  if (isReleased)
    await record(em, task, 'released', LOG_TEXT.hitlReleased.accountDisabled(task.task_name), {
      from: leaver.id,
    });
  for (const { id, username } of receivers)
    await record(em, task, 'delegated', LOG_TEXT.hitlDelegated.accountDisabled(task.task_name, username), {
      to: id,
      from: leaver.id,
    });
  // Members of a role, group or team come and go; of named people alone, there may be none left.
  const areNamed = left.every((word) => word.startsWith('id:') || word.startsWith('name:'));
  if (isReleased || (receiver === undefined && areNamed))
    await addNotice(em, task.id, 'returned', { changed: isReleased });
}

interface VotesBack {
  /** Who has a vote again: of each chain of delegations the last who may decide. */
  receivers: Actor[];
  delegations: HumanTask['delegations'];
  /** Words of the candidates who were there only to decide in somebody's place. */
  gone: string[];
}

async function votesBack(em: EntityManager, task: HumanTask, leaver: Leaver): Promise<VotesBack> {
  const givers = await readGivers(em, Object.keys(task.delegations));
  const voters = await votersOf(em, task);
  const delegations = { ...task.delegations };
  const receivers: Actor[] = [];
  const holders = new Set([leaver.id]);
  // A set goes on with what is added meanwhile.
  for (const holder of holders)
    for (const [word, to] of Object.entries(task.delegations)) {
      if (to !== holder) continue;
      const giver = givers.get(word);
      if (giver && !voters.has(giver.id) && mayHaveBack(giver, task)) {
        delete delegations[word];
        receivers.push(giver);
      } else if (word.startsWith('id:')) holders.add(word.slice('id:'.length));
    }
  if (receivers.length === 0) return { receivers, delegations, gone: [] };
  const free = [...holders].filter(
    (id) => task.delegates[id] === 'free' && !Object.values(delegations).includes(id),
  );
  const gone = free.map((id) => `id:${id}`);
  for (const word of gone) delete delegations[word];
  return { receivers, delegations, gone };
}

/** Who gave their vote as a member of a group or team, or by their role, gets it back only as one. */
function mayHaveBack(giver: Actor, task: HumanTask): boolean {
  if (!mayApprove(giver, task) || isExcluded(giver, task)) return false;
  return task.delegates[giver.id] !== 'candidate' || isCandidate(giver, task);
}

/** The active people of these words, by word. */
async function readGivers(em: EntityManager, words: readonly string[]): Promise<Map<string, Actor>> {
  if (words.length === 0) return new Map();
  const ids = words.filter((word) => word.startsWith('id:')).map((word) => word.slice('id:'.length));
  const names = words.filter((word) => word.startsWith('name:')).map((word) => word.slice('name:'.length));
  const people = await em.execute<Actor[]>(
    `select id, username, to_json(roles) as roles, to_json(groups) as groups, ${TEAMS_OF_USER}
       from user_account u
      where status = 'active' and (id = any(?::uuid[]) or lower(username) = any(?::text[]))`,
    [arrayLiteral(ids.filter((id) => isUuid(id))), arrayLiteral(names)],
  );
  return new Map(people.flatMap((person) => ownWords(person).map((word) => [word, person] as const)));
}

const TYPE = { released: EVENT.hitlReleased, delegated: EVENT.hitlDelegated } as const;

/** Writes the audit row and the run's event. */
async function record(
  em: EntityManager,
  { id, run_id, task }: HumanTask,
  action: Extract<AuditAction, keyof typeof TYPE>,
  message: string,
  data: { from: string; to?: string },
): Promise<void> {
  const audit = auditRows([{ task_id: id, run_id, action, via: 'system', actor: null, data }]);
  const event = serviceEvent({
    key: `hitl:${id}:${action}:${String(audit[0]?.['id'])}`,
    type: TYPE[action],
    task,
    message,
    data: { hitl_task_id: id, ...data, via: 'system' },
  });
  await em.execute(`select audit_and_append(?::uuid, ?::json, ?::json)`, [
    run_id,
    JSON.stringify(audit),
    eventRows([event]),
  ]);
}
