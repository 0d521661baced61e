/** Keywords that apply to a value itself and not to its parts. */
import { format as formats } from '@cfworker/json-schema';
import { canonicalJson } from '../../contracts/canonical-json.ts';
import type { Checking } from './checking.ts';
import { compilePattern, UnsupportedPattern } from './pattern.ts';
import { isObject, own, type SchemaObject } from './resources.ts';

export function checkPlain(check: Checking, schema: SchemaObject, value: unknown, pointer: string): boolean {
  let fits = checkType(check, schema, value, pointer);
  fits = checkValues(check, schema, value, pointer) && fits;
  if (typeof value === 'string') return checkText(check, schema, value, pointer) && fits;
  if (typeof value === 'number') return checkNumber(check, schema, value, pointer) && fits;
  if (Array.isArray(value)) return checkList(check, schema, value, pointer) && fits;
  if (isObject(value)) return checkNames(check, schema, value, pointer) && fits;
  return fits;
}

function typeOf(value: unknown): string {
  return value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value;
}

function checkType(check: Checking, schema: SchemaObject, value: unknown, pointer: string): boolean {
  const type = own(schema, 'type');
  if (type === undefined) return true;
  const types: unknown[] = Array.isArray(type) ? type : [type];
  const is = typeOf(value);
  if (types.some((one) => one === is || (one === 'integer' && Number.isInteger(value)))) return true;
  return check.fail(pointer, `Instance type "${is}" is invalid. Expected "${types.join('", "')}".`, {
    keyword: 'type',
    expected: types,
  });
}

function checkValues(check: Checking, schema: SchemaObject, value: unknown, pointer: string): boolean {
  let fits = true;
  const choices = own(schema, 'enum');
  if (Array.isArray(choices) && !choices.some((choice) => isEqual(check, choice, value))) {
    fits = check.fail(pointer, `Instance does not match any of ${preview(choices)}.`, {
      keyword: 'enum',
      expected: choices,
    });
  }
  if (Object.hasOwn(schema, 'const') && !isEqual(check, schema['const'], value)) {
    fits = check.fail(pointer, `Instance does not match ${preview(schema['const'])}.`, {
      keyword: 'const',
      expected: schema['const'],
    });
  }
  return fits;
}

function preview(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length > 500 ? `${text.slice(0, 500)}…` : text;
}

/** JSON equality: 1.0 equals 1, and the order of keys does not matter. */
function isEqual(check: Checking, left: unknown, right: unknown): boolean {
  check.budget.spend(1);
  if (typeof left === 'string' && typeof right === 'string')
    check.budget.spend(Math.min(left.length, right.length) >> 4);
  if (left === right) return true;
  if (Array.isArray(left))
    return (
      Array.isArray(right) &&
      left.length === right.length &&
      left.every((item, index) => isEqual(check, item, right[index]))
    );
  if (!isObject(left) || !isObject(right)) return false;
  const keys = Object.keys(left);
  check.budget.spend(keys.length);
  return (
    keys.length === Object.keys(right).length &&
    keys.every((key) => Object.hasOwn(right, key) && isEqual(check, left[key], right[key]))
  );
}

function checkText(check: Checking, schema: SchemaObject, value: string, pointer: string): boolean {
  let fits = true;
  const least = own(schema, 'minLength');
  const most = own(schema, 'maxLength');
  if (typeof least === 'number' || typeof most === 'number') {
    check.budget.spend(value.length >> 2);
    let length = 0;
    for (const _ of value) length++;
    if (typeof least === 'number' && length < least)
      fits = check.fail(pointer, `String is too short (${length} < ${least}).`, {
        keyword: 'minLength',
        expected: least,
      });
    if (typeof most === 'number' && length > most)
      fits = check.fail(pointer, `String is too long (${length} > ${most}).`, {
        keyword: 'maxLength',
        expected: most,
      });
  }
  const pattern = own(schema, 'pattern');
  if (typeof pattern === 'string' && !matches(check, pattern, value))
    fits = check.fail(pointer, 'String does not match pattern.', { keyword: 'pattern' });
  const format = own(schema, 'format');
  if (typeof format === 'string' && !hasFormat(format, value))
    fits = check.fail(pointer, `String does not match format "${format}".`, {
      keyword: 'format',
      expected: format,
    });
  return fits;
}

/** A stored pattern that is unsupported today matches nothing. */
export function matches(check: Checking, pattern: string, text: string): boolean {
  try {
    return compilePattern(pattern).test(text, check.budget);
  } catch (error) {
    if (error instanceof UnsupportedPattern) return false;
    throw error;
  }
}

/**
 * Unknown formats pass, as the standard requires. `url` is not checked: the library's pattern for it can take
 * exponential time.
 */
function hasFormat(format: string, value: string): boolean {
  const known = format !== 'url' && Object.hasOwn(formats, format) ? formats[format] : undefined;
  return known === undefined || known(value);
}

function checkNumber(check: Checking, schema: SchemaObject, value: number, pointer: string): boolean {
  let fits = true;
  const bound = (keyword: string, wrong: (limit: number) => boolean, words: string): void => {
    const limit = own(schema, keyword);
    if (typeof limit === 'number' && wrong(limit))
      fits = check.fail(pointer, `${value} is ${words} ${limit}.`, { keyword, expected: limit });
  };
  bound('minimum', (limit) => value < limit, 'less than');
  bound('maximum', (limit) => value > limit, 'greater than');
  bound('exclusiveMinimum', (limit) => value <= limit, 'less than or equal to');
  bound('exclusiveMaximum', (limit) => value >= limit, 'greater than or equal to');
  bound('multipleOf', (limit) => !isMultiple(value, limit), 'not a multiple of');
  return fits;
}

/** Decimal fractions have no exact double, so a remainder of rounding size counts as zero. */
function isMultiple(value: number, of: number): boolean {
  const quotient = value / of;
  if (!Number.isFinite(quotient)) return Number.isInteger(of) ? Number.isInteger(value) : value % of === 0;
  return Math.abs(quotient - Math.round(quotient)) <= 1e-9;
}

function checkList(
  check: Checking,
  schema: SchemaObject,
  value: readonly unknown[],
  pointer: string,
): boolean {
  let fits = true;
  const least = own(schema, 'minItems');
  const most = own(schema, 'maxItems');
  if (typeof least === 'number' && value.length < least)
    fits = check.fail(pointer, `Array has too few items (${value.length} < ${least}).`, {
      keyword: 'minItems',
      expected: least,
    });
  if (typeof most === 'number' && value.length > most)
    fits = check.fail(pointer, `Array has too many items (${value.length} > ${most}).`, {
      keyword: 'maxItems',
      expected: most,
    });
  if (own(schema, 'uniqueItems') === true) fits = checkUnique(check, value, pointer) && fits;
  return fits;
}

function checkUnique(check: Checking, value: readonly unknown[], pointer: string): boolean {
  const seen = new Map<string, number>();
  for (const [index, item] of value.entries()) {
    const text = canonicalJson(item);
    check.budget.spend(1 + (text.length >> 2));
    const before = seen.get(text);
    if (before !== undefined)
      return check.fail(pointer, `Duplicate items at indexes ${before} and ${index}.`, {
        keyword: 'uniqueItems',
      });
    seen.set(text, index);
  }
  return true;
}

function checkNames(check: Checking, schema: SchemaObject, value: SchemaObject, pointer: string): boolean {
  let fits = true;
  const required = own(schema, 'required');
  if (Array.isArray(required)) {
    check.budget.spend(required.length);
    for (const key of required)
      if (!Object.hasOwn(value, String(key)))
        fits = check.fail(pointer, `${String(key)} is missing.`, {
          keyword: 'required',
          expected: String(key),
        });
  }
  const least = own(schema, 'minProperties');
  const most = own(schema, 'maxProperties');
  const count = typeof least === 'number' || typeof most === 'number' ? Object.keys(value).length : 0;
  if (typeof least === 'number' && count < least)
    fits = check.fail(pointer, `Instance does not have at least ${least} properties.`, {
      keyword: 'minProperties',
      expected: least,
    });
  if (typeof most === 'number' && count > most)
    fits = check.fail(pointer, `Instance has more than ${most} properties.`, {
      keyword: 'maxProperties',
      expected: most,
    });
  const dependent = own(schema, 'dependentRequired');
  for (const [key, names] of isObject(dependent) ? Object.entries(dependent) : []) {
    if (!Object.hasOwn(value, key) || !Array.isArray(names)) continue;
    check.budget.spend(names.length);
    for (const name of names)
      if (!Object.hasOwn(value, String(name)))
        fits = check.fail(pointer, `Instance has "${key}" but does not have "${String(name)}".`, {
          keyword: 'required',
          expected: String(name),
        });
  }
  return fits;
}
