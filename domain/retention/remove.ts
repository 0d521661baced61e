/**
 * Removes data `RETENTION_DAYS` after its end (docs/interface.md#keeping-and-removing): runs with everything
 * that references them (pins, tasks, human tasks, signals, checkpoints, invocations, deliveries), their
 * events (log.ts), and the payloads of Temporal histories. Audit rows and usage have no foreign keys and
 * stay. Files that the platform stored for runs are removed with the last run that uses them; files that
 * users uploaded stay until the users delete them.
 */
import { LIVE_STATUSES } from '../../contracts/run-events.ts';
import type { EntityManager } from '../../db/orm.ts';
import { arrayLiteral, isOneOf } from '../../db/sql.ts';
import { removeEventsUnlessWaiting, waitingPartitions } from './log.ts';

/** Limits of one statement, so that it does not hold locks for long. EVENTS is approximate. */
const RUNS = 100;
const EVENTS = 20_000;
const PAYLOADS = 100;

/**
 * Removes one batch of runs. A tree is removed from its leaves upwards, once its root is old enough too. A
 * run is kept while its retry has not started, because the retry needs its checkpoint. @returns the number of
 * removed runs, 0 at the end, and the files whose contents the caller removes after the commit
 */
export function removeEndedRuns(em: EntityManager, days: number): Promise<{ runs: number; files: string[] }> {
  return em.transactional(async (tx) => {
    const waiting = await waitingPartitions(tx, days);
    await tx.execute(`select set_config('cadenza.leaves_logs', 'on', true)`);
    const { runs, files } = await deleteRuns(tx, { days });
    await removeEventsUnlessWaiting(tx, runs, waiting);
    return { runs: runs.length, files: await deleteUnusedFiles(tx, files) };
  });
}

/**
 * Removes one batch of a person's ended runs, from the leaves of their trees upwards, in the caller's
 * transaction. What hangs on runs of others stays until their time.
 */
export async function removeRunsOf(
  em: EntityManager,
  ownerId: string,
): Promise<{ runs: string[]; files: string[] }> {
  const { runs, files } = await deleteRuns(em, { ownerId });
  return { runs, files: await deleteUnusedFiles(em, files) };
}

/** Which runs may go: those that ended so many days ago, or all ended ones of an owner. */
type Removable = { days: number } | { ownerId: string };

/** With their events, unless `cadenza.leaves_logs` is set. */
async function deleteRuns(em: EntityManager, which: Removable): Promise<{ runs: string[]; files: string[] }> {
  const [days, ownerId] = 'days' in which ? [which.days, null] : [0, which.ownerId];
  const [row] = await em.execute<{ runs: string[]; files: string[] }[]>(
    `with over as (select clock_timestamp() - ? * interval '1 day' as at),
     old as (
       select r.id, r.last_seq, r.finished_at from run r
        where r.finished_at < (select at from over) and (?::uuid is null or r.owner_id = ?::uuid)
          and not exists (select 1 from run child where child.parent_run_id = r.id)
          and not exists (select 1 from run retry where retry.retry_of = r.id and retry.status = 'pending')
          and not exists (select 1 from run root
                           where root.id = r.root_run_id and root.id <> r.id
                             and coalesce(root.finished_at >= (select at from over), true))
        order by r.finished_at limit ? for update of r skip locked),
     batch as (select id, sum(last_seq) over (order by finished_at, id) - last_seq as events_before from old),
     over_now as (select id from batch where events_before < ?),
     used as (select distinct file_id from run_file where run_id in (select id from over_now)),
     gone as (delete from run where id in (select id from over_now) returning id),
     budgets as (
       delete from budget b
        where b.subject = 'run'
          and b.subject_id in (select r.budget_id from run r where r.id in (select id from over_now))
          and not exists (select from run r where r.budget_id = b.subject_id
                                              and r.id not in (select id from over_now)))
     select (select coalesce(json_agg(id), '[]') from gone) as runs,
            (select coalesce(json_agg(file_id), '[]') from used) as files`,
    [days, ownerId, ownerId, RUNS, EVENTS],
  );
  return row ?? { runs: [], files: [] };
}

/** Locks the files first: a run that starts using one of them is either seen, or finds it deleted. */
async function deleteUnusedFiles(em: EntityManager, ids: readonly string[]): Promise<string[]> {
  if (ids.length === 0) return [];
  const stored = await em.execute<{ id: string }[]>(
    `select id from file where id = any(?::uuid[]) and of_runs order by id for update`,
    [arrayLiteral(ids)],
  );
  const rows = await em.execute<{ id: string }[]>(
    `delete from file f
      where f.id = any(?::uuid[]) and not exists (select from run_file u where u.file_id = f.id)
      returning f.id`,
    [arrayLiteral(stored.map(({ id }) => id))],
  );
  return rows.map(({ id }) => id);
}

/**
 * Removes one batch of large payloads. A history that can still be read contains no payloads older than its
 * run, so payloads newer than the oldest unfinished run are kept, however long it waits. One extra day covers
 * the platform's own executions. @returns the number of removed payloads, and the files with their contents,
 * which the caller removes
 */
export async function removeOldPayloads(
  em: EntityManager,
  days: number,
): Promise<{ payloads: number; files: string[] }> {
  const rows = await em.execute<{ file_id: string | null }[]>(
    `with over as (
       select least(clock_timestamp() - (? + 1) * interval '1 day',
                    (select min(created_at) from run
                      where ${isOneOf('status', LIVE_STATUSES)})) as at),
     old as (select p.digest from temporal_payload p
              where p.used_at < (select at from over) order by p.used_at limit ? for update skip locked)
     delete from temporal_payload p using old where p.digest = old.digest returning p.file_id`,
    [days, PAYLOADS],
  );
  return { payloads: rows.length, files: rows.flatMap(({ file_id }) => file_id ?? []) };
}
