/** The operations of an OpenAPI document, each as an agent that makes its request. */
import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';

import { cutTo } from '../../contracts/cut-text.ts';
import { fault } from '../../contracts/fault.ts';
import { isRecord } from '../../contracts/is-record.ts';
import type { SourceOffer } from '../../domain/ports.ts';
import { createDocumentSource, type ApiDocument } from '../openapi/document.ts';
import { describeOperation, type FoundOperation, type Operation } from '../openapi/operation.ts';
import { partAt, type Load } from '../openapi/references.ts';
import { fieldText, type SourceCall } from './source-call.ts';

const MAX_OPERATIONS = 500;
/** Documents with more parts are rare; each is another request. */
const MAX_DOCUMENTS = 20;
const MAX_SCHEMA_CHARACTERS = 64 * 1024;
/** Of all schemas together, with what they refer to in place: a short document can repeat a long schema. */
const MAX_CHARACTERS = 4 * 1024 * 1024;
/** What a schema counts that is left open: finding that out takes time, too. */
const OPEN_CHARACTERS = 8 * 1024;
const MAX_PARAMETERS = 200;
const MAX_DEPTH = 64;
/** Of all documents together: parsing YAML holds up the process. */
const MAX_YAML_BYTES = 512 * 1024;
/** Of an operation without an id. */
const MAX_NAME = 200;
const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch'];

type Schema = Record<string, unknown>;

export async function openApiOffers(
  call: SourceCall,
  select: readonly string[] | null,
  outputs: boolean,
): Promise<SourceOffer[]> {
  const documents = createDocumentSource();
  const { origin } = new URL(call.url);
  let loaded = 0;
  let yamlBytes = 0;
  const load = (url: string): Promise<ApiDocument> =>
    documents.load(url, async (place, headers) => {
      if (++loaded > MAX_DOCUMENTS)
        throw fault('configuration', `The document consists of more than ${MAX_DOCUMENTS} documents`);
      // A document chooses what it refers to, but not who gets the credentials.
      const answer = await call.send(place, { headers, bare: new URL(place).origin !== origin });
      if (!/^\s*[[{]/.test(Buffer.from(answer.bytes.subarray(0, 1_000)).toString()))
        yamlBytes += answer.bytes.length;
      if (yamlBytes > MAX_YAML_BYTES)
        throw fault('configuration', `YAML may have ${MAX_YAML_BYTES} bytes: use the document's JSON`);
      return answer;
    });
  const document = await load(call.url);
  const listed = listOperations(document);
  if (listed.length === 0) throw fault('configuration', 'It is no OpenAPI document that has operations');
  const chosen = listed.filter(({ id }) => select === null || select.includes(id));
  const offers: SourceOffer[] = [];
  const room = { left: MAX_CHARACTERS };
  for (const { id, found } of chosen.slice(0, MAX_OPERATIONS)) {
    // Other requests get their turn, and so does the time limit.
    await setImmediate();
    call.guard.signal.throwIfAborted();
    const operation = await describeOperation(document, id, found, load);
    offers.push(await offerOf(operation, found.operation, { load, room, outputs }));
    if (room.left < 0)
      throw fault('configuration', 'The schemas of these operations are too large together: select fewer');
  }
  return offers;
}

/** How much may still be expanded. */
interface Room {
  left: number;
}

interface Reading {
  load: Load;
  room: Room;
  /** Whether to read the schemas of answers. */
  outputs: boolean;
}

/** An operation without an id is named after its method and path. */
function listOperations(document: ApiDocument): { id: string; found: FoundOperation }[] {
  const { paths } = document.root;
  const all = Object.entries(isRecord(paths) ? paths : {}).flatMap(([path, item]) =>
    METHODS.flatMap((method) => {
      const operation = isRecord(item) ? item[method] : undefined;
      if (!isRecord(item) || !isRecord(operation)) return [];
      const { operationId: own } = operation;
      const id = typeof own === 'string' && own !== '' ? own : nameOf(method, path);
      return [{ id, isOwn: id === own, found: { path, method, item: { value: item, document }, operation } }];
    }),
  );
  const used = Map.groupBy(all, ({ id }) => id);
  return all.map(({ id, isOwn, found }) => ({
    // Two paths can differ in signs only. Each name depends on its own path, not on the order.
    id: isOwn || used.get(id)?.length === 1 ? id : `${id}_${digestOf(`${found.method} ${found.path}`)}`,
    found,
  }));
}

function nameOf(method: string, path: string): string {
  const words = path.replaceAll(/[^A-Za-z0-9]+/g, '_').replaceAll(/^_+|_+$/g, '');
  return `${method}_${words || 'root'}`.slice(0, MAX_NAME);
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 8);
}

async function offerOf(operation: Operation, value: Schema, reading: Reading): Promise<SourceOffer> {
  const { method, path, base, parameters } = operation;
  const { room } = reading;
  room.left -= base.length + path.length;
  const properties: Schema = {};
  const required: string[] = [];
  const query: Schema = {};
  const headers: Schema = {};
  for (const parameter of parameters.slice(0, MAX_PARAMETERS)) {
    const { name } = parameter;
    if (!['path', 'query', 'header'].includes(parameter.in) || !/^[\w.-]{1,255}$/.test(name)) continue;
    properties[name] = describedSchema(operation, parameter.value, room);
    room.left -= 4 * name.length;
    if (parameter.required) required.push(name);
    const template = `\${ .[${JSON.stringify(name)}] }`;
    if (parameter.in === 'query') query[name] = template;
    if (parameter.in === 'header') headers[name] = template;
  }
  const body = await bodySchema(operation, reading);
  if (body !== null) {
    properties['body'] = body;
    required.push('body');
  }
  return {
    select: operation.id,
    fields: {
      name: cutTo(operation.id, 255),
      description: fieldText(value, 'description') ?? fieldText(value, 'summary'),
      type: 'api',
      execution_type: null,
      url: null,
      configuration: {
        endpoint: `${base}${path}`,
        method: method.toUpperCase(),
        query,
        ...(Object.keys(headers).length > 0 ? { headers } : {}),
        ...(body === null ? {} : { body: '${ .body }' }),
      },
      input_schema: { type: 'object', properties, ...(required.length > 0 ? { required } : {}) },
      output_schema: reading.outputs ? await outputSchema(operation, value, reading) : null,
      capabilities_streaming: false,
      provider_name: null,
    },
    skills: [],
  };
}

/** Version 2 describes a parameter in place of its schema. */
function describedSchema(operation: Operation, parameter: Schema, room: Room): Schema {
  const own = isRecord(parameter['schema']) ? parameter['schema'] : pickType(parameter);
  const description = fieldText(parameter, 'description', 1_000);
  const schema = wholeSchema(own, operation.document.root, room);
  room.left -= description?.length ?? 0;
  return description === null ? schema : { ...schema, description };
}

function pickType({ type, enum: values, items }: Schema): Schema {
  return Object.fromEntries(
    Object.entries({ type, enum: values, items }).filter(([, value]) => value !== undefined),
  );
}

async function bodySchema(operation: Operation, { load, room }: Reading): Promise<Schema | null> {
  const ofVersion2 = operation.parameters.find(({ in: place }) => place === 'body');
  if (ofVersion2) return describedSchema(operation, ofVersion2.value, room);
  const json = jsonOf(operation.requestBody?.value['content']);
  if (json === undefined) return null;
  const { value, document } = await partAt(json, operation.requestBody?.document ?? operation.document, load);
  return isRecord(value['schema']) ? wholeSchema(value['schema'], document.root, room) : {};
}

/**
 * The schema of every answer that is a success; null if one of them may be something else than JSON, or has
 * no schema.
 */
async function outputSchema(
  { version, document }: Operation,
  { responses }: Schema,
  { load, room }: Reading,
): Promise<Schema | null> {
  const schemas: Schema[] = [];
  for (const [status, given] of Object.entries(isRecord(responses) ? responses : {})) {
    if (!/^2(?:\d\d|XX)$/i.test(status)) continue;
    const response = await partAt(given, document, load);
    const json = version === 2 ? response.value : jsonOf(response.value['content']);
    if (json === undefined) return null;
    const { value, document: own } = await partAt(json, response.document, load);
    if (!isRecord(value['schema'])) return null;
    const schema = wholeSchema(value['schema'], own.root, room);
    if (Object.keys(schema).length === 0) return null;
    schemas.push(schema);
  }
  const [only] = schemas;
  if (only === undefined) return null;
  return schemas.length === 1 ? only : { anyOf: schemas };
}

function jsonOf(content: unknown): unknown {
  if (!isRecord(content)) return undefined;
  return Object.entries(content).find(([type]) => /^application\/(?:[\w.-]+\+)?json\b/.test(type))?.[1];
}

/**
 * The schema with all that it refers to in place. Open where it refers to itself or to another document, or
 * is large.
 */
function wholeSchema(schema: Schema, root: Schema, room: Room): Schema {
  let left = Math.min(MAX_SCHEMA_CHARACTERS, room.left);
  const before = left;
  let isDeep = false;
  const expand = (value: unknown, under: readonly string[], depth: number): unknown => {
    left -= 8;
    isDeep ||= depth > MAX_DEPTH;
    if (isDeep || left < 0) return {};
    if (typeof value === 'string') left -= value.length;
    if (Array.isArray(value)) {
      const copy: unknown[] = [];
      for (const one of value) {
        if (isDeep || left < 0) break;
        copy.push(expand(one, under, depth + 1));
      }
      return copy;
    }
    if (!isRecord(value)) return value;
    const { $ref: reference } = value;
    if (typeof reference === 'string') {
      if (!reference.startsWith('#/') || under.includes(reference) || under.length > 20) return {};
      return expand(target(root, reference), [...under, reference], depth + 1);
    }
    const copy: [string, unknown][] = [];
    // It may have any number of members.
    for (const [key, inner] of Object.entries(value)) {
      if (isDeep || left < 0) break;
      left -= key.length;
      if (!OPENAPI_ONLY.has(key)) copy.push([key, expand(inner, under, depth + 1)]);
    }
    return Object.fromEntries(copy);
  };
  const whole = expand(schema, [], 0);
  const isOpen = isDeep || left < 0;
  if (left < 0 && before < MAX_SCHEMA_CHARACTERS) room.left = -1;
  else room.left -= isOpen ? Math.min(before - left, OPEN_CHARACTERS) : before - left;
  return !isOpen && isRecord(whole) ? nullables(whole) : {};
}

/** Keywords of OpenAPI's own, and formats that servers rarely mean strictly. */
const OPENAPI_ONLY = new Set([
  'discriminator',
  'xml',
  'externalDocs',
  'example',
  'readOnly',
  'writeOnly',
  'format',
]);

/** OpenAPI 3.0 has `nullable` and boolean `exclusiveMinimum`, which JSON Schema has not. */
function nullables(schema: Schema): Schema {
  const walk = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(walk);
    if (!isRecord(value)) return value;
    const copy = Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, walk(inner)]));
    const { nullable, type } = copy;
    if (typeof nullable === 'boolean') {
      delete copy['nullable'];
      if (nullable && typeof type === 'string') copy['type'] = [type, 'null'];
    }
    for (const key of ['exclusiveMinimum', 'exclusiveMaximum'])
      if (typeof copy[key] === 'boolean') delete copy[key];
    return copy;
  };
  return walk(schema) as Schema;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function target(root: Schema, reference: string): unknown {
  let value: unknown = root;
  for (const token of reference.slice(2).split('/')) {
    const key = decoded(token.replaceAll('~1', '/').replaceAll('~0', '~'));
    value = isRecord(value) && Object.hasOwn(value, key) ? value[key] : undefined;
  }
  return value ?? {};
}
