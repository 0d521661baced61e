import { readFile } from 'node:fs/promises';
import { beforeAll, expect, test } from '@jest/globals';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020 } from 'ajv/dist/2020.js';

import type { Endpoint } from '../../api/endpoint.ts';
import type { OpenApiDocument } from '../../api/openapi.ts';
import { declaredEndpoints, documentedApi } from '../../dev/documented-api.ts';

type Operation = { requestBody?: { content: Record<string, { schema: unknown }> }; operationId: string; summary: string; tags: string[]; security?: unknown[]; responses: Record<string, { content?: Record<string, { schema: unknown }> }>; parameters: { name: string; in: string }[] };

let document: OpenApiDocument;
let endpoints: Endpoint[];
let operations: [string, Operation][];

beforeAll(() => {
  endpoints = declaredEndpoints();
  document = JSON.parse(JSON.stringify(documentedApi()));
  operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]): [string, Operation] => [`${method.toUpperCase()} ${path}`, operation as unknown as Operation]));
});

test('it is valid OpenAPI 3.1, and every schema in it a valid JSON Schema', async () => {
  const result = await new Validator().validate(structuredClone(document));
  expect(result).toMatchObject({ valid: true });
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  ajv.addSchema({ $id: 'doc:openapi', ...document });
  for (const name of Object.keys(document.components['schemas'] as object)) {
    expect(ajv.getSchema(`doc:openapi#/components/schemas/${name}`)).toBeDefined();
  }
  const inline = operations.flatMap(([, operation]) => Object.values(operation.responses).flatMap((response) => Object.values(response.content ?? {})));
  for (const { schema } of inline) {
    // Outside of the document, its references need the document's name.
    const alone: object = JSON.parse(JSON.stringify(schema).replaceAll('"#/components', '"doc:openapi#/components'));
    expect(() => ajv.compile(alone)).not.toThrow();
  }
});

test('the committed document is the one that the declarations give (npm run openapi writes it)', async () => {
  const committed: unknown = JSON.parse(await readFile(new URL('../../docs/openapi.json', import.meta.url), 'utf8'));
  expect(committed).toEqual(document);
});

test('house rules: names, summaries, tags', () => {
  const ids = operations.map(([, operation]) => operation.operationId);
  expect(new Set(ids).size).toBe(ids.length);
  for (const [name, operation] of operations) {
    expect([name, operation.operationId]).toEqual([name, expect.stringMatching(/^[a-z][A-Za-z0-9]+$/)]);
    expect([name, operation.summary]).toEqual([name, expect.stringMatching(/^[A-Z].*[^.]$/)]);
    expect([name, operation.tags.length]).toEqual([name, 1]);
  }
  expect(operations).toHaveLength(endpoints.length);
});

test('house rules: what needs a token says 401, errors are problems, lists are paged', () => {
  const open = ['/auth/token', '/healthz', '/readyz', '/openapi.json', '/docs', '/.well-known/jwks.json', '/.well-known/oauth-authorization-server', '/temporal-codec/{capability}/decode'];
  for (const [name, operation] of operations) {
    const path = name.split(' ')[1] ?? '';
    expect([name, operation.security?.length === 0]).toEqual([name, open.includes(path)]);
    expect([name, '401' in operation.responses]).toEqual([name, path === '/auth/token' || !open.includes(path)]);
    for (const [status, response] of Object.entries(operation.responses)) {
      if (Number(status) >= 400 && path !== '/readyz') {
        expect([name, status, Object.keys(response.content ?? {})]).toEqual([name, status, expect.arrayContaining(['application/problem+json'])]);
      }
    }
    const listed = operation.responses['200']?.content?.['application/json']?.schema;
    if (name.startsWith('GET') && typeof listed === 'object' && listed !== null && 'type' in listed && listed.type === 'array') {
      expect([name, operation.parameters.map((parameter) => parameter.name)]).toEqual([name, expect.arrayContaining(['limit', 'cursor'])]);
    }
  }
});

test('house rules: paths are lower case, path parameters are declared, unknown fields are refused', () => {
  for (const endpoint of endpoints) {
    expect(endpoint.path).toMatch(/^(\/([a-z0-9._-]+|\{[a-z_]+\}))+$/);
    const names = [...endpoint.path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]);
    expect([endpoint.path, Object.keys(endpoint.params?.shape ?? {}).toSorted()]).toEqual([endpoint.path, names.toSorted()]);
  }
  const open: string[] = [];
  for (const [name, operation] of operations) {
    openObjects(operation.requestBody?.content['application/json']?.schema, name, open, new Set());
  }
  expect(open).toEqual([]);
});

/** Objects with named fields that do not say what becomes of other fields. */
function openObjects(schema: unknown, path: string, found: string[], seen: Set<string>): void {
  if (typeof schema !== 'object' || schema === null) return;
  if ('$ref' in schema && typeof schema.$ref === 'string') {
    const name = schema.$ref.split('/').at(-1) ?? '';
    if (seen.has(name)) return;
    seen.add(name);
    openObjects((document.components['schemas'] as Record<string, unknown>)[name], `${path} ${name}`, found, seen);
    return;
  }
  if ('type' in schema && schema.type === 'object' && 'properties' in schema && !('additionalProperties' in schema)) found.push(path);
  for (const [key, entry] of Object.entries(schema)) openObjects(entry, `${path}/${key}`, found, seen);
}
