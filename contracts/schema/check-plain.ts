/** Keywords that look at a value by itself. */
import { format as formats } from '@cfworker/json-schema';
import { canonicalJson } from '../canonical-json.ts';
import type { Checking } from './checking.ts';
import { compilePattern, UnsupportedPattern } from './pattern.ts';
import { isObject, own } from './resources.ts';
import type { SchemaObject } from './resources.ts';

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
  return check.fail(pointer, `Instance type "${is}" is invalid. Expected "${types.join('", "')}".`);
}

function checkValues(check: Checking, schema: SchemaObject, value: unknown, pointer: string): boolean {
  let fits = true;
  const choices = own(schema, 'enum');
  if (Array.isArray(choices) && !choices.some((choice) => isEqual(check, choice, value))) {
    fits = check.fail(pointer, `Instance does not match any of ${preview(choices)}.`);
  }
  if (Object.hasOwn(schema, 'const') && !isEqual(check, schema['const'], value)) fits = check.fail(pointer, `Instance does not match ${preview(schema['const'])}.`);
  return fits;
}

function preview(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length > 500 ? `${text.slice(0, 500)}…` : text;
}

/** As JSON: 1.0 is 1, the order of keys means nothing. */
function isEqual(check: Checking, one: unknown, other: unknown): boolean {
  check.budget.spend(1);
  if (typeof one === 'string' && typeof other === 'string') check.budget.spend(Math.min(one.length, other.length) >> 4);
  if (one === other) return true;
  if (Array.isArray(one)) return Array.isArray(other) && one.length === other.length && one.every((item, index) => isEqual(check, item, other[index]));
  if (!isObject(one) || !isObject(other)) return false;
  const keys = Object.keys(one);
  check.budget.spend(keys.length);
  return keys.length === Object.keys(other).length && keys.every((key) => Object.hasOwn(other, key) && isEqual(check, one[key], other[key]));
}

function checkText(check: Checking, schema: SchemaObject, value: string, pointer: string): boolean {
  let fits = true;
  const least = own(schema, 'minLength');
  const most = own(schema, 'maxLength');
  if (typeof least === 'number' || typeof most === 'number') {
    check.budget.spend(value.length >> 2);
    let length = 0;
    for (const _ of value) length++;
    if (typeof least === 'number' && length < least) fits = check.fail(pointer, `String is too short (${length} < ${least}).`);
    if (typeof most === 'number' && length > most) fits = check.fail(pointer, `String is too long (${length} > ${most}).`);
  }
  const pattern = own(schema, 'pattern');
  if (typeof pattern === 'string' && !matches(check, pattern, value)) fits = check.fail(pointer, 'String does not match pattern.');
  const format = own(schema, 'format');
  if (typeof format === 'string' && !hasFormat(format, value)) fits = check.fail(pointer, `String does not match format "${format}".`);
  return fits;
}

/** A pattern from before, which would be refused today, fits nothing. */
export function matches(check: Checking, pattern: string, text: string): boolean {
  try {
    return compilePattern(pattern).test(text, check.budget);
  } catch (error) {
    if (error instanceof UnsupportedPattern) return false;
    throw error;
  }
}

/** Formats that are not known pass, as the standard says. `url` is left out: the library's pattern of it can take for ever. */
function hasFormat(format: string, value: string): boolean {
  const known = format !== 'url' && Object.hasOwn(formats, format) ? formats[format] : undefined;
  return known === undefined || known(value);
}

function checkNumber(check: Checking, schema: SchemaObject, value: number, pointer: string): boolean {
  let fits = true;
  const bound = (keyword: string, wrong: (limit: number) => boolean, words: string): void => {
    const limit = own(schema, keyword);
    if (typeof limit === 'number' && wrong(limit)) fits = check.fail(pointer, `${value} is ${words} ${limit}.`);
  };
  bound('minimum', (limit) => value < limit, 'less than');
  bound('maximum', (limit) => value > limit, 'greater than');
  bound('exclusiveMinimum', (limit) => value <= limit, 'less than or equal to');
  bound('exclusiveMaximum', (limit) => value >= limit, 'greater than or equal to');
  bound('multipleOf', (limit) => !isMultiple(value, limit), 'not a multiple of');
  return fits;
}

/** Decimal fractions have no exact double: a rest of rounding size counts as none. */
function isMultiple(value: number, of: number): boolean {
  const quotient = value / of;
  if (!Number.isFinite(quotient)) return Number.isInteger(of) ? Number.isInteger(value) : value % of === 0;
  return Math.abs(quotient - Math.round(quotient)) <= 1e-9;
}

function checkList(check: Checking, schema: SchemaObject, value: readonly unknown[], pointer: string): boolean {
  let fits = true;
  const least = own(schema, 'minItems');
  const most = own(schema, 'maxItems');
  if (typeof least === 'number' && value.length < least) fits = check.fail(pointer, `Array has too few items (${value.length} < ${least}).`);
  if (typeof most === 'number' && value.length > most) fits = check.fail(pointer, `Array has too many items (${value.length} > ${most}).`);
  if (own(schema, 'uniqueItems') === true) fits = checkUnique(check, value, pointer) && fits;
  return fits;
}

function checkUnique(check: Checking, value: readonly unknown[], pointer: string): boolean {
  const seen = new Map<string, number>();
  for (const [index, item] of value.entries()) {
    const text = canonicalJson(item);
    check.budget.spend(1 + (text.length >> 2));
    const before = seen.get(text);
    if (before !== undefined) return check.fail(pointer, `Duplicate items at indexes ${before} and ${index}.`);
    seen.set(text, index);
  }
  return true;
}

function checkNames(check: Checking, schema: SchemaObject, value: SchemaObject, pointer: string): boolean {
  let fits = true;
  const required = own(schema, 'required');
  if (Array.isArray(required)) {
    check.budget.spend(required.length);
    for (const key of required) if (!Object.hasOwn(value, String(key))) fits = check.fail(pointer, `Instance does not have required property "${String(key)}".`);
  }
  const least = own(schema, 'minProperties');
  const most = own(schema, 'maxProperties');
  const count = typeof least === 'number' || typeof most === 'number' ? Object.keys(value).length : 0;
  if (typeof least === 'number' && count < least) fits = check.fail(pointer, `Instance does not have at least ${least} properties.`);
  if (typeof most === 'number' && count > most) fits = check.fail(pointer, `Instance has more than ${most} properties.`);
  const dependent = own(schema, 'dependentRequired');
  for (const [key, names] of isObject(dependent) ? Object.entries(dependent) : []) {
    if (!Object.hasOwn(value, key) || !Array.isArray(names)) continue;
    check.budget.spend(names.length);
    for (const name of names) if (!Object.hasOwn(value, String(name))) fits = check.fail(pointer, `Instance has "${key}" but does not have "${String(name)}".`);
  }
  return fits;
}
