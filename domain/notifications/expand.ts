/**
 * Turns the outbox into notifications: one for each person whom a notice concerns, and what is sent to them.
 * One transaction covers a page of people and the notice's new position, so that a crash repeats nothing.
 */
import { v7 as uuidv7 } from 'uuid';

import { UNDECIDED } from '../../contracts/hitl.ts';
import type { NoticeReason, NotificationKind } from '../../contracts/notification-kinds.ts';
import type { EntityManager, Orm } from '../../db/orm.ts';
import { arrayLiteral, isOneOf } from '../../db/sql.ts';
import { isUuid } from '../../contracts/uuid.ts';
import { IS_TOLD } from './channels.ts';
import { findTask, type HumanTask } from '../hitl/human-task.ts';
import { isUndecided } from '../hitl/state-machine.ts';
import {
  findDeputies,
  findRecipients,
  kindFor,
  noticePrincipals,
  principalsNamed,
  standsIn,
  type Notice,
  type Recipient,
} from './recipients.ts';
import { sendTime } from './send-times.ts';
import { SEND_FOR_MS, shardOf } from './shards.ts';
import { warnIfUndecidable } from './undecidable.ts';

export interface ExpandDeps {
  orm: Orm;
  /** Whether mails can be sent. */
  hasMail: boolean;
  /** IANA name, for people who have chosen none. */
  timeZone: string;
  /** The most people whom one notice tells. */
  maxRecipients: number;
  /** A notice could not be told now; the next round tries again. */
  failed(error: unknown): void;
  /** A task has opened that too few people may decide now. */
  undecidable?: () => void;
}

const PAGE = 200;
const MAX_ROUNDS = 100;

/** @returns the shards that have something to send */
export async function expandNotices(
  deps: ExpandDeps,
  heartbeat: () => void = () => {},
): Promise<Set<number>> {
  const shards = new Set<number>();
  let after = '0';
  for (let round = 0; round < MAX_ROUNDS; round++) {
    heartbeat();
    const taken: Taken = {};
    try {
      const done = await deps.orm.em.fork().transactional((em) => expandOne(em, deps, after, taken));
      if (done === null) break;
      if (taken.isUndecidable) deps.undecidable?.();
      for (const shard of done) shards.add(shard);
    } catch (error) {
      // One notice does not hold up the others.
      if (taken.id === undefined) throw error;
      deps.failed(error);
      after = taken.id;
    }
  }
  return shards;
}

/** Writes notices of tasks that will expire soon; each task has one. */
export async function noticeExpiring(em: EntityManager): Promise<void> {
  const reason: NoticeReason = 'expiring';
  await em.execute(
    `with soon as (
       select id, expires_at > clock_timestamp() and ${isOneOf('status', UNDECIDED)} as tell
         from hitl_task where warn_at <= clock_timestamp() order by id limit ? for no key update skip locked),
     marked as (update hitl_task t set warn_at = null from soon where t.id = soon.id)
     insert into notice (task_id, reason, data) select id, ?::text, '{}' from soon where tell`,
    [PAGE, reason],
  );
}

interface Taken {
  /** Of the notice. */
  id?: string;
  /** Too few people may decide its task, which was said. */
  isUndecidable?: boolean;
}

/** The first notice after `after`. @returns null if there is none */
async function expandOne(
  em: EntityManager,
  deps: ExpandDeps,
  after: string,
  taken: Taken,
): Promise<number[] | null> {
  const [notice] = await em.execute<Notice[]>(
    `select id::text as id, task_id, reason, data, after_user, told from notice
      where id > ?::bigint order by notice.id limit 1 for update skip locked`,
    [after],
  );
  if (!notice) return null;
  taken.id = notice.id;
  const task = await findTask(em, notice.task_id);
  if (task === null || (notice.reason !== 'commented' && (!isUndecided(task.status) || task.late))) {
    await remove(em, notice);
    return [];
  }
  const principals = await noticePrincipals(em, notice, task);
  const limit = Math.min(PAGE, deps.maxRecipients - notice.told);
  const people = await findRecipients(em, principals, { after: notice.after_user, limit });
  const asked = { people, limit, most: deps.maxRecipients };
  if (notice.reason === 'created' && notice.after_user === null)
    taken.isUndecidable = await warnIfUndecidable(em, task, asked);
  if (notice.reason === 'returned' && notice.after_user === null)
    if (await warnIfUndecidable(em, task, asked, notice.id)) await addNotice(em, task.id, 'stranded');
  const told = await tell(em, deps, { notice, task, people });
  const chats = notice.after_user === null ? await tellChats(em, notice, task) : [];
  const isLast = people.length < limit || notice.told + people.length >= deps.maxRecipients;
  if (isLast) await remove(em, notice);
  else
    await em.execute('update notice set after_user = ?, told = told + ? where id = ?', [
      people.at(-1)?.id ?? null,
      people.length,
      notice.id,
    ]);
  return [...told, ...chats];
}

/** For what has no event. In the transaction of the change. */
export async function addNotice(
  em: EntityManager,
  taskId: string,
  reason: NoticeReason,
  data: Notice['data'] = {},
): Promise<void> {
  await em.execute('insert into notice (task_id, reason, data) values (?, ?, ?::json)', [
    taskId,
    reason,
    JSON.stringify(data),
  ]);
  await em.execute(`select pg_notify('notice', '')`);
}

function remove(em: EntityManager, { id }: Notice): Promise<unknown> {
  return em.execute('delete from notice where id = ?', [id]);
}

interface Page {
  notice: Notice;
  task: HumanTask;
  people: readonly Recipient[];
}

async function tell(em: EntityManager, deps: ExpandDeps, { notice, task, people }: Page): Promise<number[]> {
  const voters = await votersOf(em, task);
  const { by, comment_id: comment } = notice.data;
  const told = people.flatMap((person) => {
    const kind = kindFor(person, notice, task, voters);
    return kind === null ? [] : [{ person, kind, id: uuidv7(), in_place_of: null as string | null }];
  });
  const deputies = await findDeputies(
    em,
    told.map(({ person }) => person.id),
  );
  const standIns = deputies.flatMap((deputy) => {
    const { kind } = told.find(({ person }) => person.id === deputy.absent_id) ?? {};
    return kind !== undefined && kind !== 'mentioned' && standsIn(deputy, task, voters)
      ? [{ deputy, kind }]
      : [];
  });
  const away = new Set(standIns.map(({ deputy }) => deputy.absent_id));
  const rows = [
    ...told.map((row) => ({ ...row, isAway: away.has(row.person.id) })),
    ...standIns
      .filter(({ deputy }) => !told.some(({ person }) => person.id === deputy.id))
      .map(({ deputy, kind }) => {
        return { person: deputy, kind, id: uuidv7(), in_place_of: deputy.absent_id, isAway: false };
      }),
  ];
  const inserted = await em.execute<{ id: string }[]>(
    `insert into notification (id, user_id, kind, task_id, notice_id, actor_id, comment_id, in_place_of)
     select r.id, r.user_id, r.kind, ?::uuid, ?::bigint,
            (select u.id from user_account u where u.id = ?::uuid), ?::uuid, r.in_place_of
       from json_to_recordset(?::json) as r (id uuid, user_id uuid, kind text, in_place_of uuid)
     on conflict (user_id, notice_id) do nothing returning id`,
    [
      task.id,
      notice.id,
      typeof by === 'string' ? by : null,
      typeof comment === 'string' ? comment : null,
      JSON.stringify(
        rows.map(({ id, person, kind, in_place_of }) => ({ id, user_id: person.id, kind, in_place_of })),
      ),
    ],
  );
  const fresh = new Set(inserted.map(({ id }) => id));
  const news = rows.filter(({ id }) => fresh.has(id));
  if (news.length > 0)
    await em.execute(`select pg_notify('notification', id) from unnest(?::text[]) as id`, [
      arrayLiteral(news.map(({ person }) => person.id)),
    ]);
  return enqueue(
    em,
    notice,
    task,
    // Mails and chats of absent people wait for nobody: their deputies get them.
    news
      .filter(({ isAway }) => !isAway)
      .flatMap(({ id, person, kind }) => deliveriesOf(deps, task, id, person, kind)),
  );
}

export async function votersOf(em: EntityManager, task: HumanTask): Promise<Set<string>> {
  if (task.quorum === null) return new Set();
  const rows = await em.execute<{ person: string }[]>(
    `select unnest(array_remove(array[voted_by, in_place_of], null)) as person from hitl_vote
      where task_id = ?`,
    [task.id],
  );
  return new Set(rows.map(({ person }) => person));
}

interface NewDelivery {
  user_id: string | null;
  notification_id: string | null;
  channel_id: string | null;
  kind: NotificationKind;
  due_at: Date;
}

function deliveriesOf(
  { hasMail, timeZone }: ExpandDeps,
  task: HumanTask,
  notificationId: string,
  { id, settings, channels }: Recipient,
  kind: NotificationKind,
): NewDelivery[] {
  const due = (isMail: boolean): Date =>
    sendTime(settings, {
      now: new Date(),
      expiresAt: task.expires_at === null ? null : new Date(task.expires_at),
      defaultZone: timeZone,
      isMail,
    });
  const to = { user_id: id, notification_id: notificationId, kind };
  const mail =
    hasMail && settings.mail?.[kind] !== false ? [{ ...to, channel_id: null, due_at: due(true) }] : [];
  if (settings.chat?.[kind] === false) return mail;
  const chats = channels.filter(({ kinds }) => kinds.includes(kind));
  return [...mail, ...chats.map((chat) => ({ ...to, channel_id: chat.id, due_at: due(false) }))];
}

/** Chats of groups and teams that are candidates, of the workflow, and of its team. */
async function tellChats(em: EntityManager, notice: Notice, task: HumanTask): Promise<number[]> {
  if (notice.reason === 'commented' || notice.reason === 'stranded') return [];
  if (notice.reason === 'returned' && notice.data['changed'] === false) return [];
  const kind = CHAT_KIND[notice.reason];
  const groups = principalsNamed('group:', task.principals);
  const teams = principalsNamed('team:', task.principals).filter((word) => isUuid(word));
  if (task.team_id !== null) teams.push(task.team_id);
  const rows = await em.execute<{ id: string }[]>(
    `select c.id from notification_channel c join user_account o on o.id = c.owner_id
      where c.active and ${IS_TOLD} and ? = any(c.kinds)
        and (c.group_name = any(?::text[]) or c.workflow_id = ?::uuid or c.team_id = any(?::uuid[]))
      order by c.id limit ?`,
    [kind, arrayLiteral(groups), task.workflow_id, arrayLiteral(teams), PAGE],
  );
  const due_at = new Date();
  const chats = rows.map(({ id }) => ({
    user_id: null,
    notification_id: null,
    channel_id: id,
    kind,
    due_at,
  }));
  return enqueue(em, notice, task, chats);
}

/** What a notice is for a chat of several people. */
const CHAT_KIND: Record<Exclude<NoticeReason, 'commented' | 'stranded'>, NotificationKind> = {
  created: 'candidate',
  delegated: 'assigned',
  reminder: 'reminder',
  escalated: 'escalation',
  expiring: 'expiring',
  returned: 'candidate',
};

async function enqueue(
  em: EntityManager,
  notice: Notice,
  task: HumanTask,
  given: readonly NewDelivery[],
): Promise<number[]> {
  if (given.length === 0) return [];
  const rows = given.map((row) => ({
    ...row,
    id: uuidv7(),
    shard: shardOf(row),
    expires_at: new Date(row.due_at.getTime() + SEND_FOR_MS),
  }));
  await em.execute(
    `insert into notification_delivery
       (id, user_id, notification_id, channel_id, notice_id, kind, task_id, shard, due_at, expires_at)
     select id, user_id, notification_id, channel_id, ?::bigint, kind, ?::uuid, shard, due_at, expires_at
       from json_to_recordset(?::json) as r (id uuid, user_id uuid, notification_id uuid, channel_id uuid,
            kind text, shard int, due_at timestamptz, expires_at timestamptz)
     on conflict do nothing`,
    [notice.id, task.id, JSON.stringify(rows)],
  );
  return rows.filter(({ due_at: at }) => at.getTime() <= Date.now()).map(({ shard }) => shard);
}
