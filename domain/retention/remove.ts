/**
 * What goes `RETENTION_DAYS` after its end (interface-decisions §9): runs, with all that hangs on them by foreign keys (events,
 * pins, tasks, human tasks, signals, checkpoints, invocations, deliveries), and the payloads of Temporal histories. Audit rows and
 * usage refer to nothing and stay. Files that the platform stored for runs go with the last run that uses them; those that users
 * uploaded are theirs, and stay until they delete them.
 */
import type { EntityManager } from '../../db/orm.ts';

/** One statement removes so many runs, or so many events, about: it must not hold locks for long. */
const RUNS = 100;
const EVENTS = 20_000;
const PAYLOADS = 100;

/**
 * One batch. A run goes after its children, and children only when the run at their root is old enough too, so that a tree goes
 * from its leaves on when all of it is over. A run whose retry has not started is kept: its checkpoint is needed.
 * @returns how many runs went, 0 if there are none left, and which files: their contents are the caller's to remove, after the commit.
 */
export function removeEndedRuns(em: EntityManager, days: number): Promise<{ runs: number; files: string[] }> {
  return em.transactional(async (tx) => {
    const { runs, files } = await deleteRuns(tx, days);
    return { runs, files: await deleteUnusedFiles(tx, files) };
  });
}

async function deleteRuns(em: EntityManager, days: number): Promise<{ runs: number; files: string[] }> {
  const [row] = await em.execute<{ runs: number; files: string[] }[]>(
    `with over as (select clock_timestamp() - ? * interval '1 day' as at),
     old as (
       select r.id, r.last_seq, r.finished_at from run r
        where r.finished_at < (select at from over)
          and not exists (select 1 from run child where child.parent_run_id = r.id)
          and not exists (select 1 from run retry where retry.retry_of = r.id and retry.status = 'pending')
          and not exists (select 1 from run root where root.id = r.root_run_id and root.id <> r.id
                                                   and coalesce(root.finished_at >= (select at from over), true))
        order by r.finished_at limit ? for update of r skip locked),
     batch as (select id, sum(last_seq) over (order by finished_at, id) - last_seq as events_before from old),
     over_now as (select id from batch where events_before < ?),
     used as (select distinct file_id from run_file where run_id in (select id from over_now)),
     gone as (delete from run where id in (select id from over_now) returning 1)
     select (select count(*)::int from gone) as runs, (select coalesce(json_agg(file_id), '[]') from used) as files`,
    [days, RUNS, EVENTS],
  );
  return row ?? { runs: 0, files: [] };
}

/** Locked first, so that a run that begins to use one of them now is seen, or finds it gone. */
async function deleteUnusedFiles(em: EntityManager, ids: readonly string[]): Promise<string[]> {
  if (ids.length === 0) return [];
  const made = await em.execute<{ id: string }[]>(`select id from file where id = any(?::uuid[]) and of_runs order by id for update`, [`{${ids.join(',')}}`]);
  const rows = await em.execute<{ id: string }[]>(
    `delete from file f where f.id = any(?::uuid[]) and not exists (select from run_file u where u.file_id = f.id) returning f.id`,
    [`{${made.map(({ id }) => id).join(',')}}`],
  );
  return rows.map(({ id }) => id);
}

/**
 * One batch of big payloads. A history that is still read has none from before its run: so what is older than the oldest run
 * that is not over stays, however long that one waits. A day more, for the platform's own executions.
 * @returns how many went, and which files held their contents: they are the caller's to remove.
 */
export async function removeOldPayloads(em: EntityManager, days: number): Promise<{ payloads: number; files: string[] }> {
  const rows = await em.execute<{ file_id: string | null }[]>(
    `with over as (
       select least(clock_timestamp() - (? + 1) * interval '1 day',
                    (select min(created_at) from run where status in ('pending', 'running', 'waiting', 'suspended'))) as at),
     old as (select p.digest from temporal_payload p where p.used_at < (select at from over) order by p.used_at limit ? for update skip locked)
     delete from temporal_payload p using old where p.digest = old.digest returning p.file_id`,
    [days, PAYLOADS],
  );
  return { payloads: rows.length, files: rows.flatMap(({ file_id }) => file_id ?? []) };
}
