/**
 * Says in the run's log that too few people may decide a task now, when it opens, as after a misspelt name,
 * or when the account of one of them ends: the run would wait, and nobody would notice. Admins, who may
 * decide every task, do not count. How many such tasks are open is counted for monitoring.
 */
import { LOG_TEXT } from '../../contracts/log-texts.ts';
import { EVENT } from '../../contracts/run-events.ts';
import { ROLES } from '../../contracts/roles.ts';
import { isUuid } from '../../contracts/uuid.ts';
import type { EntityManager } from '../../db/orm.ts';
import { arrayLiteral } from '../../db/sql.ts';
import { TEAMS_OF_USER, type Actor } from '../auth/actor.ts';
import type { HumanTask } from '../hitl/human-task.ts';
import { isCandidate, isExcluded, mayApprove } from '../hitl/policy.ts';
import { appendEvents, serviceEvent } from '../runs/events.ts';
import { findDeputies, findRecipients, rolesWith, standsIn, type Recipient } from './recipients.ts';

interface Asked {
  /** The first people of the task, by id. */
  people: readonly Recipient[];
  /** How many people a page has; fewer are the last. */
  limit: number;
  /** After that many the task counts as one that enough people may decide. */
  most: number;
}

/**
 * Reads nothing more if the people who are told anyway are enough. Locks the run's row, so what locks the
 * task's comes later. @param after the notice of somebody who has left since the task opened @returns whether
 * it was said
 */
export async function warnIfUndecidable(
  em: EntityManager,
  task: HumanTask,
  asked: Asked,
  after?: string,
): Promise<boolean> {
  const needed = neededFor(task);
  if (await haveEnough(em, task, needed, asked)) return false;
  const event = serviceEvent({
    key: `hitl:${task.id}:undecidable${after === undefined ? '' : `:${after}`}`,
    type: EVENT.runWarning,
    level: 'warn',
    task: task.task,
    message: LOG_TEXT.runWarning.undecidable(task.task_name, needed),
    data: { hitl_task_id: task.id, needed },
  });
  const { closed } = await appendEvents(em, task.run_id, { events: [event], projection: null, acks: [] });
  return !closed;
}

async function haveEnough(
  em: EntityManager,
  task: HumanTask,
  needed: number,
  { people, limit, most }: Asked,
): Promise<boolean> {
  const found = new Set<string>();
  const others: string[] = [];
  let page = people;
  for (let read = page.length; ; read += page.length) {
    for (const person of page) {
      if (mayDecide(person, task)) found.add(person.id);
      else if (!isExcluded(person, task)) others.push(person.id);
    }
    if (found.size >= needed) return true;
    if (page.length < limit) break;
    if (read >= most) return true;
    page = await findRecipients(em, task.principals, { after: page.at(-1)?.id ?? null, limit });
  }
  // Who may not decide may have a deputy who may.
  for (const deputy of await findDeputies(em, others))
    if (standsIn(deputy, task, new Set())) found.add(deputy.id);
  return found.size >= needed;
}

function neededFor({ quorum }: Pick<HumanTask, 'quorum'>): number {
  return quorum?.approvals ?? 1;
}

type Asking = Pick<
  HumanTask,
  'principals' | 'delegates' | 'team_id' | 'quorum' | 'initiator_id' | 'initiator_ids' | 'excluded'
>;

function mayDecide(person: Actor, task: Asking): boolean {
  return isCandidate(person, task) && mayApprove(person, task) && !isExcluded(person, task);
}

/** What a count looks at, however much there is. Of tasks beyond, it says that they can be decided. */
const COUNTED = { tasks: 1_000, words: 1_000, people: 20 };

/**
 * How many open tasks too few people may decide now: of the oldest 1,000, among the 1,000 first words for
 * their people. A word that 20 people have is one with enough of them. Each step uses an index.
 */
export async function countUndecidable(
  em: EntityManager,
  { tasks, words, people } = COUNTED,
): Promise<number> {
  const asking = await em.execute<(Asking & { tasks: number })[]>(
    `select to_json(principals) as principals, delegates, team_id, quorum, initiator_id,
            to_json(initiator_ids) as initiator_ids, to_json(excluded) as excluded, count(*)::int as tasks
       from (select principals, delegates, team_id, quorum, excluded,
                    case when quorum is not null then initiator_id end as initiator_id,
                    case when quorum is not null then initiator_ids else '{}' end as initiator_ids
               from hitl_task where status = 'open' order by id limit ?) oldest
      group by principals, delegates, team_id, quorum, initiator_id, initiator_ids, excluded`,
    [tasks],
  );
  const looked = [...new Set(asking.flatMap(({ principals }) => principals))].slice(0, words);
  const known = await readHolders(em, looked, people);
  const left = asking.flatMap((task) => {
    const found = task.principals.map((word) => known.get(word));
    if (found.some((holders) => holders === undefined || holders.length >= people)) return [];
    const holders = new Map(found.flatMap((some) => (some ?? []).map((person) => [person.id, person])));
    const able = new Set([...holders.values()].filter((one) => mayDecide(one, task)).map(({ id }) => id));
    const others = [...holders.values()].filter((one) => !able.has(one.id) && !isExcluded(one, task));
    return able.size >= neededFor(task) ? [] : [{ task, able, others: new Set(others.map(({ id }) => id)) }];
  });
  const absent = new Set(left.flatMap(({ others }) => [...others]));
  const deputies = await findDeputies(em, [...absent]);
  return left
    .filter(({ task, able, others }) => {
      const standing = deputies.filter((one) => others.has(one.absent_id) && standsIn(one, task, new Set()));
      return new Set([...able, ...standing.map(({ id }) => id)]).size < neededFor(task);
    })
    .reduce((sum, { task }) => sum + task.tasks, 0);
}

/** SQL: whether the user `u` has the word whose value is `w.value`. */
const HOLDS = {
  id: 'u.id = w.value::uuid',
  name: 'lower(u.username) = w.value',
  role: 'u.roles && w.roles',
  group: 'u.groups @> array[w.value]',
  // Viewers of a team decide nothing in it.
  team: `u.id in (select m.user_id from team_member m
                   where m.team_id = w.value::uuid and m.role <> 'viewer')`,
};

/** Up to `limit` active people for each word. */
async function readHolders(
  em: EntityManager,
  words: readonly string[],
  limit: number,
): Promise<Map<string, Actor[]>> {
  const found = new Map<string, Actor[]>(words.map((word) => [word, []]));
  for (const [kind, holds] of Object.entries(HOLDS)) {
    const prefix = `${kind}:`;
    const values = words
      .filter((word) => word.startsWith(prefix))
      .map((word) => word.slice(prefix.length))
      .filter((value) => (kind !== 'id' && kind !== 'team') || isUuid(value));
    if (values.length === 0) continue;
    const rows = await em.execute<(Actor & { word: string })[]>(
      `select w.value as word, p.*
         from (select value, array(select r.role from json_to_recordset(?::json) as r (named text, role text)
                                    where r.named = value) as roles
                 from unnest(?::text[]) as value) w
        cross join lateral (
          select u.id, u.username, to_json(u.roles) as roles, to_json(u.groups) as groups, ${TEAMS_OF_USER}
            from user_account u where u.status = 'active' and ${holds} limit ?) p`,
      [JSON.stringify(ROLES_WITH), arrayLiteral(values), limit],
    );
    for (const { word, ...person } of rows) found.get(prefix + word)?.push(person);
  }
  return found;
}

/** Each role with those that include it. */
const ROLES_WITH = ROLES.flatMap((named) => rolesWith([named]).map((role) => ({ named, role })));
