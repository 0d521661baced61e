/** What a message would say now: nothing about tasks that need its receiver no more. */
import type { NotificationKind } from '../../contracts/notification-kinds.ts';
import type { Role } from '../../contracts/roles.ts';
import type { EntityManager } from '../../db/orm.ts';
import { arrayLiteral } from '../../db/sql.ts';
import { withAbsentPeople } from '../auth/absences.ts';
import { TEAMS_OF_USER, type AbsentPerson, type TeamRole } from '../auth/actor.ts';
import { TASK_COLUMNS, type HumanTask } from '../hitl/human-task.ts';
import { actsAs, claimantOf, isExcluded } from '../hitl/policy.ts';
import { isUndecided } from '../hitl/state-machine.ts';
import { kindFor } from './recipients.ts';

export interface DueDelivery {
  id: string;
  user_id: string | null;
  channel_id: string | null;
  notification_id: string | null;
  kind: NotificationKind;
  task_id: string;
  attempts: number;
  expired: boolean;
  age_ms: number;
}

export interface Reader {
  id: string;
  username: string;
  display_name: string | null;
  email: string;
  roles: Role[];
  groups: string[];
  teams: TeamRole[];
  time_zone: string | null;
  deputyFor?: AbsentPerson[];
}

export interface Item {
  delivery: DueDelivery;
  task: HumanTask;
  /** Username of the assignee, or else the word that names them. */
  assignee: string | null;
  /** Null for a chat of several people. */
  reader: Reader | null;
  /** Who wrote the comment, or delegated the task. */
  actor: string | null;
  comment: string | null;
  /** The absent person for whom the reader is asked. */
  in_place_of: string | null;
}

interface Details extends Pick<Item, 'actor' | 'comment' | 'in_place_of'> {
  id: string;
  read: boolean;
}

/** SQL: the username of a known assignee. */
const ASSIGNEE = `(
  select u.username from user_account u
   where u.id = case when t.assignee_key like 'id:%' then substr(t.assignee_key, 4)::uuid end)`;

/** Leaves out what was decided, expired, read, or is not for the receiver any more. */
export async function readItems(em: EntityManager, due: readonly DueDelivery[]): Promise<Item[]> {
  const userId = due[0]?.user_id ?? null;
  const reader = userId === null ? null : await readReader(em, userId);
  if (userId !== null && reader === null) return [];
  const tasks = await em.execute<(HumanTask & { assignee_username: string | null })[]>(
    `select ${TASK_COLUMNS}, ${ASSIGNEE} as assignee_username from hitl_task t where t.id = any(?::uuid[])`,
    [arrayLiteral(due.map(({ task_id: id }) => id))],
  );
  const details = await em.execute<Details[]>(
    `select n.id, n.read_at is not null as read, coalesce(a.display_name, a.username) as actor, c.comment,
            coalesce(p.display_name, p.username) as in_place_of
       from notification n left join user_account a on a.id = n.actor_id
                           left join user_account p on p.id = n.in_place_of
                           left join hitl_comment c on c.id = n.comment_id
      where n.id = any(?::uuid[])`,
    [arrayLiteral(due.flatMap(({ notification_id: id }) => id ?? []))],
  );
  const voters = await readVoters(em, tasks);
  return due.flatMap((delivery) => {
    const task = tasks.find(({ id }) => id === delivery.task_id);
    const detail = details.find(({ id }) => id === delivery.notification_id);
    if (task === undefined || detail?.read === true) return [];
    if (!isWanted(delivery, task, reader, voters.get(task.id) ?? new Set())) return [];
    const { actor = null, comment = null, in_place_of = null } = detail ?? {};
    const assignee = task.assignee_username ?? task.assignee;
    return [{ delivery, task, assignee, reader, actor, comment, in_place_of }];
  });
}

function isWanted(
  { kind }: DueDelivery,
  task: HumanTask,
  reader: Reader | null,
  voters: ReadonlySet<string>,
): boolean {
  if (kind === 'mentioned')
    return reader !== null && kindFor(reader, { reason: 'commented', data: {} }, task, voters) !== null;
  if (!isUndecided(task.status) || task.late) return false;
  const claimant = claimantOf(task);
  if (reader === null) return claimant === null;
  const as = actsAs(reader, task);
  if (claimant !== null && claimant !== as.id) return false;
  if (as !== reader && (voters.has(reader.id) || isExcluded(reader, task))) return false;
  if (kindFor(as, { reason: 'created', data: {} }, task, voters) !== null) return true;
  return kind === 'escalation' && kindFor(as, { reason: 'stranded', data: {} }, task, voters) !== null;
}

async function readReader(em: EntityManager, id: string): Promise<Reader | null> {
  const [row] = await em.execute<Reader[]>(
    `select u.id, u.username, u.display_name, u.email, to_json(u.roles) as roles, to_json(u.groups) as groups,
            ${TEAMS_OF_USER}, s.content ->> 'time_zone' as time_zone
       from user_account u left join notification_settings s on s.user_id = u.id
      where u.id = ? and u.status = 'active'`,
    [id],
  );
  return row ? { ...row, ...(await withAbsentPeople(em, row)) } : null;
}

async function readVoters(em: EntityManager, tasks: readonly HumanTask[]): Promise<Map<string, Set<string>>> {
  const voting = tasks.filter(({ quorum }) => quorum !== null).map(({ id }) => id);
  const voters = new Map<string, Set<string>>(voting.map((id) => [id, new Set()]));
  if (voting.length === 0) return voters;
  const rows = await em.execute<{ task_id: string; person: string }[]>(
    `select task_id, unnest(array_remove(array[voted_by, in_place_of], null)) as person from hitl_vote
      where task_id = any(?::uuid[])`,
    [arrayLiteral(voting)],
  );
  for (const { task_id: task, person } of rows) voters.get(task)?.add(person);
  return voters;
}
