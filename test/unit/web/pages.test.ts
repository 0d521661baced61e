import { expect, test } from '@jest/globals';

import { withoutRecord, withPage, withRecord } from '../../../web/src/data/pages.ts';

interface Item {
  id: string;
  rank: number;
  shown?: boolean;
}
const rules = {
  shows: ({ shown = true }: Item) => shown,
  compare: (left: Item, right: Item) => left.rank - right.rank,
};
const pages = (next: string | null, ...ranks: number[]) => ({
  items: ranks.map((rank) => ({ id: `r${rank}`, rank })),
  next,
});
const ids = ({ items }: { items: readonly Item[] }) => items.map(({ id }) => id);

test('a new record takes its place', () => {
  expect(ids(withRecord(pages(null, 1, 3), { id: 'n', rank: 2 }, rules))).toEqual(['r1', 'n', 'r3']);
  expect(ids(withRecord(pages(null, 1, 3), { id: 'n', rank: 9 }, rules))).toEqual(['r1', 'r3', 'n']);
  expect(ids(withRecord(pages(null), { id: 'n', rank: 9 }, rules))).toEqual(['n']);
});

test('a record of a page that is not read yet stays out', () => {
  const before = pages('c', 1, 3);
  expect(withRecord(before, { id: 'n', rank: 9 }, rules)).toBe(before);
});

test('a known record is replaced and moved, also to the end', () => {
  expect(withRecord(pages('c', 1, 2, 3), { id: 'r1', rank: 2.5 }, rules).items).toEqual([
    { id: 'r2', rank: 2 },
    { id: 'r1', rank: 2.5 },
    { id: 'r3', rank: 3 },
  ]);
  expect(ids(withRecord(pages('c', 1, 2), { id: 'r1', rank: 9 }, rules))).toEqual(['r2', 'r1']);
});

test('a record that the list does not show leaves it', () => {
  expect(ids(withRecord(pages(null, 1, 2), { id: 'r1', rank: 1, shown: false }, rules))).toEqual(['r2']);
  const before = pages(null, 1, 2);
  expect(withRecord(before, { id: 'n', rank: 1, shown: false }, rules)).toBe(before);
  expect(ids(withoutRecord(before, 'r2'))).toEqual(['r1']);
});

test('the next page does not repeat what an event has brought', () => {
  expect(withPage(pages('c', 1, 3), pages(null, 3, 4))).toEqual(pages(null, 1, 3, 4));
});
