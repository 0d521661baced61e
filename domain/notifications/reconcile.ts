/** Resumes what a crash or an outage of Temporal left undone, and what has become due since. */
import { wakeTargets } from '../delivery/reconcile.ts';
import type { TemporalGateway } from '../ports.ts';
import { noticeExpiring } from './expand.ts';
import { prepareMessages, type PrepareDeps } from './prepare.ts';
import { dueShards, shardTarget } from './shards.ts';

/** Younger deliveries are probably being sent right now. */
const OVERDUE_MS = 5_000;

/** @returns the number of delivery workflows woken */
export async function reconcileNotifications(
  { expand, temporal }: { expand: PrepareDeps; temporal: Pick<TemporalGateway, 'wakeDelivery'> },
  { heartbeat, overdueMs = OVERDUE_MS }: { heartbeat: () => void; overdueMs?: number },
): Promise<number> {
  const em = expand.orm.em.fork();
  await em.transactional((tx) => noticeExpiring(tx));
  const shards = await prepareMessages(expand, heartbeat);
  for (const shard of await dueShards(expand.orm.em.fork(), overdueMs)) shards.add(shard);
  return wakeTargets(temporal, [...shards].map(shardTarget));
}
