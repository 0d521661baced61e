import { readFile } from 'node:fs/promises';
import { beforeAll, expect, test } from '@jest/globals';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020 } from 'ajv/dist/2020.js';

import type { Endpoint } from '../../api/endpoint.ts';
import type { OpenApiDocument } from '../../api/openapi.ts';
import { declaredEndpoints, documentedApi } from '../../dev/documented-api.ts';

type Content = Record<string, { schema?: Record<string, unknown> }>;
type Answer = { description: string; content?: Content; headers?: Record<string, unknown> };
type Parameter = { name: string; in: string; schema: unknown };
type Operation = {
  requestBody?: { content: Content } | { $ref: string };
  operationId: string;
  summary: string;
  tags: string[];
  security?: unknown[];
  responses: Record<string, Answer | { $ref: string }>;
  parameters: (Parameter | { $ref: string })[];
};

let document: OpenApiDocument;
let endpoints: Endpoint[];
let operations: [string, Operation][];

beforeAll(() => {
  endpoints = declaredEndpoints();
  document = JSON.parse(JSON.stringify(documentedApi()));
  operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]): [string, Operation] => [
      `${method.toUpperCase()} ${path}`,
      operation as unknown as Operation,
    ]),
  );
});

/** The value itself, or what its reference in the document leads to. */
function resolved<T>(value: T | { $ref: string }): T {
  if (typeof value !== 'object' || value === null || !('$ref' in value)) return value as T;
  const found = value.$ref
    .split('/')
    .slice(1)
    .reduce<any>((at, key) => at?.[key], document);
  expect([value.$ref, found]).toEqual([value.$ref, expect.anything()]);
  return found;
}
const answersOf = (operation: Operation): [string, Answer][] =>
  Object.entries(operation.responses).map(([status, answer]) => [status, resolved(answer)]);
const bodyOf = (operation: Operation): Content =>
  operation.requestBody === undefined ? {} : resolved<{ content: Content }>(operation.requestBody).content;
const parametersOf = (operation: Operation): Parameter[] =>
  operation.parameters.map((parameter) => resolved<Parameter>(parameter));

test('the document is valid OpenAPI 3.1, and every schema in it is valid JSON Schema', async () => {
  const result = await new Validator().validate(structuredClone(document));
  expect(result).toMatchObject({ valid: true });
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  ajv.addSchema({ $id: 'doc:openapi', ...document });
  for (const name of Object.keys(document.components['schemas'] as object)) {
    expect(ajv.getSchema(`doc:openapi#/components/schemas/${name}`)).toBeDefined();
  }
  const inline = operations.flatMap(([, operation]) =>
    answersOf(operation).flatMap(([, response]) => Object.values(response.content ?? {})),
  );
  for (const { schema } of inline) {
    // Outside of the document, its references need the document's name.
    const alone: object = JSON.parse(
      JSON.stringify(schema).replaceAll('"#/components', '"doc:openapi#/components'),
    );
    expect(() => ajv.compile(alone)).not.toThrow();
  }
});

test('the committed document matches the declarations (npm run openapi writes it)', async () => {
  const committed: unknown = JSON.parse(
    await readFile(new URL('../../docs/openapi.json', import.meta.url), 'utf8'),
  );
  expect(committed).toEqual(document);
});

test('each operation declares the request headers that it supports', () => {
  const taking = (header: string): string[] =>
    operations
      .filter(([, operation]) =>
        parametersOf(operation).some(({ in: place, name }) => place === 'header' && name === header),
      )
      .map(([name]) => name);
  expect(taking('Prefer')).toEqual([
    'POST /agents/{id}/invoke',
    'GET /runs/{id}',
    'POST /runs/{id}/retry',
    'POST /workflows/{id}/execute',
    'POST /workflows/{id}/run',
    'POST /workflows/{id}/schedule/trigger',
  ]);
  expect(taking('Last-Event-ID')).toEqual(['GET /events', 'GET /runs/{id}/events']);
  expect(taking('If-None-Match')).toEqual([
    'GET /files/{id}',
    'GET /jobs/{id}/files/{file_id}',
    'GET /schemas/workflow.json',
  ]);
  expect(taking('If-Match')).toEqual(
    expect.arrayContaining([
      'PATCH /agents/{id}',
      'PATCH /workflows/{id}',
      'PATCH /users/{id}',
      'PATCH /webhooks/{id}',
      'POST /webhooks/{id}/rotate-secret',
      'DELETE /files/{id}',
    ]),
  );
  const keyed = taking('Idempotency-Key');
  expect(keyed).toEqual(
    expect.arrayContaining([
      'POST /agents',
      'POST /workflows',
      'POST /runs/{id}/cancel',
      'POST /hitl/tasks/{id}/decision',
      'POST /files',
    ]),
  );
  // Answers that hold a secret are never stored.
  for (const name of [
    'POST /auth/token',
    'POST /webhooks',
    'POST /webhooks/{id}/rotate-secret',
    'POST /users/me/clients',
  ])
    expect(keyed).not.toContain(name);
});

test('what only a person may call says that others may not', () => {
  const forPersons = endpoints
    .filter(({ scope }) => scope === 'person')
    .map(({ operationId }) => operationId);
  expect(forPersons).toEqual(expect.arrayContaining(['listMyTokens', 'getMyPersonalData', 'listAbsences']));
  const silent = operations.filter(
    ([, { operationId, responses }]) => forPersons.includes(operationId) && !('403' in responses),
  );
  expect(silent).toEqual([]);
});

test('every object in a body is a named component, and every component is used', () => {
  const anonymous: string[] = [];
  for (const [name, operation] of operations) {
    const contents = [bodyOf(operation), ...answersOf(operation).map(([, answer]) => answer.content ?? {})];
    for (const [type, { schema }] of contents.flatMap((content) => Object.entries(content))) {
      const item = schema?.['type'] === 'array' ? (schema['items'] as Record<string, unknown>) : schema;
      if (item === undefined || (!('$ref' in item) && item['type'] !== 'string'))
        anonymous.push(`${name} ${type}`);
    }
  }
  expect(anonymous).toEqual([]);
  const text = JSON.stringify(document);
  const refs = new Set(
    [...text.matchAll(/"#\/components\/(\w+)\/([\w.-]+)"/g)].map(([, kind, name]) => `${kind}/${name}`),
  );
  const declared = ['schemas', 'parameters', 'requestBodies', 'responses', 'headers'].flatMap((kind) =>
    Object.keys(document.components[kind] as object).map((name) => `${kind}/${name}`),
  );
  expect([...refs].filter((ref) => !declared.includes(ref))).toEqual([]);
  expect(declared.filter((name) => !refs.has(name))).toEqual([]);
});

test('operations share parameters, bodies and responses instead of repeating them', () => {
  const parts = operations.flatMap(([, { parameters, requestBody, responses }]) => [
    ...parameters,
    ...(requestBody ? [requestBody] : []),
    ...Object.values(responses),
  ]);
  const inline = parts.filter((part) => !('$ref' in part)).map((part) => JSON.stringify(part));
  expect(inline.length).toBeGreaterThan(50);
  expect(inline.filter((one, index) => inline.indexOf(one) !== index)).toEqual([]);
});

test('a record in a list shares its fields with the whole record, and both refuse other fields', () => {
  const schemas = document.components['schemas'] as Record<string, Record<string, any>>;
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  ajv.addSchema({ $id: 'doc:openapi', ...document });
  const forms = Object.entries(schemas).filter(([, schema]) => 'allOf' in schema);
  expect(forms.map(([name]) => name)).toEqual(expect.arrayContaining(['Agent', 'ListedAgent', 'Run']));
  const base = { id: 'x', client_id: 'x', name: 'x', scopes: null };
  const times = { created_at: 'x', expires_at: 'x', last_used: null };
  const client = { ...base, ...times, awaits_second_factor: false };
  const accepts = (name: string, value: object) =>
    ajv.getSchema(`doc:openapi#/components/schemas/${name}`)?.(value);
  expect(accepts('Client', client)).toBe(true);
  expect(accepts('Client', { ...client, client_secret: 'x' })).toBe(false);
  expect(accepts('NewClient', { ...client, client_secret: 'x' })).toBe(true);
  expect(accepts('NewClient', client)).toBe(false);
  for (const [name, schema] of forms) {
    const base = resolved<Record<string, any>>(schema['allOf'][0]);
    expect([name, schema['unevaluatedProperties']]).toEqual([name, false]);
    // Generators take a field from one place only.
    const own = Object.keys(schema['properties'] ?? {});
    expect([name, own.filter((key) => key in base['properties'])]).toEqual([name, []]);
    expect([name, (schema['required'] ?? []).filter((key: string) => !own.includes(key))]).toEqual([
      name,
      [],
    ]);
  }
});

test('operations share the problem responses instead of repeating them', () => {
  for (const [name, operation] of operations) {
    for (const [status, answer] of Object.entries(operation.responses)) {
      const types = Object.keys(resolved(answer as Answer).content ?? {});
      if (types.join() === 'application/problem+json')
        expect([name, status, answer]).toEqual([
          name,
          status,
          { $ref: `#/components/responses/Problem${status}` },
        ]);
    }
  }
  const problems = Object.entries(document.components['responses'] as Record<string, Answer>)
    .filter(([name]) => name.startsWith('Problem'))
    .map(([, problem]) => problem);
  expect(problems.length).toBeGreaterThan(10);
  for (const { content } of problems)
    expect(Object.keys(content ?? {})).toEqual(['application/problem+json']);
});

test('every operation has a unique id, a summary and one tag', () => {
  const ids = operations.map(([, operation]) => operation.operationId);
  expect(new Set(ids).size).toBe(ids.length);
  for (const [name, operation] of operations) {
    expect([name, operation.operationId]).toEqual([name, expect.stringMatching(/^[a-z][A-Za-z0-9]+$/)]);
    expect([name, operation.summary]).toEqual([name, expect.stringMatching(/^[A-Z].*[^.]$/)]);
    expect([name, operation.tags.length]).toEqual([name, 1]);
  }
  expect(operations).toHaveLength(endpoints.length);
});

test('operations with a token declare 401, errors are problems, and lists are paged', () => {
  const open = [
    'GET /',
    'POST /auth/token',
    'POST /console/session',
    'POST /auth/device',
    'POST /auth/passkey',
    'POST /auth/password-requests',
    'POST /auth/password-link',
    'POST /auth/password',
    'GET /auth/authorize',
    'POST /auth/authorize',
    'POST /auth/register',
    'GET /auth/issuers',
    'GET /auth/sso/{name}',
    'GET /auth/sso/{name}/callback',
    'POST /auth/sso/{name}/logout',
    'GET /.well-known/oauth-protected-resource',
    'GET /.well-known/oauth-protected-resource/mcp',
    'GET /healthz',
    'GET /readyz',
    'GET /openapi.json',
    'GET /catalogs/default',
    'GET /.well-known/jwks.json',
    'GET /.well-known/oauth-authorization-server',
    'GET /.well-known/openid-configuration',
    'POST /temporal-codec/{capability}/decode',
    'POST /hooks/{id}',
    'GET /callbacks/{token}',
    'POST /callbacks/{token}',
    'GET /decide/{token}',
    'POST /decide/{token}',
    'GET /notifications/unsubscribe/{token}',
    'POST /notifications/unsubscribe/{token}',
  ];
  const logIns = ['POST /auth/token', 'POST /console/session', 'POST /auth/authorize', 'POST /hooks/{id}'];
  for (const [name, operation] of operations) {
    const path = name.split(' ')[1] ?? '';
    expect([name, operation.security?.length === 0]).toEqual([name, open.includes(name)]);
    expect([name, '401' in operation.responses]).toEqual([
      name,
      logIns.includes(name) || !open.includes(name),
    ]);
    for (const [status, response] of answersOf(operation)) {
      if (Number(status) >= 400 && path !== '/readyz') {
        expect([name, status, Object.keys(response.content ?? {})]).toEqual([
          name,
          status,
          expect.arrayContaining(['application/problem+json']),
        ]);
      }
    }
    const listed = answersOf(operation).find(([status]) => status === '200')?.[1].content?.[
      'application/json'
    ]?.schema;
    if (
      name.startsWith('GET') &&
      typeof listed === 'object' &&
      listed !== null &&
      'type' in listed &&
      listed.type === 'array'
    ) {
      expect([name, parametersOf(operation).map((parameter) => parameter.name)]).toEqual([
        name,
        expect.arrayContaining(['limit', 'cursor']),
      ]);
    }
  }
});

test('paths are lower case, path parameters are declared, and objects say what else they allow', () => {
  for (const endpoint of endpoints) {
    expect(endpoint.path).toMatch(/^(\/|(\/([a-z0-9._-]+|\{[a-z_]+\}))+)$/);
    const names = [...endpoint.path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]);
    expect([endpoint.path, Object.keys(endpoint.params?.shape ?? {}).toSorted()]).toEqual([
      endpoint.path,
      names.toSorted(),
    ]);
  }
  const open: string[] = [];
  for (const [name, operation] of operations) {
    openObjects(bodyOf(operation)['application/json']?.schema, name, open, new Set());
  }
  expect(open).toEqual([]);
});

/** Collects objects that name fields without `additionalProperties`. */
function openObjects(schema: unknown, path: string, found: string[], seen: Set<string>): void {
  if (typeof schema !== 'object' || schema === null) return;
  if ('$ref' in schema && typeof schema.$ref === 'string') {
    const name = schema.$ref.split('/').at(-1) ?? '';
    if (seen.has(name)) return;
    seen.add(name);
    openObjects(
      (document.components['schemas'] as Record<string, unknown>)[name],
      `${path} ${name}`,
      found,
      seen,
    );
    return;
  }
  if (
    'type' in schema &&
    [schema.type].flat().includes('object') &&
    'properties' in schema &&
    !('additionalProperties' in schema)
  )
    found.push(path);
  for (const [key, entry] of Object.entries(schema)) openObjects(entry, `${path}/${key}`, found, seen);
}
