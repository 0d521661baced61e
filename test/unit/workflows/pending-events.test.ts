import { expect, test } from '@jest/globals';
import { EVENT, type NewRunEvent } from '../../../contracts/run-events.ts';
import { cut, fits, PendingEvents, type Selection } from '../../../workflows/interpreter/pending-events.ts';
import { Strand } from '../../../workflows/interpreter/strand.ts';

function event(key: string, data: Record<string, unknown> = {}): NewRunEvent {
  return {
    key,
    type: EVENT.taskStarted,
    at: '2026-01-01T00:00:00Z',
    level: 'info',
    task: null,
    message: '',
    data,
  };
}
const keys = (selection: Selection): string[] => selection.map((entry) => entry.event.key);

/** The main strand, two branches of it, and a branch of the first branch. */
function strands() {
  const main = new Strand();
  const a = main.branch();
  return { main, a, b: main.branch(), inner: a.branch() };
}

test('an event of a branch is preceded by those of its ancestors and of the run, not of its siblings', () => {
  const { main, a, b, inner } = strands();
  const pending = new PendingEvents();
  for (const [key, strand] of [
    ['main', main],
    ['a', a],
    ['b', b],
    ['inner', inner],
    ['signal', null],
  ] as const)
    pending.add(event(key), strand);
  expect(keys(pending.before(b))).toEqual(['main', 'b', 'signal']);
  expect(keys(pending.before(inner))).toEqual(['main', 'a', 'inner', 'signal']);
  expect(keys(pending.before(main))).toEqual(['main', 'a', 'b', 'inner', 'signal']);
});

test('events before a join are written before what follows it', () => {
  const { main, a, b } = strands();
  const pending = new PendingEvents();
  pending.add(event('a'), a);
  pending.add(event('b'), b);
  pending.add(event('joined'), main);
  const next = main.branch();
  pending.add(event('next'), next);
  expect(keys(pending.before(next))).toEqual(['a', 'b', 'joined', 'next']);
});

test('an event that an activity carries is held back until a later event of its branch', () => {
  const { a, b } = strands();
  const pending = new PendingEvents();
  pending.add(event('a1'), a);
  const carried = pending.before(a);
  pending.carry(carried);
  pending.add(event('b1'), b);
  expect([keys(pending.free()), pending.freeCount]).toEqual([['b1'], 1]);
  pending.add(event('a2'), a);
  expect(keys(pending.free())).toEqual(['a1', 'b1', 'a2']);
  pending.written(carried);
  expect(keys(pending.free())).toEqual(['b1', 'a2']);
});

test('an event of a failed activity is written again, unless another activity has written it', () => {
  const { a } = strands();
  const pending = new PendingEvents();
  pending.add(event('one'), a);
  const first = pending.before(a);
  pending.carry(first);
  pending.add(event('two'), a);
  const both = pending.before(a);
  pending.carry(both);
  pending.unknown(first);
  expect([pending.freeCount, keys(pending.all())]).toEqual([0, ['one', 'two']]);
  pending.unknown(both);
  expect([pending.freeCount, keys(pending.free())]).toEqual([2, ['one', 'two']]);
  pending.carry(first);
  pending.carry(both);
  pending.written(first);
  pending.unknown(both);
  expect([pending.freeCount, keys(pending.free())]).toEqual([1, ['two']]);
});

test('a batch is limited in events and bytes, and takes one event of any size', () => {
  const { main } = strands();
  const pending = new PendingEvents();
  for (let i = 0; i < 250; i++) pending.add(event(`${i}`), main);
  expect([pending.free().length, fits(pending.all())]).toEqual([200, false]);
  const large = new PendingEvents();
  for (const key of ['small', 'large'])
    large.add(event(key, { text: key === 'large' ? 'x'.repeat(300_000) : '' }), main);
  expect(keys(cut(large.all()))).toEqual(['small']);
  large.written(cut(large.all()));
  expect([keys(large.free()), fits(large.all())]).toEqual([['large'], true]);
});
