import { expect, test } from '@jest/globals';

import { LoadMeter } from '../../../api/load-guard.ts';

const ok = { memory: 0.3, lateMs: 0 };

test('memory strains a process before it overloads it, and it recovers a little below', () => {
  const meter = new LoadMeter(1_000);
  const loads = [0.3, 0.74, 0.76, 0.86, 0.8, 0.72, 0.69].map((memory) => meter.add({ memory, lateMs: 0 }));
  expect(loads).toEqual(['ok', 'ok', 'strained', 'overloaded', 'strained', 'strained', 'ok']);
});

test('a process whose memory is collected at once takes small work again, whatever is left', () => {
  const meter = new LoadMeter(1_000);
  expect([0.86, 0.72].map((memory) => meter.add({ memory, lateMs: 0 }))).toEqual(['overloaded', 'strained']);
});

test('a process that is late twice in a row is overloaded until it is not', () => {
  const meter = new LoadMeter(1_000);
  const loads = [1_500, 10, 1_500, 1_500, 900].map((lateMs) => meter.add({ ...ok, lateMs }));
  expect(loads).toEqual(['ok', 'ok', 'ok', 'overloaded', 'ok']);
});

test('without a limit it may be as late as it likes', () => {
  const meter = new LoadMeter(0);
  meter.add({ ...ok, lateMs: 1e9 });
  expect(meter.add({ ...ok, lateMs: 1e9 })).toBe('ok');
});
