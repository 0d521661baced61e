/**
 * What goes `RETENTION_DAYS` after its end (interface-decisions §9): runs, with all that hangs on them by foreign keys (events,
 * pins, tasks, human tasks, signals, checkpoints, invocations, deliveries), and the payloads of Temporal histories. Audit rows and
 * usage refer to nothing and stay; files are their owners' and stay too.
 */
import type { EntityManager } from '../../db/orm.ts';

/** One statement removes so many runs, or so many events, about: it must not hold locks for long. */
const RUNS = 100;
const EVENTS = 20_000;
const PAYLOADS = 100;

/**
 * One batch. A run goes after its children, and children only when the run at their root is old enough too, so that a tree goes
 * from its leaves on when all of it is over. A run whose retry has not started is kept: its checkpoint is needed.
 * @returns how many went; 0 if there are none left.
 */
export async function removeEndedRuns(em: EntityManager, days: number): Promise<number> {
  const rows = await em.execute<object[]>(
    `with over as (select clock_timestamp() - ? * interval '1 day' as at),
     old as (
       select r.id, r.last_seq, r.finished_at from run r
        where r.finished_at < (select at from over)
          and not exists (select 1 from run child where child.parent_run_id = r.id)
          and not exists (select 1 from run retry where retry.retry_of = r.id and retry.status = 'pending')
          and not exists (select 1 from run root where root.id = r.root_run_id and root.id <> r.id
                                                   and coalesce(root.finished_at >= (select at from over), true))
        order by r.finished_at limit ? for update of r skip locked),
     batch as (select id, sum(last_seq) over (order by finished_at, id) - last_seq as events_before from old)
     delete from run where id in (select id from batch where events_before < ?) returning 1`,
    [days, RUNS, EVENTS],
  );
  return rows.length;
}

/**
 * One batch of big payloads. A history that is still read has none from before its run: so what is older than the oldest run
 * that is not over stays, however long that one waits. A day more, for the platform's own executions.
 * @returns how many went.
 */
export async function removeOldPayloads(em: EntityManager, days: number): Promise<number> {
  const rows = await em.execute<object[]>(
    `with over as (
       select least(clock_timestamp() - (? + 1) * interval '1 day',
                    (select min(created_at) from run where status in ('pending', 'running', 'waiting', 'suspended'))) as at),
     old as (select p.digest from temporal_payload p where p.used_at < (select at from over) order by p.used_at limit ? for update skip locked)
     delete from temporal_payload p using old where p.digest = old.digest returning 1`,
    [days, PAYLOADS],
  );
  return rows.length;
}
