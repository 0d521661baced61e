/**
 * What is sent to people is divided among a few workflows, so that a slow counterpart holds back only a part
 * of it, and a large group does not start a workflow for each of its members. Anybody may name a slow chat,
 * so mails have shards of their own.
 */
import { createHash } from 'node:crypto';

import type { EntityManager } from '../../db/orm.ts';
import type { DueTarget } from '../ports.ts';

const MAIL_SHARDS = 4;
const CHAT_SHARDS = 4;
/** Those of mails, then those of chats. */
export const SHARDS = MAIL_SHARDS + CHAT_SHARDS;
const PREFIX = 'notifications-';
/** What could not be sent by then is given up. */
export const SEND_FOR_MS = 24 * 3_600_000;

/** By the chat, or the person who gets mails. */
export function shardOf(to: { user_id: string | null; channel_id: string | null }): number {
  const hash = createHash('sha256')
    .update(to.channel_id ?? to.user_id ?? '')
    .digest()
    .readUInt8();
  return to.channel_id === null ? hash % MAIL_SHARDS : MAIL_SHARDS + (hash % CHAT_SHARDS);
}

/** The target of delivery workflows that stands for a shard. */
export function shardTarget(shard: number): DueTarget {
  return { id: `${PREFIX}${shard}`, holder_id: null };
}

/** Null for a target of events. */
export function readShardTarget(target: string): number | null {
  return target.startsWith(PREFIX) ? Number(target.slice(PREFIX.length)) : null;
}

/** Shards with something that has been due for this long. */
export async function dueShards(em: EntityManager, overdueMs: number): Promise<number[]> {
  const rows = await em.execute<{ shard: number }[]>(
    `select s.shard from generate_series(0, ? - 1) as s (shard)
      where exists (select from notification_delivery d
                     where d.shard = s.shard and d.status = 'pending'
                       and d.due_at <= clock_timestamp() - ? * interval '1 millisecond')`,
    [SHARDS, overdueMs],
  );
  return rows.map(({ shard }) => shard);
}
