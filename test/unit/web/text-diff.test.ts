import { expect, test } from '@jest/globals';
import fc from 'fast-check';

import { diffLines, hunksOf } from '../../../web/src/ui/text-diff/lines.ts';

const line = fc.constantFrom('a', 'b', 'c', '');
const text = fc.array(line, { minLength: 1, maxLength: 30 }).map((lines) => lines.join('\n'));

test('the lines of a difference are those of both texts, in order, with their numbers', () => {
  fc.assert(
    fc.property(text, text, (before, after) => {
      const lines = diffLines(before, after);
      const [left, right] = [
        lines.filter((entry) => entry.kind !== 'added'),
        lines.filter((entry) => entry.kind !== 'removed'),
      ];
      expect(left.map((entry) => entry.text).join('\n')).toBe(before);
      expect(right.map((entry) => entry.text).join('\n')).toBe(after);
      expect(left.map((entry) => entry.before)).toEqual(left.map((_, index) => index + 1));
      expect(right.map((entry) => entry.after)).toEqual(right.map((_, index) => index + 1));
    }),
  );
});

test('a difference is as small as it can be', () => {
  const kinds = (before: string, after: string) =>
    diffLines(before, after).map(({ kind, text: content }) => `${kind} ${content}`);
  expect(
    kinds('a\nb\nc\na\nb\nb\na', 'c\nb\na\nb\na\nc').filter((entry) => !entry.startsWith('same')),
  ).toHaveLength(5);
  expect(kinds('a\nb\nc', 'a\nx\nc')).toEqual(['same a', 'removed b', 'added x', 'same c']);
  expect(kinds('same', 'same')).toEqual(['same same']);
});

test('texts that have nothing in common are one removed and one added block', () => {
  const many = (word: string) => Array.from({ length: 3_000 }, (_, index) => `${word} ${index}`).join('\n');
  const lines = diffLines(many('a'), many('b'));
  expect(lines.slice(0, 3_000).every(({ kind }) => kind === 'removed')).toBe(true);
  expect(lines.slice(3_000).every(({ kind }) => kind === 'added')).toBe(true);
});

test('equal lines that are far from a change are folded and counted', () => {
  const lines = Array.from({ length: 40 }, (_, index) => `line ${index}`);
  const before = lines.join('\n');
  const after = lines.with(10, 'changed').with(30, 'changed').join('\n');
  const hunks = hunksOf(diffLines(before, after), 2);
  expect(hunks.map(({ skipped, lines: shown }) => [skipped, shown.length])).toEqual([
    [8, 6],
    [15, 6],
  ]);
  expect(hunksOf(diffLines(before, before))).toEqual([]);
});
