/** Validates requests and responses against the endpoint's schemas. */
import { isDeepStrictEqual } from 'node:util';
import * as z from 'zod';

import { isMissing, issueText, parameterText } from '../../contracts/issue-texts.ts';
import { didYouMeanName } from '../../contracts/suggest.ts';
import {
  AppError,
  badRequest,
  invalid,
  jsonPointer,
  MAX_LISTED_ERRORS,
  notFound,
  type FieldError,
} from '../../domain/errors.ts';
import { isMedia, type Endpoint, type EndpointResponse } from '../endpoint.ts';
import { isStorable, unstorable } from './body.ts';

/** Fields that only the server sets. Clients may send them back unchanged, so they are ignored. */
const SERVER_SET = ['omitted', 'id', 'created_at', 'updated_at', 'owner_id', 'last_used'];

const NOTHING = z.object({});
const strictCache = new WeakMap<z.ZodType, z.ZodType>();

/** The schema, made to reject unknown fields at its top level unless it defines a catchall itself. */
export function strict(schema: z.ZodType): z.ZodType {
  let found = strictCache.get(schema);
  if (!found) {
    found = schema instanceof z.ZodObject && schema.def.catchall === undefined ? schema.strict() : schema;
    strictCache.set(schema, found);
  }
  return found;
}

export function parseParams(endpoint: Endpoint, params: Record<string, string>): unknown {
  if (!Object.values(params).every(isStorable)) {
    throw notFound(resourceIn(endpoint.path));
  }
  if (!endpoint.params) {
    return params;
  }
  const result = endpoint.params.safeParse(params, { error: parameterText(params) });
  if (!result.success) throw noSuch(endpoint.path, result.error.issues);
  return result.data;
}

/** Other values than ids and numbers may be secrets, so they are not repeated. */
function noSuch(path: string, issues: readonly z.core.$ZodIssue[]): AppError {
  const resource = resourceIn(
    path,
    issues.map(({ path: [name] }) => String(name)),
  );
  const issue = issues.find(
    (one) => one.code === 'invalid_type' || (one.code === 'invalid_format' && one.format === 'guid'),
  );
  if (issue === undefined) return notFound(resource);
  const detail = `There is no such ${resource}: ${String(issue.path[0])} ${issue.message}.`;
  return new AppError('not_found', 'not_found', detail);
}

/** What a path parameter names, by the word before it: `workflow` of `/workflows/{id}`. */
function resourceIn(path: string, names?: readonly string[]): string {
  const words = [...path.matchAll(/\/([a-z-]+)\/\{(\w+)\}/g)];
  const found = words.find(([, , name]) => names?.includes(name ?? '')) ?? words.at(-1);
  return found?.[1]?.replace(/ies$/, 'y').replace(/s$/, '') ?? 'resource';
}

/** @throws 400 that lists the invalid parameters; `pointer` is the parameter's name */
export function parseQuery(
  endpoint: Endpoint,
  query: Record<string, string | string[] | undefined>,
): unknown {
  const bad = Object.entries(query).filter(([name, value]) => ![name, value ?? ''].flat().every(isStorable));
  if (bad.length > 0) {
    throw badRequest(
      'invalid_query',
      'The query contains invalid characters.',
      bad.slice(0, MAX_LISTED_ERRORS).map(([name]) => ({
        pointer: name.toWellFormed().replaceAll('\0', '\uFFFD'),
        code: 'invalid_characters',
        message: 'contains a NUL character or an unpaired surrogate',
      })),
    );
  }
  const result = strict(endpoint.query ?? NOTHING).safeParse(query, {
    reportInput: true,
    error: noting(parameterText(query)),
  });
  if (!result.success) {
    const errors = fieldErrors(result.error, 'parameter').map((error) => ({
      ...error,
      pointer: error.pointer.slice(1),
    }));
    throw badRequest(
      'invalid_query',
      errors.map((error) => `${error.pointer} ${error.message}`).join('; '),
      errors,
    );
  }
  return result.data;
}

/**
 * Validates a body.
 * @param value parsed JSON, or the fields of a form
 * @param type media type of the body
 * @throws 422 that lists the first errors
 */
export function parseBody(
  endpoint: Pick<Endpoint, 'body' | 'bodies' | 'record'>,
  value: unknown,
  type: string,
): unknown {
  const schema = endpoint.bodies?.[type] ?? endpoint.body ?? NOTHING;
  checkFlood(endpoint, schema, value);
  const characters = unstorable(value);
  const result = strict(schema).safeParse(withoutServerSet(endpoint, value), {
    reportInput: true,
    error: noting(issueText),
  });
  // zod silently drops `__proto__` from objects that accept additional fields.
  const dropped =
    typeof value === 'object' &&
    value !== null &&
    Object.hasOwn(value, '__proto__') &&
    strict(schema) === schema &&
    schema instanceof z.ZodObject;
  const forbidden: FieldError[] = dropped
    ? [{ pointer: '/__proto__', code: 'forbidden_name', message: 'is not allowed as a name' }]
    : [];
  const errors = [...characters, ...forbidden, ...(result.success ? [] : fieldErrors(result.error, 'field'))];
  if (!result.success || errors.length > 0) {
    throw invalid(errors);
  }
  return result.data;
}

/** Rejects a body with many unknown fields early, because there may be 100,000 of them. @throws 422 */
function checkFlood(endpoint: Pick<Endpoint, 'body' | 'record'>, schema: z.ZodType, value: unknown): void {
  if (
    !(schema instanceof z.ZodObject) ||
    strict(schema) === schema ||
    typeof value !== 'object' ||
    value === null
  )
    return;
  const unknown: string[] = [];
  for (const key of Object.keys(value)) {
    if (!Object.hasOwn(schema.shape, key) && !isServerSet(endpoint, key)) unknown.push(key);
    if (unknown.length > MAX_LISTED_ERRORS) {
      throw invalid(unknown.map((name) => unknownName([name], 'field')));
    }
  }
}

type IssueText = (issue: z.core.$ZodRawIssue) => string;

/** The names that an object may have, by the list of its unknown ones in an issue. */
const namesBeside = new WeakMap<readonly string[], readonly string[]>();

/** Notes what an object may have that has unknown names: issues do not say. */
function noting(text: IssueText): IssueText {
  return (issue) => {
    if (issue.code === 'unrecognized_keys' && issue.inst instanceof z.ZodObject)
      namesBeside.set(issue.keys, Object.keys(issue.inst.shape));
    return text(issue);
  };
}

function unknownName(
  path: readonly PropertyKey[],
  what: 'field' | 'parameter',
  known: readonly string[] = [],
): FieldError {
  const meant = didYouMeanName(String(path.at(-1)), known);
  // There are few parameters.
  const others =
    what === 'parameter' && meant === '' && known.length > 0 ? ` (known: ${known.join(', ')})` : '';
  return {
    pointer: jsonPointer(path),
    code: `unknown_${what}`,
    message: `is not a known ${what}${meant}${others}`,
  };
}

function isServerSet(endpoint: Pick<Endpoint, 'record'>, key: string): boolean {
  return SERVER_SET.includes(key) || Object.hasOwn(endpoint.record?.shape ?? {}, key);
}

function withoutServerSet(endpoint: Pick<Endpoint, 'body' | 'record'>, value: unknown): unknown {
  if (
    !(endpoint.body instanceof z.ZodObject) ||
    typeof value !== 'object' ||
    value === null ||
    Array.isArray(value)
  ) {
    return value;
  }
  const taken = endpoint.body.shape;
  return Object.fromEntries(
    Object.entries(value).filter(([key]) => Object.hasOwn(taken, key) || !isServerSet(endpoint, key)),
  );
}

/** One more than are listed, so that the caller can tell that the list was cut. */
const MOST_ERRORS = MAX_LISTED_ERRORS + 1;

function fieldErrors(error: z.ZodError, what: 'field' | 'parameter'): FieldError[] {
  return error.issues.slice(0, MOST_ERRORS).flatMap((issue): FieldError[] => {
    const pointer = jsonPointer(issue.path);
    if (issue.code === 'unrecognized_keys') {
      const known = namesBeside.get(issue.keys);
      return issue.keys.slice(0, MOST_ERRORS).map((key) => unknownName([...issue.path, key], what, known));
    }
    if (isMissing(issue)) {
      return [{ pointer, code: 'required', message: 'is required' }];
    }
    if (issue.code === 'custom') {
      const code: unknown = issue.params?.['code'];
      return [{ pointer, code: typeof code === 'string' ? code : 'invalid', message: issue.message }];
    }
    return [{ pointer, code: issue.code, message: issue.message }];
  });
}

/** Describes how a response violates its declaration, also by undeclared fields, or returns null. */
export function responseProblem(endpoint: Endpoint, response: EndpointResponse): string | null {
  const declared = endpoint.responses[response.status];
  if (declared === undefined) {
    return `status ${response.status} is not declared`;
  }
  if (declared === null) {
    return response.body === undefined ? null : 'it has a body although none is declared';
  }
  if (!isMedia(declared)) {
    return valueProblem(declared, response.body);
  }
  const type = response.type ?? 'application/json';
  const schema = declared.media[type] ?? declared.media['*/*'];
  if (!schema) {
    return `media type ${type} is not declared`;
  }
  return typeof response.body === 'string' || type === 'application/json'
    ? valueProblem(schema, response.body)
    : null;
}

function valueProblem(schema: z.ZodType, body: unknown): string | null {
  const result = schema.safeParse(body);
  if (!result.success) {
    return z.prettifyError(result.error);
  }
  // zod drops undeclared fields, but the OpenAPI document promises that there are none.
  return isDeepStrictEqual(asJson(result.data), asJson(body)) ? null : 'it has fields that are not declared';
}

function asJson(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value));
}
