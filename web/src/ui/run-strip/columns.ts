/** What a strip of run counts shows: a column for each hour or day, and the sums. */
import type { RunStats } from '../../../../client/index.ts';

export type Bucket = RunStats['series'][number]['buckets'][number];
export type Counts = Pick<Bucket, 'started' | 'completed' | 'faulted' | 'cancelled'>;

export interface Column extends Counts {
  /** Its beginning; ms. */
  atMs: number;
}

export interface Sums extends Counts {
  /** Of the completed runs. */
  meanMs: number | null;
  slowestMs: number | null;
}

const HOUR_MS = 3_600_000;
const NONE: Counts = { started: 0, completed: 0, faulted: 0, cancelled: 0 };

/** All hours or days of the range, also those without a run. */
export function columnsOf(
  { by, from, to }: Pick<RunStats, 'by' | 'from' | 'to'>,
  buckets: readonly Bucket[],
): Column[] {
  const unitMs = by === 'hour' ? HOUR_MS : 24 * HOUR_MS;
  const known = new Map(buckets.map((bucket) => [Date.parse(bucket.at), bucket]));
  const begin = Date.parse(from);
  return Array.from({ length: Math.round((Date.parse(to) - begin) / unitMs) }, (_, index) => {
    const atMs = begin + index * unitMs;
    const { started, completed, faulted, cancelled } = known.get(atMs) ?? NONE;
    return { atMs, started, completed, faulted, cancelled };
  });
}

export function sumsOf(buckets: readonly Bucket[]): Sums {
  const sum = (name: keyof Counts | 'total_ms') => buckets.reduce((total, bucket) => total + bucket[name], 0);
  const completed = sum('completed');
  const slowest = buckets.flatMap(({ slowest_ms: ms }) => ms ?? []);
  return {
    started: sum('started'),
    completed,
    faulted: sum('faulted'),
    cancelled: sum('cancelled'),
    meanMs: completed === 0 ? null : sum('total_ms') / completed,
    slowestMs: slowest.length === 0 ? null : Math.max(...slowest),
  };
}

/** Order of the parts of a column, from the bottom. */
const ENDS = ['completed', 'cancelled', 'faulted'] as const;

export interface Part {
  status: (typeof ENDS)[number];
  /** As parts of the strip's height, from the bottom. */
  from: number;
  size: number;
}

/** The highest column is as high as the strip; a part that exists is never too small to be seen. */
export function partsOf(column: Column, highest: number, least: number): Part[] {
  let from = 0;
  return ENDS.flatMap((status) => {
    if (column[status] === 0 || highest === 0) return [];
    const size = Math.max(least, column[status] / highest);
    const part = { status, from: Math.min(from, 1 - size), size };
    from += size;
    return [part];
  });
}

export function highestOf(columns: readonly Column[]): number {
  return Math.max(
    0,
    ...columns.map((one) => Math.max(one.started, one.completed + one.faulted + one.cancelled)),
  );
}
