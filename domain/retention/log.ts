/**
 * Removes the logs of removed runs. In the partition of a month their events stay until the last of its runs
 * is removed: then the partition is dropped (docs/adr/0062). Nobody can read them meanwhile, since every
 * reader asks for the run first. Where a run lives on for longer, they are removed one by one.
 */
import type { EntityManager } from '../../db/orm.ts';
import {
  DEFAULT_PARTITION,
  EARLIER_PARTITION,
  isLogBusy,
  makeLogPartitions,
  readLogState,
  timeOfId,
  type LogPartition,
  type RunSql,
} from '../../db/log-partitions.ts';
import { arrayLiteral } from '../../db/sql.ts';

const DAY_MS = 24 * 3_600_000;
/** Runs of the last days of a month have so long to end, after which the partition is waited for no more. */
const GRACE_DAYS = 7;
/** So long after an erasure no events wait for the drop of a partition: some may be of the person's runs. */
const ERASURE_HOURS = 3;
/** Runs of one batch of a sweep, and about how many events. */
const RUNS = 500;
const EVENTS = 20_000;

const sqlOf =
  (em: EntityManager): RunSql =>
  (sql) =>
    em.execute(sql);

/**
 * Makes the partitions of the coming months. @returns their names; what is left, because others held the log
 * for too long, is made next time
 */
export async function makeComingPartitions(em: EntityManager): Promise<string[]> {
  return (await unlessBusy(() => makeLogPartitions(sqlOf(em)))) ?? [];
}

/**
 * Drops partitions of whose runs none is there any more. @returns their names; what is left, because others
 * held the log for too long, is dropped next time
 */
export async function dropEmptyPartitions(em: EntityManager, days: number): Promise<string[]> {
  const { nowMs, partitions } = await readLogState(sqlOf(em));
  const dropped: string[] = [];
  for (const { name, to } of partitions) {
    if (to === null || timeOfId(to) + days * DAY_MS > nowMs) continue;
    const rows = await unlessBusy(() =>
      em.execute<{ dropped: boolean }[]>('select drop_log_partition(?) as dropped', [name]),
    );
    if (rows === null) break;
    if (rows[0]?.dropped) dropped.push(name);
  }
  return dropped;
}

async function unlessBusy<Result>(work: () => Promise<Result>): Promise<Result | null> {
  try {
    return await work();
  } catch (error) {
    if (isLogBusy(error)) return null;
    throw error;
  }
}

/** The partitions in which events of removed runs wait, for the drop. */
export async function waitingPartitions(em: EntityManager, days: number): Promise<LogPartition[]> {
  const { nowMs, partitions } = await readLogState(sqlOf(em));
  return months(partitions).filter(
    ({ to }) => to !== null && timeOfId(to) + (days + GRACE_DAYS) * DAY_MS > nowMs,
  );
}

const months = (partitions: readonly LogPartition[]): LogPartition[] =>
  partitions.filter(({ name }) => name !== EARLIER_PARTITION && name !== DEFAULT_PARTITION);

/** Call after the removal of runs that has left their events, in its transaction. */
export async function removeEventsUnlessWaiting(
  em: EntityManager,
  runIds: readonly string[],
  waiting: readonly LogPartition[],
): Promise<void> {
  const due = runIds.filter(
    (id) => !waiting.some(({ from, to }) => from !== null && to !== null && id >= from && id < to),
  );
  if (due.length > 0)
    await em.execute('delete from run_event where run_id = any(?::uuid[])', [arrayLiteral(due)]);
}

/** Where a sweep of the partitions goes on. */
export interface SweepPosition {
  /** Not yet swept to their end. */
  left: LogPartition[];
  /** The last run that was looked at in the first of them. */
  after: string | null;
}

/**
 * Of the partitions that a run has kept beyond their time. They are read from their beginning each time,
 * which is little once they are swept.
 */
export async function beginSweep(em: EntityManager, days: number): Promise<SweepPosition> {
  const [row] = await em.execute<{ erased: boolean }[]>(
    `select exists (select from erasure
                     where finished_at is null or finished_at > now() - interval '${ERASURE_HOURS} hours')
              as erased`,
  );
  const { partitions } = await readLogState(sqlOf(em));
  const waiting = row?.erased ? [] : (await waitingPartitions(em, days)).map(({ name }) => name);
  return { left: months(partitions).filter(({ name }) => !waiting.includes(name)), after: null };
}

/** Sweeps on, by one batch, in one statement. @returns the position, and how many events it has removed */
export async function sweep(
  em: EntityManager,
  { left: [partition, ...later], after }: SweepPosition,
): Promise<{ next: SweepPosition; events: number }> {
  if (partition === undefined) return { next: { left: [], after: null }, events: 0 };
  const inside = `e.run_id >= '${partition.from}' and e.run_id < '${partition.to}'`;
  // A run that is being created has its events from the same statement: either both are seen here, or none.
  const [row] = await em.execute<{ last: string | null; events: number }[]>(
    `with recursive looked (run_id, n) as (
       (select e.run_id, 1 from run_event e
         where (?::uuid is null or e.run_id > ?::uuid) and ${inside} order by e.run_id limit 1)
       union all
       select (select e.run_id from run_event e
                where e.run_id > l.run_id and ${inside} order by e.run_id limit 1), l.n + 1
         from looked l where l.run_id is not null and l.n < ${RUNS}),
     orphans as (
       select l.run_id, sum(counted.events) over (order by l.run_id) - counted.events as before
         from looked l cross join lateral (
           select e.seq as events from run_event e
            where e.run_id = l.run_id and ${inside} order by e.seq desc limit 1) counted
        where not exists (select from run r where r.id = l.run_id)),
     gone as (
       delete from run_event e
        where e.run_id = any(array(select o.run_id from orphans o where o.before < ${EVENTS})) and ${inside}
       returning 1)
     select (select l.run_id from looked l
              where l.run_id is not null
                and not exists (select from orphans o where o.before >= ${EVENTS} and o.run_id <= l.run_id)
              order by l.run_id desc limit 1) as last,
            (select count(*)::int from gone) as events`,
    [after, after],
  );
  const last = row?.last ?? null;
  const next = last === null ? { left: later, after: null } : { left: [partition, ...later], after: last };
  return { next, events: row?.events ?? 0 };
}
