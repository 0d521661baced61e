/** Strips of run counts: what they show of what the server counts. */
import { expect, test } from '@jest/globals';

import { columnsOf, highestOf, partsOf, sumsOf } from '../../../web/src/ui/run-strip/columns.ts';

const bucket = (at: string, counts: Partial<Record<string, number>>) => ({
  at,
  started: 0,
  completed: 0,
  faulted: 0,
  cancelled: 0,
  total_ms: 0,
  slowest_ms: null,
  ...counts,
});
const range = { by: 'hour', from: '2026-01-31T22:00:00.000Z', to: '2026-02-01T02:00:00.000Z' } as const;
const buckets = [
  bucket('2026-01-31T23:00:00.000Z', { started: 3, completed: 1, total_ms: 500, slowest_ms: 500 }),
  bucket('2026-02-01T01:00:00.000Z', { completed: 1, faulted: 3, total_ms: 1_500, slowest_ms: 1_500 }),
];

test('every hour has a column, with or without runs', () => {
  const columns = columnsOf(range, buckets);
  expect(columns.map(({ atMs, ...counts }) => [new Date(atMs).getUTCHours(), counts.started])).toEqual([
    [22, 0],
    [23, 3],
    [0, 0],
    [1, 0],
  ]);
  expect(highestOf(columns)).toBe(4);
  expect(columnsOf({ ...range, by: 'day', to: '2026-02-14T22:00:00.000Z' }, [])).toHaveLength(14);
});

test('sums have the mean and the slowest of the completed runs', () => {
  expect(sumsOf(buckets)).toEqual({
    started: 3,
    completed: 2,
    faulted: 3,
    cancelled: 0,
    meanMs: 1_000,
    slowestMs: 1_500,
  });
  expect(sumsOf([])).toMatchObject({ started: 0, meanMs: null, slowestMs: null });
});

test('the parts of a column stand on each other, and the smallest is still seen', () => {
  const column = { atMs: 0, started: 0, completed: 75, cancelled: 0, faulted: 25 };
  expect(partsOf(column, 100, 0.1)).toEqual([
    { status: 'completed', from: 0, size: 0.75 },
    { status: 'faulted', from: 0.75, size: 0.25 },
  ]);
  const [, rare] = partsOf({ ...column, completed: 99, faulted: 1 }, 100, 0.1);
  expect(rare).toEqual({ status: 'faulted', from: 0.9, size: 0.1 });
  expect(partsOf({ ...column, completed: 0, faulted: 0 }, 0, 0.1)).toEqual([]);
});
