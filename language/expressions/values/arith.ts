/** Arithmetic (manual: Addition, Subtraction, Multiplication/division/modulo). */
import { checkArray, checkString, num, tick, tickText } from '../runtime.ts';
import { equals, mergeDeep } from './compare.ts';
import { typeError, typeError2 } from './json.ts';
import { isObject, type Json } from './json-types.ts';
import { copyObject, putKey } from './objects.ts';
import { codePoints } from './text.ts';

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
    const keys = Object.keys(b);
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
  const result = text === '' ? '' : text.repeat(count);
  tickText(result);
  return result;
}

export function divide(a: Json, b: Json): Json {
  if (typeof a === 'number' && typeof b === 'number') {
    if (b === 0) return typeError2(a, b, 'cannot be divided because the divisor is zero');
    return num(a / b);
  }
  if (typeof a === 'string' && typeof b === 'string') return split(a, b);
  return typeError2(a, b, 'cannot be divided');
}

/** The text between separators; an empty text has no parts (manual: `split/1`). */
export function split(text: string, separator: string): string[] {
  if (text === '') return [];
  const parts =
    separator === '' ? codePoints(text).map((point) => String.fromCodePoint(point)) : text.split(separator);
  tick(parts.length);
  checkArray(parts.length);
  return parts;
}

const int64 = 2 ** 63;

/** A double as a 64-bit integer, clamped, as C's conversion in jq does. */
function toInteger(n: number): bigint {
  if (n < -int64) return -(2n ** 63n);
  if (n >= int64) return 2n ** 63n - 1n;
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
      const keys = Object.keys(value);
      tick(keys.length);
      for (const key of keys) putKey(total, key, value[key] ?? null);
    } else total = add(total, value);
  }
  return total;
}
