/** Zod helpers for shapes of the DSL, and the way from zod's issues to problems: one per mistake, at its place. */
import { z } from 'zod';
import { at, isObject, quote, type Problems } from './problems.ts';
import { closest, didYouMean } from './suggest.ts';

/**
 * An object with these properties and no others. The error text of unknown keys is the list of the known ones:
 * `reportShape` makes the suggestions from it.
 */
export function exact<Shape extends z.core.$ZodShape>(shape: Shape): z.ZodObject<Shape, z.core.$strict> {
  const known = Object.keys(shape).join(' ');
  return z.strictObject(shape, { error: (issue) => (issue.code === 'unrecognized_keys' ? known : undefined) });
}

export interface TypeOptions {
  string?: z.ZodType;
  object?: z.ZodType;
  array?: z.ZodType;
  number?: z.ZodType;
  boolean?: z.ZodType;
}

/**
 * A value that may be of several JSON types, checked by the schema of the type that it has: unlike a union,
 * which would answer with the problems of every alternative.
 */
export function byType(options: TypeOptions): z.ZodType<unknown> {
  const expected = Object.keys(options).map((type) => TYPE_NAMES[type] ?? type);
  return z.unknown().check((context) => {
    const { value } = context;
    const type = Array.isArray(value) ? 'array' : value === null ? 'null' : typeof value;
    const schema = Object.entries(options).find(([name]) => name === type)?.[1];
    if (!(schema instanceof z.ZodType)) {
      context.issues.push({ code: 'custom', path: [], input: value, message: value === undefined ? 'required' : `has to be ${expected.join(' or ')}` });
      return;
    }
    copyIssues(schema.safeParse(value), context);
  });
}

/** Checks a property that exists with the schema that `choose` picks for it. */
export function chosen(choose: (value: unknown) => z.ZodType): z.ZodType<unknown> {
  return z.unknown().check((context) => copyIssues(choose(context.value).safeParse(context.value), context));
}

function copyIssues(result: z.ZodSafeParseResult<unknown>, context: z.core.ParsePayload): void {
  for (const { path, message, ...issue } of result.error?.issues ?? []) {
    // An issue that went out of zod comes back in: the same union, typed apart from it.
    context.issues.push({ ...issue, path: [...path], message, input: context.value } as z.core.$ZodRawIssue);
  }
}

/** A custom problem with a message of its own. */
export function refuse(context: z.core.ParsePayload, message: string, path: PropertyKey[] = []): void {
  context.issues.push({ code: 'custom', path, input: context.value, message });
}

const TYPE_NAMES: Record<string, string> = {
  string: 'a text',
  object: 'an object',
  record: 'an object',
  array: 'a list',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
};

/** Checks `value` and reports what is wrong; true if nothing is. */
export function reportShape(schema: z.ZodType, value: unknown, pointer: string, problems: Problems, what: string): boolean {
  const result = schema.safeParse(value);
  if (result.success) return true;
  if (problems.full) return false;
  const unknown = new Map<string, string[]>();
  for (const issue of result.error.issues) {
    if (issue.code === 'unrecognized_keys') unknown.set(at('', ...issue.path), issue.keys);
  }
  for (const issue of result.error.issues) {
    if (issue.code === 'unrecognized_keys') reportUnknownKeys(issue, pointer, problems, what);
    else if (!problems.full) reportIssue(issue, value, pointer, problems, unknown, what);
  }
  return false;
}

function reportUnknownKeys(issue: z.core.$ZodIssueUnrecognizedKeys, pointer: string, problems: Problems, what: string): void {
  const known = issue.message === '' ? [] : issue.message.split(' ');
  const owner = issue.path.length === 0 ? what : placeName(issue.path);
  for (const key of issue.keys) {
    if (problems.full) return;
    const suggestion = didYouMean(key, known);
    const hint = suggestion === '' ? `; known: ${known.join(', ')}` : suggestion;
    problems.error(at(pointer, ...issue.path, key), 'unknown_property', `${owner} has no property ${quote(key)}${hint}`);
  }
}

function reportIssue(
  issue: z.core.$ZodIssue,
  value: unknown,
  pointer: string,
  problems: Problems,
  unknown: ReadonlyMap<string, string[]>,
  what: string,
): void {
  const place = at(pointer, ...issue.path);
  const found = valueAt(value, issue.path);
  const name = String(issue.path.at(-1) ?? '');
  const subject = issue.path.length === 0 ? what : placeName(issue.path);
  if (found === undefined && issue.path.length > 0) {
    const misspelt = unknown.get(at('', ...issue.path.slice(0, -1))) ?? [];
    // "endpont" is unknown and "endpoint" missing: one mistake, told once.
    if (misspelt.some((key) => closest(key, [name]) !== undefined)) return;
    problems.error(place, 'required', `${quote(name)} is missing`);
    return;
  }
  if (issue.code === 'invalid_type') {
    problems.error(place, 'wrong_type', `${subject} has to be ${TYPE_NAMES[issue.expected] ?? issue.expected}`);
  } else if (issue.code === 'invalid_value') {
    const allowed = issue.values.map(String);
    const suggestion = typeof found === 'string' ? didYouMean(found, allowed) : '';
    problems.error(place, 'not_allowed', `${subject} has to be one of ${allowed.join(', ')}${suggestion}`);
  } else if (issue.code === 'custom') {
    const wrongType = issue.message.startsWith('has to be a') && !issue.message.includes(':');
    problems.error(place, wrongType ? 'wrong_type' : 'invalid_value', `${subject} ${issue.message}`);
  } else {
    problems.error(place, 'invalid_value', `${subject}: ${issue.message}`);
  }
}

/** `"with"`, or `item 2 of "branches"`. */
function placeName(path: readonly PropertyKey[]): string {
  const last = path.at(-1);
  return typeof last === 'number' ? `item ${last + 1} of ${quote(String(path.at(-2) ?? ''))}` : quote(String(last));
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  let current = value;
  for (const token of path) {
    if (Array.isArray(current)) current = current[Number(token)];
    else if (isObject(current) && Object.hasOwn(current, token)) current = current[String(token)];
    else return undefined;
  }
  return current;
}
