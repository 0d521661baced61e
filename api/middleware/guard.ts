/** Validates what comes in and what goes out by the endpoint's schemas. */
import { isDeepStrictEqual } from 'node:util';
import * as z from 'zod';

import { badRequest, invalid, jsonPointer, notFound, type FieldError } from '../../domain/errors.ts';
import { isMedia, type Endpoint, type EndpointResponse } from '../endpoint.ts';
import { isStorable, unstorable } from './body.ts';

/** Set by us everywhere: a client may send them back as it read them. */
const serverSet = ['id', 'created_at', 'updated_at', 'owner_id', 'last_used'];

const strictCache = new WeakMap<z.ZodType, z.ZodType>();

/** The schema with unknown fields refused at its top, unless it says otherwise itself. */
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
    throw notFound('resource');
  }
  if (!endpoint.params) {
    return params;
  }
  const result = endpoint.params.safeParse(params);
  if (!result.success) {
    throw notFound('resource');
  }
  return result.data;
}

/** 400 with all that is wrong; `pointer` is the parameter's name. */
export function parseQuery(endpoint: Endpoint, query: Record<string, string | string[] | undefined>): unknown {
  const bad = Object.entries(query).filter(([name, value]) => ![name, value ?? ''].flat().every(isStorable));
  if (bad.length > 0) {
    throw badRequest('invalid_query', 'The query holds characters that no text has.', bad.map(([name]) => ({
      pointer: name.toWellFormed().replaceAll('\0', '\uFFFD'), code: 'invalid_characters', message: 'holds a NUL character or half a surrogate pair',
    })));
  }
  const result = strict(endpoint.query ?? z.object({})).safeParse(query, { reportInput: true });
  if (!result.success) {
    const errors = fieldErrors(result.error, 'parameter').map((error) => ({ ...error, pointer: error.pointer.slice(1) }));
    throw badRequest('invalid_query', errors.map((error) => `${error.pointer} ${error.message}`).join('; '), errors);
  }
  return result.data;
}

/** 422 with all errors at once. `value` is parsed JSON, or the fields of a form; `type` the media type it came in. */
export function parseBody(endpoint: Pick<Endpoint, 'body' | 'bodies' | 'record'>, value: unknown, type: string): unknown {
  const schema = endpoint.bodies?.[type] ?? endpoint.body ?? z.object({});
  const characters = unstorable(value);
  const result = strict(schema).safeParse(withoutServerSet(endpoint, value), { reportInput: true });
  // Where more fields are free, zod drops this one without a word.
  const dropped = typeof value === 'object' && value !== null && Object.hasOwn(value, '__proto__') && strict(schema) === schema && schema instanceof z.ZodObject;
  const forbidden: FieldError[] = dropped ? [{ pointer: '/__proto__', code: 'forbidden_name', message: 'cannot be a name here' }] : [];
  const errors = [...characters, ...forbidden, ...(result.success ? [] : fieldErrors(result.error, 'field'))];
  if (!result.success || errors.length > 0) {
    throw invalid(errors);
  }
  return result.data;
}

function withoutServerSet(endpoint: Pick<Endpoint, 'body' | 'record'>, value: unknown): unknown {
  if (!(endpoint.body instanceof z.ZodObject) || typeof value !== 'object' || value === null || Array.isArray(value)) {
    return value;
  }
  const taken = endpoint.body.shape;
  const ignored = new Set([...serverSet, ...Object.keys(endpoint.record?.shape ?? {})]);
  return Object.fromEntries(Object.entries(value).filter(([key]) => Object.hasOwn(taken, key) || !ignored.has(key)));
}

function fieldErrors(error: z.ZodError, what: 'field' | 'parameter'): FieldError[] {
  return error.issues.flatMap((issue): FieldError[] => {
    const pointer = jsonPointer(issue.path);
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map((key) => ({ pointer: jsonPointer([...issue.path, key]), code: `unknown_${what}`, message: `is not a ${what} here` }));
    }
    if ((issue.code === 'invalid_type' || issue.code === 'invalid_value') && issue.input === undefined) {
      return [{ pointer, code: 'required', message: 'is required' }];
    }
    if (issue.code === 'custom') {
      const code: unknown = issue.params?.['code'];
      return [{ pointer, code: typeof code === 'string' ? code : 'invalid', message: issue.message }];
    }
    return [{ pointer, code: issue.code, message: issue.message }];
  });
}

/** What is wrong with an answer, or null. `thorough` also finds fields that no schema names. */
export function checkResponse(endpoint: Endpoint, response: EndpointResponse, thorough: boolean): string | null {
  const declared = endpoint.responses[response.status];
  if (declared === undefined) {
    return `status ${response.status} is not declared`;
  }
  if (declared === null) {
    return response.body === undefined ? null : 'a body where none is declared';
  }
  if (!isMedia(declared)) {
    return checkValue(declared, response.body, thorough);
  }
  const type = response.type ?? 'application/json';
  const schema = declared.media[type] ?? declared.media['*/*'];
  if (!schema) {
    return `media type ${type} is not declared`;
  }
  return typeof response.body === 'string' || type === 'application/json' ? checkValue(schema, response.body, thorough) : null;
}

function checkValue(schema: z.ZodType, body: unknown, thorough: boolean): string | null {
  const result = schema.safeParse(body);
  if (!result.success) {
    return z.prettifyError(result.error);
  }
  // zod drops what a schema does not name; the document promises that there is nothing else.
  return !thorough || isDeepStrictEqual(asJson(result.data), asJson(body)) ? null : 'it has fields that are not declared';
}

function asJson(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value));
}
