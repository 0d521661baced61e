/** A person's own notifications, as the console shows them. */
import type { NotificationKind } from '../../contracts/notification-kinds.ts';
import { MAX_TITLE, type TaskStatus } from '../../contracts/hitl.ts';
import type { EntityManager } from '../../db/orm.ts';
import { arrayLiteral, Conditions, type KeysetPage } from '../../db/sql.ts';

export interface Notification {
  id: string;
  kind: NotificationKind;
  task_id: string;
  title: string;
  workflow_name: string;
  task_status: TaskStatus;
  actor_id: string | null;
  actor_name: string | null;
  in_place_of: string | null;
  in_place_of_name: string | null;
  comment: string | null;
  created_at: Date;
  read_at: Date | null;
}

/** Numbers above this are not counted. */
export const MAX_UNREAD = 100;
const MAX_COMMENT = 300;

/** Newest first. */
export async function listNotifications(
  em: EntityManager,
  userId: string,
  filter: { unread?: boolean | undefined; kind?: NotificationKind | undefined },
  page: KeysetPage,
): Promise<Notification[]> {
  const where = new Conditions().add('n.user_id = ?', userId);
  if (filter.unread !== undefined) where.add(`n.read_at is ${filter.unread ? '' : 'not '}null`);
  if (filter.kind !== undefined) where.add('n.kind = ?', filter.kind);
  if (page.after !== undefined) where.add('n.id < ?::uuid', page.after);
  return em.execute<Notification[]>(
    `select n.id, n.kind, n.task_id, left(t.title, ${MAX_TITLE}) as title, t.workflow_name,
            t.status as task_status, n.actor_id,
            coalesce(a.display_name, a.username) as actor_name, n.in_place_of,
            coalesce(p.display_name, p.username) as in_place_of_name,
            left(c.comment, ${MAX_COMMENT}) as comment,
            n.created_at, n.read_at
       from notification n join hitl_task t on t.id = n.task_id
       left join user_account a on a.id = n.actor_id left join user_account p on p.id = n.in_place_of
       left join hitl_comment c on c.id = n.comment_id
      where ${where.sql} order by n.id desc limit ?`,
    [...where.values, page.limit],
  );
}

/** Up to `MAX_UNREAD`. */
export async function countUnread(em: EntityManager, userId: string): Promise<number> {
  const [row] = await em.execute<{ unread: number }[]>(
    `select count(*)::int as unread
       from (select from notification where user_id = ? and read_at is null limit ${MAX_UNREAD}) n`,
    [userId],
  );
  return row?.unread ?? 0;
}

/** Marks these as read, or all up to one. Ids of others are ignored. */
export async function markRead(
  em: EntityManager,
  userId: string,
  which: { ids: readonly string[] } | { up_to: string },
): Promise<void> {
  const [condition, value] =
    'ids' in which ? ['id = any(?::uuid[])', arrayLiteral(which.ids)] : ['id <= ?::uuid', which.up_to];
  const rows = await em.execute<object[]>(
    `update notification set read_at = clock_timestamp()
      where user_id = ? and read_at is null and ${condition} returning 1`,
    [userId, value],
  );
  // Other pages of the same person count anew.
  if (rows.length > 0) await em.execute(`select pg_notify('notification', ?)`, [userId]);
}
