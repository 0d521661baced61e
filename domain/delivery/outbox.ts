/** The outbox: the deliveries of each target in the order of `ord`, with their results. */
import { v7 as uuidv7 } from 'uuid';

import type { EntityManager } from '../../db/orm.ts';
import { Conditions, type KeysetPage } from '../../db/sql.ts';
import type { Message } from './kind.ts';

const DELIVER_FOR_MS = 24 * 3_600_000;

export interface Outgoing extends Message {
  run_id: string | null;
  seq: number | null;
  /** The index among several messages for one event. */
  part: number;
  redelivery_of?: string | null;
}

/**
 * Appends messages to a target's queue in the caller's transaction, except for events that are queued
 * already. @returns the ids, and whether the queue is due: the caller then wakes the target after the commit
 */
export async function enqueue(
  em: EntityManager,
  targetId: string,
  messages: readonly Outgoing[],
): Promise<{ ids: string[]; due: boolean }> {
  if (messages.length === 0) return { ids: [], due: false };
  // The update locks the target's row, so the numbers follow the order of commits.
  const [row] = await em.execute<{ last: string; due: boolean }[]>(
    `update delivery_target set last_ord = last_ord + ?, due_at = coalesce(due_at, clock_timestamp())
      where id = ? returning last_ord::text as last, due_at <= clock_timestamp() as due`,
    [messages.length, targetId],
  );
  if (!row) return { ids: [], due: false };
  const first = BigInt(row.last) - BigInt(messages.length);
  const rows = messages.map((message, index) => ({
    ...message,
    id: uuidv7(),
    ord: String(first + BigInt(index) + 1n),
  }));
  const inserted = await em.execute<{ id: string }[]>(
    `insert into delivery (id, target_id, ord, message_id, type, run_id, seq, part, content_type, body,
            redelivery_of, expires_at)
     select id, ?::uuid, ord, message_id, type, run_id, seq, part, content_type, body,
            redelivery_of, clock_timestamp() + ? * interval '1 millisecond'
       from json_to_recordset(?::json) as r (id uuid, ord bigint, message_id text, type text, run_id uuid,
            seq int, part int, content_type text, body text, redelivery_of uuid)
      order by ord
     on conflict (target_id, run_id, seq, part) where redelivery_of is null do nothing returning id`,
    [targetId, DELIVER_FOR_MS, JSON.stringify(rows)],
  );
  return { ids: inserted.map(({ id }) => id), due: row.due };
}

export interface DeliveryRow extends Message {
  id: string;
  target_id: string;
  run_id: string | null;
  seq: number | null;
  status: 'pending' | 'delivered' | 'failed';
  attempts: number;
  attempt_log: { at: string; status: number | null; error: string | null; duration_ms: number }[];
  last_attempt_at: Date | null;
  next_attempt_at: Date | null;
  response_status: number | null;
  error: string | null;
  redelivery_of: string | null;
  created_at: Date;
  delivered_at: Date | null;
  ord: string;
}

export type Head = DeliveryRow & {
  expired: boolean;
  age_ms: number;
  /** Of the run that the message is about. */
  traceparent: string | null;
  tracestate: string | null;
};

/** A delivery in a list: without what is sent, and with the beginning of a long type. */
export type ListedDelivery = Omit<DeliveryRow, 'content_type' | 'body'>;

/** Characters; the type of an emitted event is its author's. */
const MAX_LISTED_TYPE = 1_000;

const OTHER_COLUMNS = `d.id, d.target_id, d.ord::text as ord, d.message_id, d.run_id, d.seq, d.status,
  d.attempts, d.attempt_log, d.last_attempt_at, d.next_attempt_at, d.response_status, d.error,
  d.redelivery_of, d.created_at, d.delivered_at`;
const LISTED_COLUMNS = `${OTHER_COLUMNS}, left(d.type, ${MAX_LISTED_TYPE}) as type`;
const COLUMNS = `${OTHER_COLUMNS}, d.type, d.content_type, d.body`;

/** Newest first, starting below `before`. */
export async function listDeliveries(
  em: EntityManager,
  targetId: string,
  filter: { status?: string | undefined; run_id?: string | undefined },
  page: KeysetPage,
): Promise<ListedDelivery[]> {
  const where = new Conditions().add('d.target_id = ?', targetId);
  if (filter.status !== undefined) where.add('d.status = ?', filter.status);
  if (filter.run_id !== undefined) where.add('d.run_id = ?', filter.run_id);
  if (page.after !== undefined) where.add('d.ord < ?::bigint', page.after);
  return em.execute<ListedDelivery[]>(
    `select ${LISTED_COLUMNS} from delivery d where ${where.sql} order by d.ord desc limit ?`,
    [...where.values, page.limit],
  );
}

export async function findDelivery(
  em: EntityManager,
  targetId: string,
  id: string,
): Promise<DeliveryRow | null> {
  const [row] = await em.execute<DeliveryRow[]>(
    `select ${COLUMNS} from delivery d where d.target_id = ? and d.id = ?`,
    [targetId, id],
  );
  return row ?? null;
}

/** Queues the same bytes again, at the end of the queue. */
export async function enqueueAgain(
  em: EntityManager,
  targetId: string,
  rows: readonly DeliveryRow[],
): Promise<{ ids: string[]; due: boolean }> {
  return enqueue(
    em,
    targetId,
    rows.map(({ message_id, type, content_type, body, run_id, seq, id, redelivery_of }) => ({
      message_id,
      type,
      content_type,
      body,
      run_id,
      seq,
      part: 0,
      redelivery_of: redelivery_of ?? id,
    })),
  );
}

/** The first pending delivery. */
export async function headOf(em: EntityManager, targetId: string): Promise<Head | null> {
  const [row] = await em.execute<Head[]>(
    `select ${COLUMNS}, d.expires_at <= clock_timestamp() as expired,
            (extract(epoch from clock_timestamp() - d.created_at) * 1000)::float8 as age_ms,
            (select r.traceparent from run r where r.id = d.run_id) as traceparent,
            (select r.tracestate from run r where r.id = d.run_id) as tracestate
       from delivery d
      where d.target_id = ? and d.status = 'pending' order by d.ord limit 1`,
    [targetId],
  );
  return row ?? null;
}
