/** What filters of events may cost, whatever their author writes. */
import { expect, test } from '@jest/globals';

import type { ListenerSpec } from '../../../contracts/listening.ts';
import { keysOf, valueOf } from '../../../domain/events/listener-keys.ts';
import { consume, isSettled } from '../../../domain/events/match.ts';
import { NOTHING_YET } from '../../../domain/events/listener-rows.ts';
import { processorClock } from '../../support/machine.ts';

const specOf = (
  filters: Partial<ListenerSpec['filters'][0]>[],
  more: Partial<ListenerSpec> = {},
): ListenerSpec => ({
  mode: 'any',
  filters: filters.map((filter) => ({ with: {}, correlate: [], ...filter })),
  goes_on: false,
  once: false,
  variables: {},
  ...more,
});
const event = (data: unknown) => ({ id: '1', source: 'urn:x', type: 't', data });

test.each([
  ['an expression that runs for ever', { data: '${ [range(1e12)] | length > 0 }' }, 1],
  ['one that calls itself', { data: '${ def f: f; f }' }, 1],
  ['a regular expression that backtracks', { data: '(a|a)*(a+)+(.*a){20}b' }, 'a'.repeat(50_000)],
  [
    'ten thousand expressions',
    { data: Object.fromEntries(Array.from({ length: 10_000 }, (_, n) => [`k${n}`, `\${ . == ${n} }`])) },
    Object.fromEntries(Array.from({ length: 10_000 }, (_, n) => [`k${n}`, n])),
  ],
])('%s ends soon, and does not fit', (_name, filter, data) => {
  const spec = specOf(Array.from({ length: 50 }, () => ({ with: filter })));
  const spent = processorClock();
  expect(consume(spec, NOTHING_YET, event(data))).toBeNull();
  expect(spent()).toBeLessThan(2_000);
});

test('an ordinary filter on a large event fits', () => {
  const data = { items: Array.from({ length: 2_000 }, (_, n) => ({ n, text: 'x'.repeat(100) })) };
  const filters = Array.from({ length: 49 }, (_, n) => ({ with: { data: `\${ .items[${n}].n == -1 }` } }));
  const spec = specOf([...filters, { with: { data: '${ .items | length == 2000 }', source: 'urn:[xy]' } }]);
  expect(consume(spec, NOTHING_YET, event(data))).toMatchObject({ role: 'main', done: true });
});

test('only short correlations are in the index, and few of them', () => {
  const correlate = Array.from({ length: 6 }, (_, n) => ({
    name: `c${n}`,
    from: n === 0 ? `.data.a + "${'x'.repeat(2_000)}"` : `.data.c${n}`,
    expect: String(n),
    plain: true,
  }));
  const { keys, shapes } = keysOf(specOf([{ correlate }]), NOTHING_YET);
  const [shape] = shapes.values();
  expect(shape?.from).toEqual(['.data.c1', '.data.c2', '.data.c3', '.data.c4']);
  const found = event({ c1: 1, c2: 2, c3: 3, c4: 4 });
  expect(shape && valueOf(shape, found)).toBe(keys[0]?.value);
});

test('a listener is settled when no event can change what it waits for', () => {
  const open = { name: 'room', from: '.data.room', plain: true };
  const bound = { ...NOTHING_YET, bound: { room: '1' } };
  expect(isSettled(specOf([{ correlate: [open] }]), NOTHING_YET)).toBe(false);
  expect(isSettled(specOf([{ correlate: [open] }]), bound)).toBe(true);
  expect(isSettled(specOf([{}], { mode: 'all' }), bound)).toBe(false);
});
