/** What other people wrote cannot control the terminal. */
import { PassThrough } from 'node:stream';
import { expect, test } from '@jest/globals';

import { Output } from '../../../cli/core/output.ts';
import { tableLines } from '../../../cli/core/table.ts';
import { ago, oneLine, printable, safeJson, shorten } from '../../../cli/core/text.ts';

const ESC = String.fromCharCode(27);
const CSI = String.fromCharCode(0x9b);
const BEL = String.fromCharCode(7);
const RTL = String.fromCharCode(0x202e);
/** Clears the screen, renames the window, moves the cursor up, overwrites a line, turns text around. */
const hostile = `a${ESC}[2Jb${ESC}]0;owned${BEL}c${CSI}1Ad\re${RTL}f`;
const control = /[\p{Cc}\p{Bidi_Control}]/u;

test('text keeps line ends and tabs, and loses every other control character', () => {
  expect(printable('a\n\tb')).toBe('a\n\tb');
  expect(printable(hostile).search(control)).toBe(-1);
  expect(oneLine(`x\n${hostile}\n`).search(control)).toBe(-1);
});

test('JSON escapes them, and stays the same value', () => {
  const text = safeJson({ [hostile]: hostile });
  expect(text.search(control)).toBe(-1);
  expect(JSON.parse(text)).toEqual({ [hostile]: hostile });
});

test.each(['table', 'json', 'jsonl', 'yaml', 'name'] as const)('nothing passes in -o %s', async (format) => {
  const stdout = new PassThrough();
  const stderr = new PassThrough();
  const output = new Output({ stdout, stderr, format, quiet: false, colored: false });
  const view = {
    columns: [['name', (row: { name: string }) => row.name]] as const,
    name: (row: any) => row.name,
  };
  await output.list([{ name: hostile }], view);
  await output.record({ name: hostile, [hostile]: `two\nlines ${hostile}` }, view);
  await output.event({ name: hostile }, () => printable(hostile));
  await output.value({ [hostile]: [hostile, `two\nlines ${hostile}`] });
  output.say(hostile);
  const all = `${String(stdout.read())}${String(stderr.read())}`;
  expect(all.length).toBeGreaterThan(100);
  expect(all.replaceAll('\n', '').search(control)).toBe(-1);
});

test('YAML with control characters reads as the same value', async () => {
  const { parse } = await import('yaml');
  const stdout = new PassThrough();
  const output = new Output({ stdout, stderr: stdout, format: 'yaml', quiet: false, colored: false });
  const value = { text: `two\nlines ${hostile}`, plain: 'two\nlines', tab: 'a\tb' };
  await output.value(value);
  expect(parse(String(stdout.read()))).toEqual(value);
});

test('--jq prints texts as they are, without control characters', async () => {
  const stdout = new PassThrough();
  const output = new Output({ stdout, stderr: stdout, jq: '.[]', quiet: false, colored: false });
  await output.value([hostile, 1, { a: hostile }]);
  const lines = String(stdout.read()).trimEnd().split('\n');
  expect(lines).toHaveLength(3);
  expect(lines.join('').search(control)).toBe(-1);
});

test('a table that wraps breaks sentences between words, and cuts nothing', () => {
  const rows = [
    { id: 'a', text: 'a sentence that is longer than the terminal is wide, 👩‍👩‍👧 included' },
    { id: 'b', text: 'x'.repeat(60) },
  ];
  const columns = [
    ['id', ({ id }: (typeof rows)[0]) => id],
    ['text', ({ text }: (typeof rows)[0]) => text],
  ] as const;
  const view = { columns, name: ({ id }: (typeof rows)[0]) => id, wraps: true };
  const lines = tableLines(rows, view, 40, (_, text) => text);
  expect(lines.filter((line) => [...line].length > 40)).toEqual([]);
  const words = lines.slice(1).join(' ').replaceAll(/\s+/g, ' ');
  expect(words).toContain('a a sentence that is longer than the terminal is wide, 👩‍👩‍👧 included b xxx');
  expect(words.match(/x/g)).toHaveLength(60);
});

test('lengths and times', () => {
  expect(shorten('abcdef', 4)).toBe('abc…');
  expect(shorten('👩‍👩‍👧', 20)).toBe('👩‍👩‍👧');
  const now = Date.parse('2026-05-01T12:00:00Z');
  expect(ago('2026-05-01T11:57:30Z', now)).toBe('2m ago');
  expect(ago('2026-05-03T12:00:01Z', now)).toBe('in 2d');
  expect(ago(null, now)).toBe('');
});

test.each([
  [true, 'a,b\n1,2\n'],
  [false, 'a,b\r\n1,2\r\n'],
])('the lines of CSV keep their ends, but not on a terminal: %p', (isTTY, written) => {
  const stdout = Object.assign(new PassThrough(), { isTTY });
  const stderr = new PassThrough();
  new Output({ stdout, stderr, quiet: false, colored: false }).exact('a,b\r\n1,2\r\n');
  expect(stdout.read().toString()).toBe(written);
});
