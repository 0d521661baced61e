/**
 * Removes what is kept for a time of its own, whatever becomes of runs
 * (docs/interface.md#keeping-and-removing).
 */
import type { EntityManager } from '../../db/orm.ts';
import { HOURS_KEPT_DAYS } from '../runs/hours.ts';

/** Rows of one statement, so that it does not hold locks for long. */
const AT_ONCE = 5_000;
/** Somebody who opens an old link is told that it has expired. */
const LINKS_KEPT_DAYS = 7;

/** SQL with the number of days and the limit. */
interface OldRows {
  sql: string;
  /** `EVENT_RETENTION_DAYS` without it. */
  days?: number;
}

const OLD_ROWS = {
  deliveries: {
    sql: `delete from delivery where id in (
      select d.id from delivery d join delivery_target t on t.id = d.target_id
       where d.created_at < clock_timestamp() - ? * interval '1 day'
         and (d.status <> 'pending' or not t.active)
       order by d.created_at limit ?)`,
  },
  events: {
    sql: `delete from inbound_event where id in (
      select id from inbound_event where received_at < clock_timestamp() - ? * interval '1 day' limit ?)`,
  },
  /** Notifications themselves go with their tasks. */
  notifications: {
    sql: `delete from notification_delivery where id in (
      select id from notification_delivery
       where created_at < clock_timestamp() - ? * interval '1 day' and status <> 'pending'
       order by created_at limit ?)`,
  },
  mails: {
    sql: `delete from account_mail where id in (
      select id from account_mail
       where created_at < clock_timestamp() - ? * interval '1 day' and status <> 'pending'
       order by created_at limit ?)`,
  },
  accountLinks: {
    days: LINKS_KEPT_DAYS,
    sql: `delete from account_link where id in (
      select id from account_link where expires_at < clock_timestamp() - ? * interval '1 day'
       order by expires_at limit ?)`,
  },
  links: {
    days: LINKS_KEPT_DAYS,
    sql: `delete from decision_link where id in (
      select id from decision_link where expires_at < clock_timestamp() - ? * interval '1 day'
       order by expires_at limit ?)`,
  },
  hours: {
    days: HOURS_KEPT_DAYS,
    sql: `delete from run_hour where ctid = any(array(
      select ctid from run_hour where hour < clock_timestamp() - ? * interval '1 day' limit ?))`,
  },
  /** Nothing is signed with them any more. Locked, as a rotation may just have stored another one. */
  formerSecrets: {
    days: 0,
    sql: `update webhook set former_secret_encrypted = null, former_secret_until = null where id in (
      select id from webhook where former_secret_until < clock_timestamp() - ? * interval '1 day'
       order by former_secret_until limit ? for update skip locked)`,
  },
} as const satisfies Record<string, OldRows>;

export type RemovedRows = Record<keyof typeof OLD_ROWS, number>;

/** Removes one batch of each kind. @returns how many rows of each; all 0 at the end */
export async function removeOldRows(em: EntityManager, eventDays: number): Promise<RemovedRows> {
  const removed: RemovedRows = {
    deliveries: 0,
    events: 0,
    notifications: 0,
    mails: 0,
    accountLinks: 0,
    links: 0,
    hours: 0,
    formerSecrets: 0,
  };
  for (const [kind, { sql, ...own }] of Object.entries(OLD_ROWS)) {
    const days = 'days' in own ? own.days : eventDays;
    const rows = await em.execute<object[]>(`${sql} returning 1`, [days, AT_ONCE]);
    removed[kind as keyof RemovedRows] = rows.length;
  }
  return removed;
}
