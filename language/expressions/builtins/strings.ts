/** Strings (manual: `startswith`, `ltrimstr`, `trim`, `explode`, `split/1`, `ascii_downcase`, …). */
import { raise } from '../errors.ts';
import { checkString, SHIFT, tick, tickSize, tickText } from '../runtime.ts';
import { split } from '../values/arith.ts';
import { typeError } from '../values/json.ts';
import type { Json } from '../values/json-types.ts';
import { TextSearch } from '../values/search.ts';
import { codePoints, codePointLength, isWhitespace } from '../values/text.ts';
import { value, type Family } from './types.ts';

function startsWith(input: Json, prefix: Json): boolean {
  if (typeof input !== 'string' || typeof prefix !== 'string') raise('startswith() requires string inputs');
  tickSize(input.length, SHIFT.memory);
  return input.startsWith(prefix);
}

function endsWith(input: Json, suffix: Json): boolean {
  if (typeof input !== 'string' || typeof suffix !== 'string') raise('endswith() requires string inputs');
  tickSize(input.length, SHIFT.memory);
  return input.endsWith(suffix);
}

function withoutPrefix(input: Json, prefix: Json): Json {
  if (!startsWith(input, prefix) || typeof input !== 'string' || typeof prefix !== 'string') return input;
  return input.slice(prefix.length);
}

function withoutSuffix(input: Json, suffix: Json): Json {
  if (!endsWith(input, suffix) || typeof input !== 'string' || typeof suffix !== 'string') return input;
  return input.slice(0, input.length - suffix.length);
}

function trim(input: Json, left: boolean, right: boolean): Json {
  if (typeof input !== 'string') raise('trim input must be a string');
  tickSize(input.length, SHIFT.scan);
  let start = 0;
  let end = input.length;
  while (left && start < end && isWhitespace(input.charCodeAt(start))) start++;
  while (right && end > start && isWhitespace(input.charCodeAt(end - 1))) end--;
  return input.slice(start, end);
}

function explode(input: Json): Json {
  if (typeof input !== 'string') raise('explode input must be a string');
  tick(input.length >> 2);
  return codePoints(input);
}

function implode(input: Json): Json {
  if (!Array.isArray(input)) raise('implode input must be an array');
  tick(input.length);
  checkString(input.length);
  let text = '';
  for (const point of input) {
    if (typeof point !== 'number' || point !== point)
      return typeError(point ?? null, "can't be imploded, unicode codepoint needs to be numeric");
    const n = Math.trunc(point);
    text += n < 0 || n > 0x10ffff || (n >= 0xd800 && n <= 0xdfff) ? '\ufffd' : String.fromCodePoint(n);
  }
  return text;
}

/** Positions, in code points, at which a text occurs; occurrences may overlap. */
export function textIndexes(text: string, what: string): number[] {
  const out: number[] = [];
  if (what === '') return out;
  let unit = 0;
  let point = 0;
  const search = new TextSearch(text, what);
  for (let at = search.next(0); at >= 0; at = search.next(at + 1)) {
    tick(1);
    point += codePointLength(text.slice(unit, at));
    unit = at;
    out.push(point);
  }
  return out;
}

function strIndices(input: Json, what: Json): Json {
  if (typeof input !== 'string') return typeError(input, 'cannot be searched, as it is not a string');
  if (typeof what !== 'string') return typeError(what, 'is not a string');
  return textIndexes(input, what);
}

/** Changes the case of ASCII letters only. */
function ascii(input: Json, upper: boolean): Json {
  if (typeof input !== 'string') raise('explode input must be a string');
  tickText(input);
  tickSize(input.length, SHIFT.scan);
  // oxlint-disable-next-line no-control-regex -- all of ASCII
  if (/^[\u0000-\u007f]*$/.test(input)) return upper ? input.toUpperCase() : input.toLowerCase();
  tickSize(input.length, SHIFT.write);
  // Bounded repetition: the host's regex engine keeps a place to go back to for each letter of an unbounded
  // one.
  return upper
    ? input.replace(/[a-z]{1,999}/g, (letters) => letters.toUpperCase())
    : input.replace(/[A-Z]{1,999}/g, (letters) => letters.toLowerCase());
}

export const strings: Family = {
  'startswith/1': value((input, prefix) => startsWith(input, prefix ?? null)),
  'endswith/1': value((input, suffix) => endsWith(input, suffix ?? null)),
  'ltrimstr/1': value((input, prefix) => withoutPrefix(input, prefix ?? null)),
  'rtrimstr/1': value((input, suffix) => withoutSuffix(input, suffix ?? null)),
  'trimstr/1': value((input, what) => withoutSuffix(withoutPrefix(input, what ?? null), what ?? null)),
  'trim/0': value((input) => trim(input, true, true)),
  'ltrim/0': value((input) => trim(input, true, false)),
  'rtrim/0': value((input) => trim(input, false, true)),
  'explode/0': value(explode),
  'implode/0': value(implode),
  'split/1': value((input, separator) => {
    if (typeof input !== 'string' || typeof separator !== 'string')
      raise('split input and separator must be strings');
    return split(input, separator);
  }),
  '_strindices/1': value((input, what) => strIndices(input, what ?? null)),
  'ascii_downcase/0': value((input) => ascii(input, false)),
  'ascii_upcase/0': value((input) => ascii(input, true)),
  'ascii/0': value((input) =>
    typeof input === 'number' ? String.fromCharCode(input & 127) : typeError(input, 'is not a code point'),
  ),
};
