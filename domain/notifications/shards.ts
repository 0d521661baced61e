/**
 * What is sent to people is divided among a few workflows, so that a slow counterpart holds back only a part
 * of it, and a large group does not start a workflow for each of its members.
 */
import { createHash } from 'node:crypto';

import type { EntityManager } from '../../db/orm.ts';

const SHARDS = 4;
const PREFIX = 'notifications-';

/** By the person, or the chat. */
export function shardOf(id: string): number {
  return createHash('sha256').update(id).digest().readUInt8() % SHARDS;
}

/** The target of delivery workflows that stands for a shard. */
export function shardTarget(shard: number): string {
  return `${PREFIX}${shard}`;
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
