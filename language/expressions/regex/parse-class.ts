/** Bracket expressions. */
import { fold, not, ofParts, posixClass } from './classes.ts';
import { RegexError } from './error.ts';
import { escapeSet, readEscape } from './parse-escape.ts';
import type { Test } from './ast.ts';
import type { PatternReader } from './reader.ts';

/** Characters; those of POSIX have at most six. */
const MAX_CLASS_NAME = 20;

/** Ranges and sets of a bracket expression whose `[` has been taken. */
export function parseClass(reader: PatternReader, ignoreCase: boolean): Test {
  const negated = reader.accept('^');
  const ranges: [number, number][] = [];
  const sets: Test[] = [];
  let first = true;
  for (;;) {
    if (reader.done) throw new RegexError('premature end of char-class');
    if (reader.peek() === ']' && !first) {
      reader.take();
      break;
    }
    first = false;
    const item = readItem(reader);
    if (typeof item === 'function') {
      sets.push(item);
      continue;
    }
    if (reader.peek() === '-' && reader.peek(1) !== ']' && reader.peek(1) !== '') {
      const dash = reader.at;
      reader.take();
      const end = readItem(reader);
      if (typeof end === 'number') {
        if (end < item) throw new RegexError('empty range in char class');
        ranges.push([item, end]);
        continue;
      }
      reader.at = dash;
    }
    ranges.push([item, item]);
  }
  const test = combine(ranges, sets, ignoreCase);
  return negated ? not(test) : test;
}

function readItem(reader: PatternReader): number | Test {
  if (reader.peek() === '[' && reader.peek(1) === ':') {
    const start = reader.at;
    reader.at += 2;
    const negated = reader.accept('^');
    const name = reader.until(':', MAX_CLASS_NAME);
    const test = name !== null && reader.accept(']') ? posixClass(name) : undefined;
    if (test) return negated ? not(test) : test;
    reader.at = start;
  }
  const char = reader.take();
  if (char !== '\\') return char.codePointAt(0) ?? 0;
  if (reader.done) throw new RegexError('end pattern at escape');
  const set = escapeSet(reader);
  if (set) return set;
  if (reader.accept('b')) return 8;
  return readEscape(reader);
}

function combine(ranges: [number, number][], sets: Test[], ignoreCase: boolean): Test {
  const merged = mergeRanges(ranges);
  const ascii = new Uint8Array(128);
  for (const [low, high] of ranges)
    for (let point = low; point <= Math.min(high, 127); point++) ascii[point] = 1;
  const inRanges = (point: number): boolean => (point < 128 ? ascii[point] === 1 : isWithin(merged, point));
  const different = [...new Set(sets)];
  const plain: Test =
    sets.length === 0 ? inRanges : (point) => inRanges(point) || different.some((set) => set(point));
  // A negated set must look at both cases before it is turned round.
  const test: Test = ignoreCase
    ? (point) => plain(point) || plain(fold(point)) || plain(unfold(point))
    : plain;
  // Not the different ones: which are the same depends on what the process has read before.
  return ofParts(test, sets.length);
}

/** @returns first and last points in turns, in ascending order and without overlaps */
function mergeRanges(ranges: readonly [number, number][]): Int32Array {
  const merged: number[] = [];
  for (const [low, high] of ranges.toSorted((a, b) => a[0] - b[0])) {
    const last = merged.at(-1);
    if (last === undefined || low > last + 1) merged.push(low, high);
    else merged[merged.length - 1] = Math.max(last, high);
  }
  return Int32Array.from(merged);
}

function isWithin(merged: Int32Array, point: number): boolean {
  let [from, to] = [0, merged.length >> 1];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (point > (merged[middle * 2 + 1] ?? 0)) from = middle + 1;
    else to = middle;
  }
  return from * 2 < merged.length && point >= (merged[from * 2] ?? 0);
}

function unfold(point: number): number {
  const upper = String.fromCodePoint(point).toUpperCase();
  const result = upper.codePointAt(0) ?? point;
  return upper.length === (result > 0xffff ? 2 : 1) ? result : point;
}
