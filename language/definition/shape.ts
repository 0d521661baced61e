/**
 * Zod helpers for shapes of the DSL, and the conversion of zod's issues to problems: one per mistake, at its
 * place.
 */
import { z } from 'zod';
import { isRecord } from '../../contracts/is-record.ts';
import { at, quote, type Problems } from './problems.ts';
import { closest, didYouMean } from '../../contracts/suggest.ts';

/**
 * An object with these properties and no others. The error of unknown keys lists the known ones, from which
 * `reportShape` makes suggestions.
 */
export function exact<Shape extends z.core.$ZodShape>(shape: Shape): z.ZodObject<Shape, z.core.$strict> {
  const known = Object.keys(shape).join(' ');
  return z.strictObject(shape, {
    error: (issue) => (issue.code === 'unrecognized_keys' ? known : undefined),
  });
}

export interface TypeOptions {
  string?: z.ZodType;
  object?: z.ZodType;
  array?: z.ZodType;
  number?: z.ZodType;
  boolean?: z.ZodType;
}

/** `params` of a custom issue: the problem's code, if it is not `invalid_value`. */
const WRONG_TYPE = { problem: 'wrong_type' };

/**
 * A value of one of several JSON types, checked with the schema of its actual type. A union would report the
 * problems of every alternative.
 */
export function byType(options: TypeOptions): z.ZodType<unknown> {
  const expected = Object.keys(options).map((type) => TYPE_NAMES[type] ?? type);
  const shape = z.unknown().check((context) => {
    const { value } = context;
    const type = Array.isArray(value) ? 'array' : value === null ? 'null' : typeof value;
    const schema = Object.entries(options).find(([name]) => name === type)?.[1];
    if (!(schema instanceof z.ZodType)) {
      if (value === undefined) return refuse(context, 'required');
      const message = `must be ${expected.join(' or ')}`;
      context.issues.push({ code: 'custom', path: [], input: value, message, params: WRONG_TYPE });
      return;
    }
    copyIssues(schema.safeParse(value), context);
  });
  ALTERNATIVES.set(
    shape,
    Object.entries(options).map(([type, schema]) => ({ type, schema })),
  );
  return shape;
}

/** Checks a value with that of the alternatives which `choose` selects for it. */
export function chosen(alternatives: z.ZodType[], choose: (value: unknown) => z.ZodType): z.ZodType<unknown> {
  const shape = z
    .unknown()
    .check((context) => copyIssues(choose(context.value).safeParse(context.value), context));
  ALTERNATIVES.set(
    shape,
    alternatives.map((schema) => ({ type: null, schema })),
  );
  return shape;
}

export interface Alternative {
  /** The JSON type for which it is meant; null if the schema itself says so. */
  type: string | null;
  schema: z.ZodType;
}

const ALTERNATIVES = new WeakMap<z.core.$ZodType, Alternative[]>();

/** The schemas among which a shape of `byType` or `chosen` chooses. */
export function alternativesOf(shape: z.core.$ZodType): readonly Alternative[] | undefined {
  return ALTERNATIVES.get(shape);
}

function copyIssues(result: z.ZodSafeParseResult<unknown>, context: z.core.ParsePayload): void {
  for (const { path, message, ...issue } of result.error?.issues ?? []) {
    // Re-raises zod's own issue: the type is the same union, but declared separately for input and output.
    context.issues.push({ ...issue, path: [...path], message, input: context.value } as z.core.$ZodRawIssue);
  }
}

/** Adds a custom problem with its own message. */
export function refuse(context: z.core.ParsePayload, message: string, path: PropertyKey[] = []): void {
  context.issues.push({ code: 'custom', path, input: context.value, message });
}

const TYPE_NAMES: Record<string, string> = {
  string: 'text',
  object: 'an object',
  record: 'an object',
  array: 'a list',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
};

/** Checks `value` and reports its problems. @returns whether there are none */
export function reportShape(
  schema: z.ZodType,
  value: unknown,
  pointer: string,
  problems: Problems,
  what: string,
): boolean {
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

function reportUnknownKeys(
  issue: z.core.$ZodIssueUnrecognizedKeys,
  pointer: string,
  problems: Problems,
  what: string,
): void {
  const known = issue.message === '' ? [] : issue.message.split(' ');
  const owner = issue.path.length === 0 ? what : placeName(issue.path);
  for (const key of issue.keys) {
    if (problems.full) return;
    const suggestion = didYouMean(key, known);
    const hint = suggestion === '' ? `; known: ${known.join(', ')}` : suggestion;
    problems.error(
      at(pointer, ...issue.path, key),
      'unknown_property',
      `${owner} has no property ${quote(key)}${hint}`,
    );
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
    // A misspelt key ("endpont") also makes the right one ("endpoint") missing: report one mistake.
    if (misspelt.some((key) => closest(key, [name]) !== undefined)) return;
    problems.error(place, 'required', `${quote(name)} is missing`);
    return;
  }
  if (issue.code === 'invalid_type') {
    problems.error(place, 'wrong_type', `${subject} must be ${TYPE_NAMES[issue.expected] ?? issue.expected}`);
  } else if (issue.code === 'invalid_value') {
    const allowed = issue.values.map(String);
    const suggestion = typeof found === 'string' ? didYouMean(found, allowed) : '';
    problems.error(place, 'not_allowed', `${subject} must be one of ${allowed.join(', ')}${suggestion}`);
  } else if (issue.code === 'custom') {
    const code = issue.params?.['problem'] ?? 'invalid_value';
    problems.error(place, code, `${subject} ${issue.message}`);
  } else {
    // Zod's own messages are sentences; ours go on from the subject.
    const gap = /^[A-Z]/.test(issue.message) ? ':' : '';
    problems.error(place, 'invalid_value', `${subject}${gap} ${issue.message}`);
  }
}

/** `"with"`, or `item 2 of "branches"`. */
function placeName(path: readonly PropertyKey[]): string {
  const last = path.at(-1);
  return typeof last === 'number'
    ? `item ${last + 1} of ${quote(String(path.at(-2) ?? ''))}`
    : quote(String(last));
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  let current = value;
  for (const token of path) {
    if (Array.isArray(current)) current = current[Number(token)];
    else if (isRecord(current) && Object.hasOwn(current, token)) current = current[String(token)];
    else return undefined;
  }
  return current;
}
