/** Texts are cut to a length without half characters. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';

import { cutTo, shortened } from '../../../contracts/cut-text.ts';

const EMOJI = '\u{1F600}';

test.each([
  ['abc', 3, 'abc'],
  ['abc', 2, 'ab'],
  ['abc', 0, ''],
  ['', 5, ''],
  [`a${EMOJI}b`, 4, `a${EMOJI}b`],
  [`a${EMOJI}b`, 3, `a${EMOJI}`],
  [`a${EMOJI}b`, 2, 'a'],
  [EMOJI, 1, ''],
  [EMOJI + EMOJI, 3, EMOJI],
  // Halves that were there before are replaced, as storing needs it.
  ['a\uD83Db', 2, 'a\uFFFD'],
  ['a\uDE00b', 3, 'a\uFFFDb'],
])('%j cut to %d is %j', (text, length, cut) => {
  expect(cutTo(text, length)).toBe(cut);
  expect(cutTo(text, length).isWellFormed()).toBe(true);
});

test('a text that is shortened says so', () => {
  expect(shortened('abc', 3)).toBe('abc');
  expect(shortened('abcd', 3)).toBe('abc…');
  expect(shortened(`ab${EMOJI}`, 3)).toBe('ab…');
});

test('no other place cuts a text by itself and mends the end', () => {
  const root = join(import.meta.dirname, '../../..');
  // The client imports nothing.
  const files = globSync(
    '{activities,adapters,api,cli,contracts,domain,language,temporal,web/src,worker}/**/*.{ts,tsx}',
    {
      cwd: root,
    },
  );
  expect(files.length).toBeGreaterThan(1_000);
  const own = files.filter((file) =>
    /\.slice\(0, [^()]*\)\s*\.toWellFormed\(\)/.test(readFileSync(join(root, file), 'utf8')),
  );
  expect(own).toEqual(['contracts/cut-text.ts']);
});
