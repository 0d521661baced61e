/** Arithmetic (manual: Addition, Subtraction, Multiplication/division/modulo). */
import { checkArray, checkString, num, runtime, SHIFT, tick, tickSize } from '../runtime.ts';
import { equals, mergeDeep } from './compare.ts';
import { typeError, typeError2 } from './json.ts';
import { isObject, type Json } from './json-types.ts';
import { copyObject, keysOf, putKey } from './objects.ts';
import { splitText } from './search.ts';
import { codePointLength, codePoints } from './text.ts';

const { rt } = runtime;

export function add(a: Json, b: Json): Json {
  if (typeof a === 'number' && typeof b === 'number') return num(a + b);
  if (typeof a === 'string' && typeof b === 'string') {
    checkString(a.length + b.length);
    return a + b;
  }
  if (a === null) return b;
  if (b === null) return a;
  if (Array.isArray(a) && Array.isArray(b)) {
    checkArray(a.length + b.length);
    tick((a.length + b.length) >> 3);
    return a.concat(b);
  }
  if (isObject(a) && isObject(b)) {
    const out = copyObject(a);
    const keys = keysOf(b);
    tick(keys.length);
    for (const key of keys) putKey(out, key, b[key] ?? null);
    return out;
  }
  return typeError2(a, b, 'cannot be added');
}

export function subtract(a: Json, b: Json): Json {
  if (typeof a === 'number' && typeof b === 'number') return num(a - b);
  if (Array.isArray(a) && Array.isArray(b)) {
    tick(a.length + b.length);
    const isSimple = b.every((removed) => typeof removed !== 'object' || removed === null);
    if (isSimple && b.length > 8) {
      tickTexts(a);
      tickTexts(b);
      const unwanted = new Set<Json>(b.filter((removed) => removed === removed));
      return a.filter((element) => !unwanted.has(element));
    }
    return a.filter((element) => {
      tick(b.length);
      return !b.some((removed) => equals(element, removed));
    });
  }
  return typeError2(a, b, 'cannot be subtracted');
}

/** Counts the texts of an array that are going to be hashed and compared. */
function tickTexts(values: readonly Json[]): void {
  for (const value of values) if (typeof value === 'string') tickSize(value.length, SHIFT.memory);
}

export function multiply(a: Json, b: Json): Json {
  if (typeof a === 'number' && typeof b === 'number') return num(a * b);
  if (typeof a === 'string' && typeof b === 'number') return repeat(a, b);
  if (typeof a === 'number' && typeof b === 'string') return repeat(b, a);
  if (isObject(a) && isObject(b)) return mergeDeep(a, b);
  return typeError2(a, b, 'cannot be multiplied');
}

function repeat(text: string, times: number): Json {
  if (!(times >= 0)) return null;
  const count = Math.floor(times);
  checkString(text.length * count, 'Repeat string result too long');
  if (text.length * count > 64) tick((text.length * count) >> 6);
  return text === '' ? '' : text.repeat(count);
}

export function divide(a: Json, b: Json): Json {
  if (typeof a === 'number' && typeof b === 'number') {
    if (b === 0) return typeError2(a, b, 'cannot be divided because the divisor is zero');
    return num(a / b);
  }
  if (typeof a === 'string' && typeof b === 'string') return split(a, b);
  return typeError2(a, b, 'cannot be divided');
}

/** The most that the host's `split` can be told. */
const MAX_PARTS = 2 ** 32 - 2;

/** The text between separators; an empty text has no parts (manual: `split/1`). */
export function split(text: string, separator: string): string[] {
  if (text === '') return [];
  if (separator === '') {
    const count = codePointLength(text);
    tick(count);
    checkArray(count);
    return codePoints(text).map((point) => String.fromCodePoint(point));
  }
  // More parts than allowed need not be made. Runs of earlier code have counted all of them.
  const most = rt.countsSizes
    ? Math.min(rt.limits.arrayLength, rt.stepsLeft + rt.stepsKept, MAX_PARTS)
    : MAX_PARTS;
  const parts = splitText(text, separator, most + 1);
  tick(parts.length);
  checkArray(parts.length);
  return parts;
}

const INT64 = 2 ** 63;

/** A double as a 64-bit integer, clamped, as C's conversion in jq does. */
function toInteger(n: number): bigint {
  if (n < -INT64) return -(2n ** 63n);
  if (n >= INT64) return 2n ** 63n - 1n;
  return BigInt(Math.trunc(n));
}

export function modulo(a: Json, b: Json): Json {
  if (typeof a !== 'number' || typeof b !== 'number')
    return typeError2(a, b, 'cannot be divided (remainder)');
  if (a !== a || b !== b) return num(NaN);
  const dividend = Math.trunc(a);
  const divisor = Math.trunc(b);
  if (divisor === 0) return typeError2(a, b, 'cannot be divided (remainder) because the divisor is zero');
  if (Number.isSafeInteger(dividend) && Number.isSafeInteger(divisor)) return (dividend % divisor) + 0;
  return Number(toInteger(a) % toInteger(b));
}

export function negate(value: Json): Json {
  if (typeof value !== 'number') return typeError(value, 'cannot be negated');
  return -value;
}

/** `add`: the sum of all elements, built without copying the partial sums. */
export function sum(values: readonly Json[]): Json {
  tickSize(values.length, SHIFT.copy);
  if (values.length > 2 && values.every((value) => Array.isArray(value))) {
    let length = 0;
    for (const value of values) if (Array.isArray(value)) length += value.length;
    checkArray(length);
    tick(length);
    return values.flat(1);
  }
  let total: Json = null;
  let owned = false;
  for (const value of values) {
    tick(1);
    if (isObject(total) && isObject(value)) {
      if (!owned) total = copyObject(total);
      owned = true;
      const keys = keysOf(value);
      tick(keys.length);
      for (const key of keys) putKey(total, key, value[key] ?? null);
    } else total = add(total, value);
  }
  return total;
}
