/**
 * Counts of runs by hour, workflow and owner (docs/runs.md#statistics). The transaction that starts or ends a
 * run adds a row to `run_hour_change`; the reconciler folds these rows into `run_hour`. Readers add up both,
 * so a count is exact at any moment.
 */
import type { EntityManager } from '../../db/orm.ts';
import type { Condition } from '../auth/ownership.ts';

/** Rows of one statement. */
const FOLDED = 5_000;
/** The most statements of one pass; the next pass continues. */
const MAX_FOLDS = 20;
/** How long the counts are kept, also after their runs are removed. */
export const HOURS_KEPT_DAYS = 400;

/** SQLSTATE. */
const LOCK_NOT_AVAILABLE = '55P03';
/** One at a time, without stopping readers; a transfer waits for a fold, and a fold for a transfer. */
const LOCK = 'lock table run_hour in share row exclusive mode';

/** Columns that count the completed runs which took at most so many seconds. */
export const RUN_LENGTHS = [
  { column: 'within_1s', seconds: 1 },
  { column: 'within_10s', seconds: 10 },
  { column: 'within_1m', seconds: 60 },
  { column: 'within_10m', seconds: 600 },
  { column: 'within_1h', seconds: 3_600 },
  { column: 'within_1d', seconds: 86_400 },
] as const;
const LENGTHS = RUN_LENGTHS.map(({ column }) => column).join(', ');

const COUNTS = `workflow_id, hour, started, completed, faulted, cancelled, total_ms, slowest_ms,
  last_run_id, first_at, ${LENGTHS}`;
const COLUMNS = `owner_id, ${COUNTS}`;

/** SQL: adds rows to those that are there for the same owner, workflow and hour. */
const ADD = `on conflict (owner_id, workflow_id, hour) do update
  set started = h.started + excluded.started, completed = h.completed + excluded.completed,
      faulted = h.faulted + excluded.faulted, cancelled = h.cancelled + excluded.cancelled,
      total_ms = h.total_ms + excluded.total_ms,
      slowest_ms = greatest(h.slowest_ms, excluded.slowest_ms),
      last_run_id = greatest(h.last_run_id, excluded.last_run_id),
      first_at = least(h.first_at, excluded.first_at),
      ${RUN_LENGTHS.map(({ column }) => `${column} = h.${column} + excluded.${column}`).join(', ')}`;

/** SQL: the rows of `run_hour` that the changes in `source` make, with the same types. */
export function hoursOf(source: string): string {
  const count = (change: string): string =>
    `(count(*) filter (where change = '${change}'))::int as ${change}`;
  return `select owner_id, workflow_id, date_trunc('hour', at, 'UTC') as hour,
      ${count('started')}, ${count('completed')}, ${count('faulted')}, ${count('cancelled')},
      coalesce(sum(length_ms), 0)::bigint as total_ms, max(length_ms) as slowest_ms,
      (array_agg(run_id order by run_id desc) filter (where change = 'started'))[1] as last_run_id,
      min(at) as first_at,
      ${RUN_LENGTHS.map(shortRuns).join(', ')}
    from ${source} group by 1, 2, 3`;
}

/** Only completed runs have a length. */
function shortRuns({ column, seconds }: (typeof RUN_LENGTHS)[number]): string {
  return `(count(*) filter (where length_ms <= ${seconds * 1_000}))::int as ${column}`;
}

/** @returns the number of folded changes */
export async function foldRunChanges(em: EntityManager, heartbeat: () => void = () => {}): Promise<number> {
  let folded = 0;
  for (let round = 0; round < MAX_FOLDS; round++) {
    heartbeat();
    const count = await em.transactional(fold).catch(nothingWhileLocked);
    folded += count;
    if (count < FOLDED) break;
  }
  return folded;
}

/** A transfer holds the table; the next pass folds what is left. */
function nothingWhileLocked(error: unknown): number {
  if (error instanceof Error && 'code' in error && error.code === LOCK_NOT_AVAILABLE) return 0;
  throw error;
}

async function fold(em: EntityManager): Promise<number> {
  const [waiting] = await em.execute<object[]>('select from run_hour_change limit 1');
  if (waiting === undefined) return 0;
  await em.execute(`${LOCK} nowait`);
  const [row] = await em.execute<{ folded: number }[]>(
    `with taken as (
       delete from run_hour_change
        where id in (select id from run_hour_change order by id limit ? for update skip locked) returning *),
     added as (
       insert into run_hour as h (${COLUMNS}) select ${COLUMNS} from (${hoursOf('taken')}) hours ${ADD})
     select count(*)::int as folded from taken`,
    [FOLDED],
  );
  return row?.folded ?? 0;
}

/** Call before live runs change their owner: what is folded then, is of runs that existed before. */
export async function lockRunHours(em: EntityManager): Promise<void> {
  await em.execute(LOCK);
}

/** Nothing that is under way began before: older counts grow no more. */
const RECENT = `interval '2 hours'`;

/**
 * Call after the live runs have changed their owner, under the lock: what happens next to them is the new
 * owner's, and so is what happened in the last hours. Runs that are created from the beginning on are still
 * their owner's.
 */
export async function handOverRunHours(em: EntityManager, people: People, begunAt: string): Promise<void> {
  const { from, to } = people;
  await em.execute(
    `update run_hour_change c set owner_id = ?
      where c.owner_id = ? and not exists (
        select from run r where r.id = c.run_id and r.owner_id = ? and r.created_at >= ?::timestamptz)`,
    [to, from, from, begunAt],
  );
  await moveHours(em, people, { sql: `hour >= ?::timestamptz - ${RECENT}`, values: [begunAt] });
}

/** Hands over one batch of the counts before those. @returns whether it was the last one */
export async function handOverOldHours(em: EntityManager, people: People, begunAt: string): Promise<boolean> {
  await lockRunHours(em);
  const moved = await moveHours(em, people, {
    sql: `ctid = any(array(
      select ctid from run_hour where owner_id = ? and hour < ?::timestamptz - ${RECENT} limit ?))`,
    values: [people.from, begunAt, FOLDED],
  });
  return moved < FOLDED;
}

interface People {
  from: string;
  to: string;
}

/** @returns the number of rows */
async function moveHours(em: EntityManager, { from, to }: People, which: Condition): Promise<number> {
  const [row] = await em.execute<{ moved: number }[]>(
    `with moved as (delete from run_hour where owner_id = ? and ${which.sql} returning *),
     added as (insert into run_hour as h (${COLUMNS}) select ?::uuid, ${COUNTS} from moved ${ADD})
     select count(*)::int as moved from moved`,
    [from, ...which.values, to],
  );
  return row?.moved ?? 0;
}
