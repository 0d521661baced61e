/** The operations of an OpenAPI document, each as an agent that makes its request. */
import { fault } from '../../contracts/fault.ts';
import { isRecord } from '../../contracts/is-record.ts';
import type { SourceOffer } from '../../domain/ports.ts';
import { createDocumentSource, type ApiDocument } from '../openapi/document.ts';
import { findOperation, type Operation } from '../openapi/operation.ts';
import { partAt } from '../openapi/references.ts';
import { fieldText, type SourceCall } from './source-call.ts';

const MAX_OPERATIONS = 500;
/** Documents with more parts are rare; each is another request. */
const MAX_DOCUMENTS = 20;
const MAX_SCHEMA_CHARACTERS = 64 * 1024;
const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch'];

type Schema = Record<string, unknown>;

export async function openApiOffers(
  call: SourceCall,
  select: readonly string[] | null,
): Promise<SourceOffer[]> {
  const documents = createDocumentSource();
  let loaded = 0;
  const load = (url: string): Promise<ApiDocument> => {
    if (++loaded > MAX_DOCUMENTS)
      throw fault('configuration', `The document consists of more than ${MAX_DOCUMENTS} documents`);
    return documents.load(url, (place, headers) => call.send(place, { headers }));
  };
  const document = await load(call.url);
  const listed = listOperations(document);
  if (listed.length === 0)
    throw fault('configuration', 'It is no OpenAPI document that has operations with an operationId');
  const chosen = listed.filter(({ id }) => select === null || select.includes(id));
  const offers: SourceOffer[] = [];
  for (const { id, value } of chosen.slice(0, MAX_OPERATIONS)) {
    const operation = await findOperation(document, id, load);
    offers.push(await offerOf(operation, value, load));
  }
  return offers;
}

/** Operations without an id cannot be named, so they are not offered. */
function listOperations({ root }: ApiDocument): { id: string; value: Schema }[] {
  const paths = isRecord(root['paths']) ? Object.values(root['paths']) : [];
  return paths.filter(isRecord).flatMap((item) =>
    METHODS.flatMap((method) => {
      const value = item[method];
      const id = isRecord(value) ? value['operationId'] : undefined;
      return isRecord(value) && typeof id === 'string' && id !== '' ? [{ id, value }] : [];
    }),
  );
}

async function offerOf(
  operation: Operation,
  value: Schema,
  load: (url: string) => Promise<ApiDocument>,
): Promise<SourceOffer> {
  const { method, path, base, parameters } = operation;
  const properties: Schema = {};
  const required: string[] = [];
  const query: Schema = {};
  const headers: Schema = {};
  for (const parameter of parameters) {
    if (!['path', 'query', 'header'].includes(parameter.in) || !/^[\w.-]+$/.test(parameter.name)) continue;
    const { name } = parameter;
    properties[name] = describedSchema(operation, parameter.value);
    if (parameter.required) required.push(name);
    const template = `\${ .[${JSON.stringify(name)}] }`;
    if (parameter.in === 'query') query[name] = template;
    if (parameter.in === 'header') headers[name] = template;
  }
  const body = await bodySchema(operation, load);
  if (body !== null) {
    properties['body'] = body;
    required.push('body');
  }
  return {
    select: operation.id,
    fields: {
      name: operation.id.slice(0, 255),
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
      capabilities_streaming: false,
      provider_name: null,
    },
    skills: [],
  };
}

/** Version 2 describes a parameter in place of its schema. */
function describedSchema(operation: Operation, parameter: Schema): Schema {
  const own = isRecord(parameter['schema']) ? parameter['schema'] : pickType(parameter);
  const description = fieldText(parameter, 'description', 1_000);
  const schema = wholeSchema(own, operation.document.root);
  return description === null ? schema : { ...schema, description };
}

function pickType({ type, enum: values, items }: Schema): Schema {
  return Object.fromEntries(
    Object.entries({ type, enum: values, items }).filter(([, value]) => value !== undefined),
  );
}

async function bodySchema(
  operation: Operation,
  load: (url: string) => Promise<ApiDocument>,
): Promise<Schema | null> {
  const ofVersion2 = operation.parameters.find(({ in: place }) => place === 'body');
  if (ofVersion2) return describedSchema(operation, ofVersion2.value);
  const content = operation.requestBody?.value['content'];
  const json = isRecord(content)
    ? Object.entries(content).find(([type]) => /^application\/(?:[\w.-]+\+)?json\b/.test(type))?.[1]
    : undefined;
  if (json === undefined) return null;
  const { value, document } = await partAt(json, operation.requestBody?.document ?? operation.document, load);
  return isRecord(value['schema']) ? wholeSchema(value['schema'], document.root) : {};
}

/**
 * The schema with all that it refers to in place. Open where it refers to itself or to another document, or
 * is large.
 */
function wholeSchema(schema: Schema, root: Schema): Schema {
  let left = MAX_SCHEMA_CHARACTERS;
  const expand = (value: unknown, under: readonly string[]): unknown => {
    if ((left -= 8) < 0) return {};
    if (typeof value === 'string') left -= value.length;
    if (Array.isArray(value)) return value.map((one) => expand(one, under));
    if (!isRecord(value)) return value;
    const { $ref: reference } = value;
    if (typeof reference === 'string') {
      if (!reference.startsWith('#/') || under.includes(reference) || under.length > 20) return {};
      return expand(target(root, reference), [...under, reference]);
    }
    return Object.fromEntries(
      Object.entries(value)
        .filter(([key]) => !OPENAPI_ONLY.has(key))
        .map(([key, inner]) => [key, expand(inner, under)]),
    );
  };
  const whole = expand(schema, []);
  return left >= 0 && isRecord(whole) ? nullables(whole) : {};
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

function target(root: Schema, reference: string): unknown {
  let value: unknown = root;
  for (const token of reference.slice(2).split('/')) {
    const key = decodeURIComponent(token.replaceAll('~1', '/').replaceAll('~0', '~'));
    value = isRecord(value) && Object.hasOwn(value, key) ? value[key] : undefined;
  }
  return value ?? {};
}
