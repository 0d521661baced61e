/**
 * Text for a terminal. Names, comments and logs come from other people: their control characters could move
 * the cursor, rename the window or fake output, so none of them reaches the terminal.
 */
import { styleText } from 'node:util';
import { unescapeToken } from '../../contracts/json-pointer.ts';

/** Control and bidirectional characters, and separators that some terminals take as line ends. */
const UNSAFE = /[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}]/gu;

/** Keeps line ends and tabs; every other control character becomes visible as U+FFFD. */
export const printable = (text: string): string =>
  text.replaceAll(UNSAFE, (character) => (character === '\n' || character === '\t' ? character : '\uFFFD'));

/** The same, on one line. */
export const oneLine = (text: string): string => printable(text.replaceAll(/\s+/g, ' ').trim());

/** JSON with every control character escaped, which is the same value to a parser. */
export function safeJson(value: unknown, indent?: number): string {
  return escapeUnsafe(JSON.stringify(value, null, indent) ?? 'null');
}

/** Inside of quotes, `\u` escapes mean the same in JSON and YAML. */
export const escapeUnsafe = (text: string): string =>
  text.replaceAll(UNSAFE, (character) =>
    character === '\n' ? character : `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

export const hasUnsafe = (text: string): boolean => text.replaceAll('\n', '').search(UNSAFE) >= 0;

/** Name of a task by its JSON pointer. */
export const lastPart = (pointer: string): string => unescapeToken(pointer.split('/').at(-1) ?? '');

export function shorten(text: string, width: number): string {
  const characters = [...text];
  return characters.length <= width ? text : `${characters.slice(0, Math.max(width - 1, 0)).join('')}…`;
}

export type Style = 'red' | 'green' | 'yellow' | 'cyan' | 'dim' | 'bold';
export type Paint = (style: Style, text: string) => string;

export const painter = (colored: boolean): Paint =>
  colored ? (style, text) => styleText(style, text, { validateStream: false }) : (_, text) => text;

const STYLES: Readonly<Record<string, Style>> = {
  completed: 'green',
  approved: 'green',
  active: 'green',
  published: 'green',
  delivered: 'green',
  ok: 'green',
  faulted: 'red',
  failed: 'red',
  rejected: 'red',
  expired: 'red',
  down: 'red',
  error: 'red',
  waiting: 'yellow',
  suspended: 'yellow',
  degraded: 'yellow',
  warn: 'yellow',
  open: 'cyan',
  claimed: 'cyan',
  running: 'cyan',
  cancelled: 'dim',
  debug: 'dim',
};

/** A word such as a status in the color that it has everywhere. */
export const styleOf = (word: string): Style | undefined => STYLES[word];

const UNITS: readonly (readonly [string, number])[] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
];

/** `3m ago`, `in 2h`; empty for null. */
export function ago(time: string | null | undefined, now = Date.now()): string {
  if (time === null || time === undefined) return '';
  const ms = Date.parse(time) - now;
  const [unit, size] = UNITS.find(([, length]) => Math.abs(ms) >= length) ?? ['s', 1_000];
  const count = `${Math.floor(Math.abs(ms) / size)}${unit}`;
  return ms > 0 ? `in ${count}` : `${count} ago`;
}

/** A word as a shell takes it, and acts on nothing in it. */
export const shellWord = (word: string): string =>
  /^[\w./:=@,-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
