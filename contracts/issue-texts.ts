/**
 * Says in plain words what a schema of zod expects, and what it was given: the predicate of a sentence whose
 * subject is the field. Used where a schema has no message of its own.
 */
import * as z from 'zod';

import { shortened } from './cut-text.ts';
import { isRecord } from './is-record.ts';

type Issue = z.core.$ZodRawIssue;
/** An issue in a branch of a union already has its message. */
type BranchIssue = z.core.$ZodIssue;

const MAX_SHOWN = 40;

const TYPES: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  object: 'an object',
  record: 'an object',
  array: 'an array',
  tuple: 'an array',
  null: 'null',
};

const FORMATS: Readonly<Record<string, string>> = {
  guid: 'a UUID such as 0198c0de-1f2a-7b3c-8d4e-5f60718293a4',
  uuid: 'a UUID such as 0198c0de-1f2a-7b3c-8d4e-5f60718293a4',
  datetime: 'a time such as 2026-03-31T08:00:00Z (RFC 3339)',
  date: 'a date such as 2026-03-31',
  time: 'a time such as 08:00:00',
  email: 'an email address such as ada@example.com',
  url: 'a URL such as https://example.com',
  base64: 'base64',
  base64url: 'base64url',
  ipv4: 'an IPv4 address',
  ipv6: 'an IPv6 address',
};

/** What lengths count. */
const UNITS: Readonly<Record<string, string>> = {
  string: 'character',
  array: 'entry',
  set: 'entry',
  map: 'entry',
  object: 'field',
};

/** What was given, after `but is`; null if it is better not to say. */
interface Given {
  /** Of another type than the one that is expected. */
  type(value: unknown): string | null;
  /** A number where a number is expected. */
  number(value: unknown): string | null;
  text(value: string): string | null;
}

/** Of a body, whose values may be secrets. */
const inBody: Given = {
  type: typeOf,
  number: (value) => (typeof value === 'number' && !Number.isNaN(value) ? String(value) : typeOf(value)),
  text: () => null,
};

export function issueText(issue: Issue): string {
  return expectation(issue, inBody);
}

/** Of a query or path, whose values are texts; schemas may have made numbers of them. */
export function parameterText(values: Readonly<Record<string, unknown>>): (issue: Issue) => string {
  return (issue) => {
    const describe = () => shown(values[String(issue.path?.[0])]);
    return expectation(issue, { type: describe, number: describe, text: describe });
  };
}

/** Issues that a value which is not there has. */
const MISSING: ReadonlySet<unknown> = new Set(['invalid_type', 'invalid_value', 'invalid_union']);

export function isMissing({ code, input }: Pick<BranchIssue, 'code' | 'input'>): boolean {
  return input === undefined && MISSING.has(code);
}

function expectation(issue: Issue, given: Given): string {
  if (isMissing(issue)) return 'is required';
  switch (issue.code) {
    case 'invalid_type':
      return but(
        `must be ${typeText(issue.expected, issue)}`,
        issue.expected === 'int' ? given.number(issue.input) : given.type(issue.input),
      );
    case 'invalid_value':
      return but(`must be ${listed(issue.values.map(String))}`, valueOf(given, issue.input));
    case 'invalid_format':
      return but(formatText(issue), valueOf(given, issue.input));
    case 'too_small':
      return limitText(issue, given, issue.minimum, issue.inclusive === false ? 'more than' : 'at least');
    case 'too_big':
      return limitText(issue, given, issue.maximum, issue.inclusive === false ? 'less than' : 'at most');
    case 'not_multiple_of':
      return but(`must be a multiple of ${issue.divisor}`, given.number(issue.input));
    case 'unrecognized_keys':
      return `has unknown fields: ${issue.keys.slice(0, MAX_SHOWN).map(cut).join(', ')}`;
    case 'invalid_union':
      return unionText(issue, given);
    case 'invalid_key':
      return `has a name that is not allowed: a name ${issue.issues[0]?.message ?? 'is not valid'}`;
    default:
      return 'is not valid';
  }
}

function but(expected: string, given: string | null): string {
  return given === null ? expected : `${expected}, but is ${given}`;
}

function valueOf(given: Given, value: unknown): string | null {
  return typeof value === 'string' ? given.text(value) : given.type(value);
}

function shown(value: unknown): string | null {
  if (Array.isArray(value)) return 'given more than once';
  return typeof value === 'string' ? `"${cut(value)}"` : null;
}

function typeOf(value: unknown): string | null {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'number') return Number.isNaN(value) ? null : 'a number';
  if (typeof value === 'boolean') return String(value);
  if (typeof value === 'string') return 'text';
  return isRecord(value) ? 'an object' : null;
}

const cut = (text: string): string => shortened(text, MAX_SHOWN);

function typeText(expected: string, issue: Pick<Issue, 'inst' | 'schema'>): string {
  const isNumber = expected === 'number' || expected === 'int';
  const { minimum, maximum, isWhole } = isNumber ? boundsOf(issue) : NO_BOUNDS;
  const type = TYPES[isWhole && isNumber ? 'int' : expected] ?? expected;
  if (minimum !== undefined && maximum !== undefined) return `${type} from ${minimum} to ${maximum}`;
  if (minimum !== undefined) return `${type} of at least ${minimum}`;
  return maximum === undefined ? type : `${type} of at most ${maximum}`;
}

interface Bounds {
  minimum: number | undefined;
  maximum: number | undefined;
  isWhole: boolean;
}
const NO_BOUNDS: Bounds = { minimum: undefined, maximum: undefined, isWhole: false };

/** Of the schema of numbers that has refused a value. */
function boundsOf(issue: Pick<Issue, 'inst' | 'schema'>): Bounds {
  const schema = issue.schema ?? issue.inst;
  if (!(schema instanceof z.ZodNumber)) return NO_BOUNDS;
  const isExclusive = schema.def.checks?.some(({ _zod: { def } }) => 'inclusive' in def && !def.inclusive);
  const limit = (value: number | null): number | undefined =>
    value === null || isExclusive || Math.abs(value) >= Number.MAX_SAFE_INTEGER ? undefined : value;
  return { minimum: limit(schema.minValue), maximum: limit(schema.maxValue), isWhole: schema.isInt };
}

function formatText(issue: Extract<Issue, { code: 'invalid_format' }>): string {
  const { format } = issue;
  if (format === 'regex') return `must match ${String(issue['pattern'])}`;
  if (format === 'starts_with') return `must start with ${JSON.stringify(issue['prefix'])}`;
  if (format === 'ends_with') return `must end with ${JSON.stringify(issue['suffix'])}`;
  if (format === 'includes') return `must contain ${JSON.stringify(issue['includes'])}`;
  return `must be ${FORMATS[format] ?? `of the form ${format}`}`;
}

function limitText(
  issue: Extract<Issue, { code: 'too_small' | 'too_big' }>,
  given: Given,
  limit: number | bigint,
  bound: string,
): string {
  const { origin, input } = issue;
  const unit = UNITS[origin];
  if (unit === undefined) {
    const isExclusive = issue.inclusive === false;
    const expected = isExclusive ? `must be ${bound} ${limit}` : `must be ${typeText('number', issue)}`;
    return but(expected, given.number(input));
  }
  if (bound === 'at least' && Number(limit) === 1) return 'must not be empty';
  const length = typeof input === 'string' || Array.isArray(input) ? `, but has ${input.length}` : '';
  return `must have ${bound} ${limit} ${Number(limit) === 1 ? unit : plural(unit)}${length}`;
}

const plural = (unit: string): string => (unit === 'entry' ? 'entries' : `${unit}s`);

function unionText(issue: Extract<Issue, { code: 'invalid_union' }>, given: Given): string {
  const branches: BranchIssue[][] = issue.errors;
  if (branches.length === 0) {
    const { options } = issue;
    return Array.isArray(options) ? `must be ${listed(options.map(String))}` : 'is none of the known kinds';
  }
  const isOtherType = ({ code, path }: BranchIssue): boolean => code === 'invalid_type' && path.length === 0;
  const near = branches.filter((branch) => !branch.some(isOtherType));
  const [found, ...others] = near.flatMap((branch) => branch.slice(0, 1));
  // The value has the type of one branch only, so what is wrong in it is what is wrong.
  if (found !== undefined && others.length === 0)
    return found.path.length === 0
      ? found.message
      : `has at ${found.path.map(cutPart).join('/')}: ${found.message}`;
  if (found !== undefined) return 'is none of the forms that it may have';
  const types = branches.flatMap((branch) =>
    branch.flatMap((one) => (one.code === 'invalid_type' ? (TYPES[one.expected] ?? one.expected) : [])),
  );
  return but(`must be ${listed([...new Set(types)])}`, given.type(issue.input));
}

const cutPart = (part: PropertyKey): string => cut(String(part));

/** `a, b or c`. */
function listed(words: readonly string[]): string {
  const last = words.at(-1) ?? '';
  return words.length <= 1 ? last : `${words.slice(0, -1).join(', ')} or ${last}`;
}
