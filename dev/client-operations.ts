/** Writes the operations and schemas of the OpenAPI document as TypeScript: `client/operations.ts`. */
import { format, resolveConfig } from 'prettier';

import type { Json } from '../api/openapi-schemas.ts';
import type { OpenApiDocument } from '../api/openapi.ts';

type Schema = Record<string, unknown>;
interface Parameter {
  name: string;
  in: string;
  required?: boolean;
  description?: string;
  schema: Schema;
}
type Content = Record<string, { schema: Schema }>;
interface RequestBody {
  required: boolean;
  content: Content;
}
interface Response {
  content?: Content;
}
/** An operation whose references to components are resolved, but those to schemas. */
interface Operation {
  operationId: string;
  summary: string;
  'x-role': string;
  parameters: Parameter[];
  requestBody?: RequestBody;
  responses: Record<string, Response>;
}

const HEADER = `/**
 * The operations and schemas of docs/openapi.json. Generated from the endpoint declarations in api/routes by
 * \`npm run openapi\`: do not edit.
 */`;

/** @param path where the file is, for its formatting */
export async function clientOperations(document: OpenApiDocument, path: string): Promise<string> {
  const operations = Object.entries(document.paths).flatMap(([url, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      url,
      method: method.toUpperCase(),
      operation: resolvedOperation(document, operation),
    })),
  );
  const schemas = document.components['schemas'] as Record<string, Schema>;
  // They are open for the schemas that extend them.
  const bases = new Set(
    Object.values(schemas).flatMap(({ allOf }) =>
      Array.isArray(allOf) ? allOf.map(({ $ref }: Schema) => nameOf(String($ref))) : [],
    ),
  );
  const text = [
    HEADER,
    '/** The answer of an operation that streams events. */',
    "export type EventStream = { readonly kind: 'events' };",
    ...Object.entries(schemas).map(([name, schema]) => {
      const type = typeOf(bases.has(name) ? { ...schema, additionalProperties: false } : schema);
      return `export type ${name} = ${type};`;
    }),
    'export interface Operations {',
    ...operations.map(({ operation }) => typesOf(operation)),
    '}',
    '/**',
    ' * What a request needs besides its options; `role` is the least role that may call the operation,',
    ' * `other` says that it may answer with something else than JSON.',
    ' */',
    'export const OPERATIONS = {',
    ...operations.map(
      ({ url, method, operation }) =>
        `${operation.operationId}: ${JSON.stringify({
          method,
          path: url,
          role: operation['x-role'],
          ...sentAs(operation),
          ...(answersOther(operation) ? { other: true } : {}),
        })},`,
    ),
    '} as const;',
  ].join('\n');
  return format(text, { ...(await resolveConfig(path)), parser: 'typescript' });
}

function resolvedOperation(document: OpenApiDocument, operation: Json): Operation {
  const entries = (value: unknown) => Object.entries((value ?? {}) as Record<string, Json>);
  const { parameters, requestBody, responses } = operation;
  // The document consists of plain JSON, and a contract test checks it against OpenAPI's own schema.
  return {
    ...operation,
    parameters: (parameters as Json[]).map((one) => resolved(document, one)),
    ...(requestBody ? { requestBody: resolved(document, requestBody as Json) } : {}),
    responses: Object.fromEntries(
      entries(responses).map(([status, one]) => [status, resolved(document, one)]),
    ),
  } as unknown as Operation;
}

function resolved(document: OpenApiDocument, value: Json): Json {
  const { $ref } = value;
  if (typeof $ref !== 'string') return value;
  const [kind = '', name = ''] = $ref.split('/').slice(-2);
  const found = (document.components[kind] as Record<string, Json> | undefined)?.[name];
  if (found === undefined) throw new Error(`${$ref} is not in the document`);
  return found;
}

function typesOf(operation: Operation): string {
  const inPath = operation.parameters.filter((parameter) => parameter.in === 'path');
  const inQuery = operation.parameters.filter((parameter) => parameter.in === 'query');
  const members = [
    inPath.length > 0 ? `path: ${objectOf(inPath)};` : '',
    inQuery.length > 0
      ? `query${inQuery.some(({ required }) => required) ? '' : '?'}: ${objectOf(inQuery)};`
      : '',
    bodyOf(operation),
    `answer: ${answerOf(operation)};`,
  ];
  return `${commentOf(operation.summary)}${operation.operationId}: { ${members.join(' ')} };`;
}

function objectOf(parameters: readonly Parameter[]): string {
  const members = parameters.map(
    ({ name, required, description, schema }) =>
      `${commentOf(description)}${keyOf(name)}${required ? '' : '?'}: ` +
      `${typeOf(schema)}${required ? '' : ' | undefined'};`,
  );
  return `{\n${members.join('\n')}\n}`;
}

function bodyOf({ requestBody }: Operation): string {
  if (requestBody === undefined) return '';
  const { required, content } = requestBody;
  const json = jsonType(content);
  const type =
    json === undefined
      ? 'Blob | FormData | Uint8Array | string'
      : [typeOf(content[json]?.schema), ...('text/csv' in content ? ['Blob'] : [])].join(' | ');
  return `body${required ? '' : '?'}: ${type};`;
}

/** The media type of the body where it is not plain JSON. */
function sentAs({ requestBody }: Operation): { sent?: string } {
  const json = requestBody && jsonType(requestBody.content);
  return json === undefined || json === 'application/json' ? {} : { sent: json };
}

/** Whether a good answer may be something else than JSON, or none that is described. */
function answersOther({ responses }: Operation): boolean {
  const good = Object.entries(responses).filter(([status]) => status.startsWith('2'));
  return good.length === 0 || good.some(([, { content = {} }]) => Object.keys(content).some(isOther));
}
const isOther = (media: string): boolean => !/\bjson$/.test(media);

function jsonType(content: Record<string, unknown>): string | undefined {
  return ['application/json', ...Object.keys(content)].find(
    (type) => type in content && /\bjson$/.test(type),
  );
}

function answerOf({ responses }: Operation): string {
  const types = Object.entries(responses)
    .filter(([status]) => status.startsWith('2'))
    .flatMap(([, { content }]) =>
      content === undefined
        ? ['undefined']
        : Object.entries(content).map(([media, { schema }]) => mediaType(media, schema)),
    );
  // An operation for pages alone, such as a form, answers with a redirect.
  return [...new Set(types)].join(' | ') || 'undefined';
}

function mediaType(media: string, schema: Schema): string {
  if (media === 'text/event-stream') return 'EventStream';
  if (/\bjson$/.test(media)) return typeOf(schema);
  return media.startsWith('text/') || /\+xml$|\byaml$/.test(media) ? 'string' : 'Blob';
}

function typeOf(schema: Schema | undefined): string {
  if (schema === undefined || Object.keys(schema).length === 0) return 'unknown';
  const { $ref, type } = schema;
  if (typeof $ref === 'string') return nameOf($ref);
  if ('const' in schema) return literal(schema['const']);
  if (Array.isArray(schema['enum'])) return schema['enum'].map(literal).join(' | ');
  const { allOf: shared, ...own } = schema;
  if (Array.isArray(shared)) return [...shared, ...closed(own)].map(typeOf).join(' & ');
  const alternatives = schema['anyOf'] ?? schema['oneOf'];
  if (Array.isArray(alternatives)) return alternatives.map((one) => `(${typeOf(one)})`).join(' | ');
  if (Array.isArray(type)) return type.map((one) => `(${typeOf({ ...schema, type: one })})`).join(' | ');
  switch (type) {
    case 'string':
    case 'boolean':
    case 'null':
      return type;
    case 'integer':
    case 'number':
      return 'number';
    case 'array':
      return `(${typeOf(schema['items'] as Schema | undefined)})[]`;
    case 'object':
      return objectType(schema);
    default:
      return 'unknown';
  }
}

/** The fields of an extended object besides the shared ones, or nothing if there are none. */
function closed(own: Schema): Schema[] {
  return 'properties' in own ? [{ ...own, additionalProperties: false }] : [];
}

function objectType({ properties, required, additionalProperties, propertyNames }: Schema): string {
  const names = new Set(Array.isArray(required) ? required : []);
  const members = Object.entries((properties ?? {}) as Record<string, Schema>).map(
    ([name, schema]) =>
      `${commentOf(schema['description'])}${keyOf(name)}${names.has(name) ? '' : '?'}: ${typeOf(schema)};`,
  );
  if (additionalProperties === false)
    return members.length > 0 ? `{\n${members.join('\n')}\n}` : 'Record<string, never>';
  const open = typeof additionalProperties === 'object' ? (additionalProperties as Schema) : {};
  if (members.length > 0) return `{\n${members.join('\n')}\n[name: string]: unknown;\n}`;
  const keys = typeof propertyNames === 'object' ? typeOf(propertyNames as Schema) : 'string';
  const record = `Record<${keys}, ${typeOf(open)}>`;
  return keys === 'string' ? record : `Partial<${record}>`;
}

function literal(value: unknown): string {
  return JSON.stringify(value);
}

function keyOf(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
}

function nameOf(ref: string): string {
  return ref.split('/').at(-1) ?? ref;
}

/** A comment whose lines keep within the width of the code around it. */
function commentOf(description: unknown): string {
  if (typeof description !== 'string' || description === '') return '';
  const lines = description
    .replaceAll('*/', '* /')
    .split(/\s+/)
    .reduce<string[]>(
      (found, word) => {
        const last = found.at(-1) ?? '';
        return last.length + word.length < 90
          ? [...found.slice(0, -1), last === '' ? word : `${last} ${word}`]
          : [...found, word];
      },
      [''],
    );
  return lines.length === 1 ? `/** ${lines[0]} */\n` : `/**\n * ${lines.join('\n * ')}\n */\n`;
}
