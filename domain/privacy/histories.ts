/**
 * Histories of runs in Temporal. Those of removed runs, and of runs whose texts were changed, are removed;
 * the rows of `erasure_history` say which are left, so no kill and no outage of Temporal loses one.
 */
import type { EntityManager } from '../../db/orm.ts';
import { arrayLiteral } from '../../db/sql.ts';
import { TemporalUnavailable, type TemporalGateway } from '../ports.ts';

/** Of one lease; a process that dies holds them up for LEASE. */
const AT_ONCE = 20;
const LEASE = '1 minute';

export type HistoryGateway = Pick<TemporalGateway, 'removeHistory' | 'historyRetentionMs'>;

export interface HistoryReport {
  removed: number;
  /** Still to be removed. */
  waiting: number;
  /** Ended runs of the person whose histories Temporal keeps until its retention ends. */
  kept: number;
  /** When the last of them is gone; null without one, and while Temporal does not answer. */
  kept_until: Date | null;
}

/** Works until there is nothing left or the time is over. Several processes may call it. */
export async function removeHistories(
  fork: () => EntityManager,
  temporal: HistoryGateway,
  budgetMs: number,
): Promise<void> {
  const deadline = performance.now() + budgetMs;
  while (performance.now() < deadline) {
    const runIds = await lease(fork());
    if (runIds.length === 0) return;
    const outcomes = { removed: [] as string[], none: [] as string[], running: [] as string[] };
    try {
      for (const runId of runIds) outcomes[await temporal.removeHistory(runId)].push(runId);
    } finally {
      await settle(fork(), outcomes);
    }
  }
}

async function lease(em: EntityManager): Promise<string[]> {
  const rows = await em.execute<{ run_id: string }[]>(
    `update erasure_history set next_at = clock_timestamp() + interval '${LEASE}'
      where run_id = any(array(select run_id from erasure_history where next_at <= clock_timestamp()
                                order by next_at limit ? for update skip locked))
      returning run_id`,
    [AT_ONCE],
  );
  return rows.map(({ run_id: id }) => id);
}

/** An execution that has not closed yet, just after its run's end, is tried again after the lease. */
async function settle(
  em: EntityManager,
  { removed, none }: { removed: string[]; none: string[] },
): Promise<void> {
  await em.execute(
    `with gone as (delete from erasure_history where run_id = any(?::uuid[]) returning run_id, user_id)
     update erasure e set histories_removed = e.histories_removed + g.count
       from (select user_id, count(*) filter (where run_id = any(?::uuid[]))::int as count
               from gone group by user_id) g
      where e.user_id = g.user_id`,
    [arrayLiteral([...removed, ...none]), arrayLiteral(removed)],
  );
}

/** How long Temporal keeps histories after a run's end; null while it does not answer. */
export async function retentionOf(temporal: HistoryGateway): Promise<number | null> {
  try {
    return await temporal.historyRetentionMs();
  } catch (error) {
    if (error instanceof TemporalUnavailable) return null;
    throw error;
  }
}

export async function historiesOf(
  em: EntityManager,
  userId: string,
  retentionMs: number | null,
): Promise<HistoryReport> {
  const [row] = await em.execute<{ removed: number; waiting: number; kept: number; last: string | null }[]>(
    `select coalesce((select histories_removed from erasure where user_id = ?), 0) as removed,
            (select count(*)::int from erasure_history where user_id = ?) as waiting,
            count(*)::int as kept, max(finished_at) as last
       from run r
      where r.owner_id = ? and (?::float8 is null or finished_at > clock_timestamp() - ? * interval '1 ms')
        and finished_at is not null and not exists (select from erasure_history h where h.run_id = r.id)`,
    [userId, userId, userId, retentionMs, retentionMs],
  );
  const { removed = 0, waiting = 0, kept = 0, last = null } = row ?? {};
  const until =
    last === null || retentionMs === null ? null : new Date(new Date(last).getTime() + retentionMs);
  return { removed, waiting, kept, kept_until: until };
}
