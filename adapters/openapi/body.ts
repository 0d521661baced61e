/** The body of an operation: its own parameter `body`, or the parameters that its schema names. */
import { randomUUID } from 'node:crypto';
import { isRecord } from '../../contracts/is-record.ts';
import { fault } from '../../contracts/fault.ts';
import { bodyOf } from '../http/message.ts';
import { fieldsOf, listOf, textOf, type ApiDocument } from './document.ts';
import type { Operation, Parameter } from './operation.ts';
import { partAt, type Load } from './references.ts';
import { SEPARATORS } from './serialize.ts';

export interface EncodedBody {
  body: string;
  contentType: string;
}

/** Removes what the body needs from `left`. Throws `Fault` (validation) if a required body is missing. */
export async function bodyFor(
  operation: Operation,
  left: Map<string, unknown>,
  load: Load,
): Promise<EncodedBody | null> {
  return operation.version === 2 ? body2(operation, left, load) : body3(operation, left, load);
}

async function body2(
  operation: Operation,
  left: Map<string, unknown>,
  load: Load,
): Promise<EncodedBody | null> {
  const { parameters, consumes, document } = operation;
  const form = parameters.filter((parameter) => parameter.in === 'formData');
  const body = parameters.find((parameter) => parameter.in === 'body');
  if (body) {
    const value = await taken(left, [body.name, 'body'], body.value['schema'], document, load);
    if (value === undefined && body.required) throw missing(operation, body.name);
    return value === undefined ? null : encoded(value, preferred(consumes) ?? 'application/json');
  }
  const fields = form.flatMap((parameter): [string, unknown][] => {
    const value = take(left, parameter.name);
    if (value === undefined && parameter.required) throw missing(operation, parameter.name);
    return value === undefined ? [] : [[parameter.name, formValue(parameter, value)]];
  });
  if (fields.length === 0) return null;
  const multipart =
    consumes.includes('multipart/form-data') &&
    (!consumes.includes('application/x-www-form-urlencoded') ||
      form.some(({ value }) => value['type'] === 'file'));
  return encoded(
    Object.fromEntries(fields),
    multipart ? 'multipart/form-data' : 'application/x-www-form-urlencoded',
  );
}

async function body3(
  operation: Operation,
  left: Map<string, unknown>,
  load: Load,
): Promise<EncodedBody | null> {
  const { requestBody } = operation;
  if (!requestBody) return null;
  const content = fieldsOf(requestBody.value, 'content');
  const type = preferred(Object.keys(content)) ?? 'application/json';
  const value = await taken(left, ['body'], fieldsOf(content, type)['schema'], requestBody.document, load);
  if (value === undefined) {
    if (requestBody.value['required'] === true) throw missing(operation, 'body');
    return null;
  }
  return encoded(value, type.includes('*') ? 'application/json' : type);
}

/** The value of the first given name, else an object of the given parameters that the schema names. */
async function taken(
  left: Map<string, unknown>,
  names: string[],
  schema: unknown,
  document: ApiDocument,
  load: Load,
): Promise<unknown> {
  const name = names.find((each) => left.has(each));
  if (name !== undefined) return take(left, name);
  const known = await propertiesOf(schema, document, load);
  const fields = [...left.keys()]
    .filter((key) => known === 'any' || known.has(key))
    .map((key): [string, unknown] => [key, take(left, key)]);
  return fields.length === 0 ? undefined : Object.fromEntries(fields);
}

/** The names of an object's members by its schema; `any` if the schema names none and allows others. */
async function propertiesOf(
  schema: unknown,
  document: ApiDocument,
  load: Load,
  depth = 0,
): Promise<Set<string> | 'any'> {
  const part = await partAt(schema, document, load);
  const names = new Set(Object.keys(fieldsOf(part.value, 'properties')));
  if (depth < 10) {
    for (const inner of ['allOf', 'oneOf', 'anyOf'].flatMap((key) => listOf(part.value, key))) {
      const more = await propertiesOf(inner, part.document, load, depth + 1);
      if (more !== 'any') for (const name of more) names.add(name);
    }
  }
  const open = part.value['type'] === 'object' && part.value['additionalProperties'] !== false;
  return names.size === 0 && (open || isRecord(part.value['additionalProperties'])) ? 'any' : names;
}

function take(left: Map<string, unknown>, name: string): unknown {
  const value = left.get(name);
  left.delete(name);
  return value === null ? undefined : value;
}

function formValue({ value: parameter }: Parameter, value: unknown): unknown {
  if (!Array.isArray(value)) return value;
  const format = textOf(parameter, 'collectionFormat') ?? 'csv';
  const text = value.map((item) => (typeof item === 'string' ? item : JSON.stringify(item)));
  return format === 'multi' ? text : text.join(SEPARATORS[format] ?? ',');
}

/** Prefers JSON. */
function preferred(types: string[]): string | undefined {
  const order = [
    /^application\/json\b/i,
    /[+/]json\b/i,
    /^application\/x-www-form-urlencoded/i,
    /^multipart\/form-data/i,
    /^text\//i,
  ];
  return (
    order.map((pattern) => types.find((type) => pattern.test(type))).find((type) => type !== undefined) ??
    types[0]
  );
}

function encoded(value: unknown, type: string): EncodedBody {
  if (!/^multipart\/form-data/i.test(type)) return bodyOf(value, type, !/json/i.test(type));
  if (!isRecord(value))
    throw fault('validation', 'A body of multipart/form-data must be an object of its fields');
  const boundary = `cadenza-${randomUUID()}`;
  const parts = Object.entries(value).flatMap(([name, field]) =>
    (Array.isArray(field) ? field : [field]).map((item) => partOf(name, item)),
  );
  return {
    body: `${parts.map((part) => `--${boundary}\r\n${part}\r\n`).join('')}--${boundary}--\r\n`,
    contentType: `multipart/form-data; boundary=${boundary}`,
  };
}

function partOf(name: string, value: unknown): string {
  const quoted = name.replaceAll('\r', '%0D').replaceAll('\n', '%0A').replaceAll('"', '%22');
  const head = `content-disposition: form-data; name="${quoted}"`;
  return typeof value === 'object' && value !== null
    ? `${head}\r\ncontent-type: application/json\r\n\r\n${JSON.stringify(value)}`
    : `${head}\r\n\r\n${String(value)}`;
}

function missing(operation: Operation, name: string): Error {
  return fault('validation', `The operation ${operation.id} needs ${JSON.stringify(name)} in "parameters"`);
}
