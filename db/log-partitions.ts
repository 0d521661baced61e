/**
 * The partitions of the log of all runs, `run_event`, by the ids of runs, which begin with the time
 * (docs/adr/0062): one for each month of UTC, `run_event_2026_11`; one for all ids before the first of these,
 * in databases that are older than the partitions; and one for whatever else comes, such as ids of a month
 * whose partition was not made in time.
 */
export interface LogPartition {
  name: string;
  /** The first id of the partition; null: it has no bound. */
  from: string | null;
  /** The first id after the partition; null: it has no bound. */
  to: string | null;
}

/** For all ids that no other partition has. */
export const DEFAULT_PARTITION = 'run_event_default';
/** From before there were partitions. */
export const EARLIER_PARTITION = 'run_event_earlier';

/** Beyond the current month. An hourly job makes them, so it may stand still for so long. */
const MONTHS_AHEAD = 2;
/** Events in the default partition that are moved to a new one; where there are more, they stay. */
const MOVED_EVENTS = 1_000;

/** Runs a statement without parameters. */
export type RunSql = <Row extends object>(sql: string) => Promise<Row[]>;

export interface LogState {
  /** Of the database, in milliseconds since 1970. */
  nowMs: number;
  /** In the order of their ids, without the default one. */
  partitions: LogPartition[];
  hasDefault: boolean;
}

export async function readLogState(run: RunSql): Promise<LogState> {
  const rows = await run<{ name: string; bound: string; now: number }>(
    `select c.relname as name, pg_get_expr(c.relpartbound, c.oid) as bound,
            extract(epoch from clock_timestamp())::float8 * 1000 as now
       from pg_inherits i join pg_class c on c.oid = i.inhrelid
      where i.inhparent = to_regclass('run_event')`,
  );
  const partitions = rows
    .filter(({ name }) => name !== DEFAULT_PARTITION)
    .map(({ name, bound }) => ({ name, from: idAfter('FROM', bound), to: idAfter('TO', bound) }));
  return {
    nowMs: rows[0]?.now ?? Date.now(),
    partitions: partitions.toSorted((left, right) => ((left.from ?? '') < (right.from ?? '') ? -1 : 1)),
    hasDefault: partitions.length < rows.length,
  };
}

function idAfter(word: string, bound: string): string | null {
  return new RegExp(`${word} \\('([0-9a-f-]{36})'\\)`).exec(bound)?.[1] ?? null;
}

/**
 * Makes the partitions of this month and of those to come, as far as they are missing. @returns the names of
 * those that it made
 */
export async function makeLogPartitions(run: RunSql): Promise<string[]> {
  const { nowMs, partitions, hasDefault } = await readLogState(run);
  const made: string[] = [];
  // Without a default partition the log is still to be divided.
  if (!hasDefault) return made;
  for (let month = 0; month <= MONTHS_AHEAD; month++) {
    const wanted = monthPartition(monthStartMs(nowMs, month));
    if (partitions.some((partition) => overlap(partition, wanted))) continue;
    const [row] = await run<{ made: boolean }>(
      `select make_log_partition('${wanted.name}', '${wanted.from}', '${wanted.to}', ${MOVED_EVENTS})
         as made`,
    );
    if (row?.made) made.push(wanted.name);
  }
  return made;
}

/** The partitions of this month and the next one that nobody has made. */
export function missingPartitions({ nowMs, partitions }: LogState): string[] {
  return [0, 1]
    .map((month) => monthPartition(monthStartMs(nowMs, month)))
    .filter((wanted) => !partitions.some((partition) => overlap(partition, wanted)))
    .map(({ name }) => name);
}

/** The partition of the month that begins at a time. */
export function monthPartition(startMs: number): { name: string; from: string; to: string } {
  const [year = '', month = ''] = new Date(startMs).toISOString().split('-').slice(-3);
  return {
    name: `run_event_${year.replace('+', '')}_${month}`,
    from: firstIdOf(startMs),
    to: firstIdOf(monthStartMs(startMs, 1)),
  };
}

/** The start of the month, in UTC, so many months after that of a time. */
export function monthStartMs(ms: number, months: number): number {
  const at = new Date(ms);
  return Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + months, 1);
}

/** The lowest id of version 7 that was made at a time, or later. */
export function firstIdOf(ms: number): string {
  const hex = ms.toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`;
}

/** After the last time that an id can begin with. */
export const END_OF_IDS_MS = 2 ** 48;

/** The time at which an id of version 7 was made. */
export function timeOfId(id: string): number {
  return Number.parseInt(id.replace('-', '').slice(0, 12), 16);
}

function overlap(left: LogPartition, right: LogPartition): boolean {
  const isBefore = (one: LogPartition, other: LogPartition): boolean =>
    one.to !== null && other.from !== null && one.to <= other.from;
  return !isBefore(left, right) && !isBefore(right, left);
}

/** Whether an error says that others held the log for too long. */
export function isLogBusy(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === LOCK_NOT_AVAILABLE;
}

const LOCK_NOT_AVAILABLE = '55P03';
