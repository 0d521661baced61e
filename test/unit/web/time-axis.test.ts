import { expect, test } from '@jest/globals';

import { timeAxis, workMs, type Stretch } from '../../../web/src/screens/run/time-axis.ts';

const work = (startMs: number, endMs: number): Stretch => ({ startMs, endMs, waits: false });
const wait = (startMs: number, endMs: number): Stretch => ({ startMs, endMs, waits: true });
const hour = 3_600_000;

test('without waits, time runs evenly', () => {
  const axis = timeAxis([work(0, 1_000)], 0, 1_000, 500);
  expect([axis.x(0), axis.x(250), axis.x(1_000), axis.folds]).toEqual([0, 125, 500, []]);
});

test('a long wait is folded, and work on both sides keeps its scale', () => {
  const axis = timeAxis([work(0, 1_000), wait(1_000, hour), work(hour, hour + 1_000)], 0, hour + 1_000, 456);
  expect(axis.folds).toEqual([{ x: 200, width: 56, ms: hour - 1_000 }]);
  expect([axis.x(500), axis.x(1_000), axis.x(hour), axis.x(hour + 500)]).toEqual([100, 200, 256, 356]);
});

test('what was worked is all but long waits', () => {
  expect(workMs([work(0, 1_000), wait(1_000, hour), work(hour, hour + 500)], 0, hour + 500)).toBe(1_500);
  expect(workMs([work(0, 1_000), wait(1_000, 1_500)], 0, 1_500)).toBe(1_500);
});

test('a wait beside work is not folded', () => {
  const axis = timeAxis([wait(0, 10_000), work(0, 10_000)], 0, 10_000, 100);
  expect([axis.folds, axis.x(5_000)]).toEqual([[], 50]);
});

test('the live end of a waiting run takes the same place however long it lasts', () => {
  const after = (ms: number) => timeAxis([work(0, 1_000), wait(1_000, ms)], 0, ms, 456);
  expect([after(10_000).x(1_000), after(100 * hour).x(1_000)]).toEqual([400, 400]);
  expect(after(100 * hour).x(100 * hour)).toBe(456);
});

test('positions never decrease and stay within the width, whatever the stretches are', () => {
  for (let seed = 1; seed <= 200; seed += 1) {
    let state = seed;
    const random = (below: number) => {
      state = (state * 48_271) % 2_147_483_647;
      return state % below;
    };
    const stretches = Array.from({ length: 1 + random(8) }, () => {
      const start = random(100_000);
      return { startMs: start, endMs: start + random(50_000), waits: random(2) === 0 };
    });
    const axis = timeAxis(stretches, 0, 150_000, 400);
    const xs = Array.from({ length: 301 }, (_, index) => axis.x(index * 500));
    expect([seed, xs.every((x, index) => index === 0 || x >= (xs[index - 1] ?? 0) - 1e-9)]).toEqual([
      seed,
      true,
    ]);
    expect([seed, Math.round(xs[0] ?? -1), Math.round(xs.at(-1) ?? -1)]).toEqual([seed, 0, 400]);
    expect(axis.ticks.every(({ x }) => x >= 0 && x <= 400 + 1e-9)).toBe(true);
  }
});

test('ticks are at round lengths of work', () => {
  expect(timeAxis([work(0, 2_100)], 0, 2_100, 420).ticks).toEqual(
    [0, 500, 1_000, 1_500, 2_000].map((ms) => ({ ms, x: ms / 5 })),
  );
});
