/**
 * Histories of runs in Temporal. Those of removed runs, and of runs whose texts were changed, are removed;
 * the rows of `erasure_history` say which are left, so no kill and no outage of Temporal loses one.
 */
import type { EntityManager } from '../../db/orm.ts';
import { arrayLiteral } from '../../db/sql.ts';
import { conflict } from '../errors.ts';
import { TemporalRefused, TemporalUnavailable, type TemporalGateway } from '../ports.ts';

/** Of one lease; a process that dies holds them up for LEASE. */
const AT_ONCE = 20;
const LEASE = '1 minute';
/** After so many refusals, within 15 minutes, an administrator has to do something (`retryHistories`). */
const MAX_ATTEMPTS = 5;
/** `next_at` of those that were given up. */
const NEVER = `'infinity'`;

export type HistoryGateway = Pick<TemporalGateway, 'removeHistory' | 'historyRetentionMs'>;

export interface HistoryReport {
  removed: number;
  /** Still to be removed. */
  waiting: number;
  /** Those that Temporal refuses to remove: given up until they are retried. */
  refused: number;
  /** How it refuses the first of them: `PERMISSION_DENIED`. */
  refusal: string | null;
  /** Ended runs of the person whose histories Temporal keeps until its retention ends. */
  kept: number;
  /** When the last of them is gone; null without one, and while Temporal does not answer. */
  kept_until: Date | null;
}

/** What became of the leased ones. Those of which nothing is known are tried again after the lease. */
interface Outcomes {
  removed: string[];
  none: string[];
  running: string[];
  refused: { run_id: string; refusal: string }[];
}

/**
 * Works until there is nothing left or the time is over. Several processes may call it. @throws
 * TemporalUnavailable
 */
export async function removeHistories(
  fork: () => EntityManager,
  temporal: HistoryGateway,
  budgetMs: number,
): Promise<void> {
  const deadline = performance.now() + budgetMs;
  while (performance.now() < deadline) {
    const runIds = await lease(fork());
    if (runIds.length === 0) return;
    const outcomes: Outcomes = { removed: [], none: [], running: [], refused: [] };
    try {
      for (const runId of runIds) await removeOne(temporal, runId, outcomes);
    } finally {
      await settle(fork(), outcomes);
      await noteRefusals(fork(), outcomes);
    }
  }
}

async function removeOne(temporal: HistoryGateway, runId: string, outcomes: Outcomes): Promise<void> {
  try {
    outcomes[await temporal.removeHistory(runId)].push(runId);
  } catch (error) {
    if (!(error instanceof TemporalRefused)) throw error;
    outcomes.refused.push({ run_id: runId, refusal: error.status });
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
async function settle(em: EntityManager, { removed, none }: Outcomes): Promise<void> {
  await em.execute(
    `with gone as (delete from erasure_history where run_id = any(?::uuid[]) returning run_id, user_id)
     update erasure e set histories_removed = e.histories_removed + g.count
       from (select user_id, count(*) filter (where run_id = any(?::uuid[]))::int as count
               from gone group by user_id) g
      where e.user_id = g.user_id`,
    [arrayLiteral([...removed, ...none]), arrayLiteral(removed)],
  );
}

/** Each pause is twice as long as the one before. */
async function noteRefusals(em: EntityManager, { refused }: Outcomes): Promise<void> {
  if (refused.length === 0) return;
  await em.execute(
    `update erasure_history h
        set attempts = h.attempts + 1, refusal = r.refusal,
            next_at = case when h.attempts + 1 >= ? then ${NEVER}::timestamptz
                           else clock_timestamp() + interval '1 minute' * (1 << h.attempts) end
       from json_to_recordset(?::json) as r (run_id uuid, refusal text) where h.run_id = r.run_id`,
    [MAX_ATTEMPTS, JSON.stringify(refused)],
  );
}

/** Tries again what was given up. @throws 409 if nothing was */
export async function retryHistories(em: EntityManager, userId: string): Promise<void> {
  const retried = await em.execute<object[]>(
    `update erasure_history set next_at = clock_timestamp(), attempts = 0, refusal = null
      where user_id = ? and next_at = ${NEVER} returning 1`,
    [userId],
  );
  if (retried.length === 0)
    throw conflict('nothing_refused', 'Temporal has refused to remove no history of this erasure.');
}

/** How long Temporal keeps histories after a run's end; null while it does not say. */
export async function retentionOf(temporal: HistoryGateway): Promise<number | null> {
  try {
    return await temporal.historyRetentionMs();
  } catch (error) {
    if (error instanceof TemporalUnavailable || error instanceof TemporalRefused) return null;
    throw error;
  }
}

export async function historiesOf(
  em: EntityManager,
  userId: string,
  retentionMs: number | null,
): Promise<HistoryReport> {
  const [row] = await em.execute<(Omit<HistoryReport, 'kept_until'> & { last: string | null })[]>(
    `select coalesce((select histories_removed from erasure where user_id = ?), 0) as removed,
            (select count(*)::int from erasure_history where user_id = ? and next_at < ${NEVER}) as waiting,
            (select count(*)::int from erasure_history where user_id = ? and next_at = ${NEVER}) as refused,
            (select refusal from erasure_history where user_id = ? and next_at = ${NEVER}
              order by run_id limit 1) as refusal,
            count(*)::int as kept, max(finished_at) as last
       from run r
      where r.owner_id = ? and (?::float8 is null or finished_at > clock_timestamp() - ? * interval '1 ms')
        and finished_at is not null and not exists (select from erasure_history h where h.run_id = r.id)`,
    [userId, userId, userId, userId, userId, retentionMs, retentionMs],
  );
  const { removed = 0, waiting = 0, refused = 0, refusal = null, kept = 0, last = null } = row ?? {};
  const until =
    last === null || retentionMs === null ? null : new Date(new Date(last).getTime() + retentionMs);
  return { removed, waiting, refused, refusal, kept, kept_until: until };
}
