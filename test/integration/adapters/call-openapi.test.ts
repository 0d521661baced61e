import { describe, expect, test } from '@jest/globals';
import { stringify } from 'yaml';
import { createOpenApiCaller } from '../../../adapters/openapi/call-openapi.ts';
import { createAdapters, createEgressPolicy } from '../../../adapters/index.ts';
import { createTokenSource } from '../../../adapters/authentication/oauth-token.ts';
import { createDocumentSource } from '../../../adapters/openapi/document.ts';
import { faultOf, httpCall } from '../../support/agent-call.ts';
import { sendJson, startServer, type SeenRequest, type TestServer } from '../../support/http-server.ts';
import { closedAfterEach } from '../../support/closed-after-each.ts';

const opened = closedAfterEach();

type Document = Record<string, unknown>;

/** Serves documents by path, and echoes every other request. */
async function serve(documents: Record<string, (origin: string) => Document | string>): Promise<TestServer> {
  const server = await startServer((request, response) => {
    const document = documents[request.path]?.(server.url);
    if (document === undefined) return sendJson(response, { path: request.path, method: request.method });
    if (typeof document === 'string')
      return void response.writeHead(200, { 'content-type': 'application/yaml' }).end(document);
    sendJson(response, document);
  });
  opened(server);
  return server;
}

function adapters() {
  const egress = createEgressPolicy({ allow: ['127.0.0.1'] });
  opened(egress);
  return createAdapters({ egress });
}

const calls = (server: TestServer): SeenRequest[] =>
  server.seen.filter(({ path }) => !path.startsWith('/doc'));

async function sent(
  document: Document,
  operationId: string,
  parameters: Record<string, unknown> = {},
  more: Record<string, unknown> = {},
): Promise<SeenRequest> {
  const server = await serve({ '/doc': () => document });
  await adapters().openapi(
    httpCall({ document: { endpoint: `${server.url}/doc` }, operationId, parameters, ...more }),
  );
  const [request] = calls(server);
  if (!request) throw new Error('nothing was called');
  return request;
}

const v3 = (operation: Document, path = '/x', more: Document = {}): Document => ({
  openapi: '3.0.3',
  paths: { [path]: { post: { operationId: 'op', ...operation } } },
  ...more,
});
const v2 = (operation: Document, path = '/x', more: Document = {}): Document => ({
  swagger: '2.0',
  schemes: ['http'],
  paths: { [path]: { post: { operationId: 'op', ...operation } } },
  ...more,
});
const parameter = (place: string, name: string, more: Document = {}): Document => ({
  in: place,
  name,
  schema: {},
  ...more,
});
const query = (path: string): string => path.slice(path.indexOf('?') + 1);

describe('the address of an operation', () => {
  test.each([
    ['the document itself, without servers', v3({}), '/x'],
    ['a relative server', v3({}, '/x', { servers: [{ url: '/api/v1/' }] }), '/api/v1/x'],
    [
      'a server with variables',
      v3({}, '/x', { servers: [{ url: '/{stage}/{none}', variables: { stage: { default: 'prod' } } }] }),
      '/prod//x',
    ],
    [
      'the server of the operation',
      v3({ servers: [{ url: '/inner' }] }, '/x', { servers: [{ url: '/outer' }] }),
      '/inner/x',
    ],
    ['basePath', v2({}, '/x', { basePath: '/v2/' }), '/v2/x'],
    ['no basePath', v2({}), '/x'],
  ])('follows %s', async (_title, document, path) => {
    expect(await sent(document, 'op')).toMatchObject({
      method: 'POST',
      path: path.replace('//', '/'),
      headers: { 'idempotency-key': expect.any(String) },
    });
  });

  test('follows host and schemes of 2.0, and absolute servers of 3.x', async () => {
    const target = await serve({});
    const documents = await serve({
      '/doc2': () => v2({}, '/two', { host: target.url.slice('http://'.length) }),
      '/doc3': () => v3({}, '/three', { servers: [{ url: `${target.url}/base` }] }),
    });
    const caller = adapters();
    for (const name of ['doc2', 'doc3'])
      await caller.openapi(
        httpCall({ document: { endpoint: { uri: `${documents.url}/${name}` } }, operationId: 'op' }),
      );
    expect(target.seen.map(({ path }) => path)).toEqual(['/two', '/base/three']);
  });
});

describe('the parameters of OpenAPI 3', () => {
  const list = ['a b', 'c,d'];
  const object = { R: 100, G: 'x&y' };
  test.each([
    ['form', {}, list, 'p=a%20b&p=c%2Cd'],
    ['form', {}, object, 'R=100&G=x%26y'],
    ['form', { explode: false }, list, 'p=a%20b,c%2Cd'],
    ['form', { explode: false }, object, 'p=R,100,G,x%26y'],
    ['spaceDelimited', { explode: false }, list, 'p=a%20b%20c%2Cd'],
    ['pipeDelimited', { explode: false }, list, 'p=a%20b%7Cc%2Cd'],
    ['deepObject', { explode: true }, { a: { b: 1 }, c: [2, 3] }, 'p%5Ba%5D%5Bb%5D=1&p%5Bc%5D=2&p%5Bc%5D=3'],
    ['form', { allowReserved: true }, 'a/b?c', 'p=a/b?c'],
    [
      'form',
      { content: { 'application/json': {} } },
      object,
      'p=%7B%22R%22%3A100%2C%22G%22%3A%22x%26y%22%7D',
    ],
    ['form', {}, false, 'p=false'],
  ])('are written into the query by style: %s %j', async (style, more, value, expected) => {
    const { path } = await sent(v3({ parameters: [parameter('query', 'p', { style, ...more })] }), 'op', {
      p: value,
    });
    expect(query(path)).toBe(expected);
  });

  test.each([
    ['simple', false, list, 'a%20b,c%2Cd'],
    ['simple', false, object, 'R,100,G,x%26y'],
    ['simple', true, object, 'R=100,G=x%26y'],
    ['label', false, list, '.a%20b,c%2Cd'],
    ['label', true, list, '.a%20b.c%2Cd'],
    ['matrix', false, list, ';p=a%20b,c%2Cd'],
    ['matrix', true, list, ';p=a%20b;p=c%2Cd'],
    ['matrix', true, object, ';R=100;G=x%26y'],
    ['matrix', false, 5, ';p=5'],
  ])('are written into the path by style: %s explode %s %j', async (style, explode, value, expected) => {
    expect(
      (
        await sent(v3({ parameters: [parameter('path', 'p', { style, explode })] }, '/a/{p}/b'), 'op', {
          p: value,
        })
      ).path,
    ).toBe(`/a/${expected}/b`);
  });

  test('go into headers and cookies, null is left out, and a default applies if required', async () => {
    const parameters = [
      parameter('header', 'X-List'),
      parameter('cookie', 'session'),
      parameter('cookie', 'none'),
      parameter('query', 'api-version', { required: true, schema: { default: '2024' } }),
      parameter('header', 'Authorization'),
    ];
    const { headers, path } = await sent(v3({ parameters }), 'op', {
      'X-List': [1, 'b'],
      session: 'a b',
      none: null,
    });
    expect([headers['x-list'], headers.cookie, headers.authorization, path]).toEqual([
      '1,b',
      'session=a%20b',
      undefined,
      '/x?api-version=2024',
    ]);
  });

  test('of an operation replace those of its path, also by reference', async () => {
    const components = {
      parameters: {
        id: parameter('path', 'id', { required: true }),
        how: parameter('query', 'how', { style: 'pipeDelimited', explode: false }),
      },
    };
    const document = {
      openapi: '3.1.0',
      components,
      paths: {
        '/p/{id}': {
          parameters: [{ $ref: '#/components/parameters/id' }, parameter('query', 'how')],
          get: { operationId: 'op', parameters: [{ $ref: '#/components/parameters/how' }] },
        },
      },
    };
    expect(await sent(document, 'op', { id: 'ä', how: ['x', 'y'] })).toMatchObject({
      method: 'GET',
      path: '/p/%C3%A4?how=x%7Cy',
    });
  });
});

test.each([
  ['csv', 'a%20b,c'],
  ['ssv', 'a%20b%20c'],
  ['tsv', 'a%20b%09c'],
  ['pipes', 'a%20b%7Cc'],
  ['multi', 'a%20b&p=c'],
  [undefined, 'a%20b,c'],
])('OpenAPI 2.0 writes a list by collectionFormat %s', async (collectionFormat, expected) => {
  const { path } = await sent(
    v2({
      parameters: [
        { in: 'query', name: 'p', type: 'array', ...(collectionFormat ? { collectionFormat } : {}) },
      ],
    }),
    'op',
    { p: ['a b', 'c'] },
  );
  expect(query(path)).toBe(`p=${expected}`);
});

describe('the request body', () => {
  const pet = { type: 'object', properties: { name: { type: 'string' }, tag: {} } };
  const content = (type: string, schema: Document = pet): Document => ({
    requestBody: { required: true, content: { 'text/plain': {}, [type]: { schema } } },
  });

  test.each([
    [
      '3.x, as a whole',
      v3(content('application/json')),
      { body: { name: 'Rex' } },
      'application/json',
      '{"name":"Rex"}',
    ],
    [
      '3.x, member by member',
      v3({ ...content('application/json'), parameters: [parameter('query', 'q')] }),
      { name: 'Rex', tag: 1, q: 2 },
      'application/json',
      '{"name":"Rex","tag":1}',
    ],
    [
      '3.x, by reference and allOf',
      v3(content('application/json', { allOf: [{ $ref: '#/components/schemas/pet' }] }), '/x', {
        components: { schemas: { pet } },
      }),
      { name: 'Rex' },
      'application/json',
      '{"name":"Rex"}',
    ],
    [
      '3.x, any members',
      v3(content('application/vnd.api+json', { type: 'object' })),
      { a: 1 },
      'application/vnd.api+json',
      '{"a":1}',
    ],
    [
      '3.x, a form',
      v3({ requestBody: { content: { 'application/x-www-form-urlencoded': { schema: pet } } } }),
      { name: 'a b', tag: ['x', 'y'] },
      'application/x-www-form-urlencoded',
      'name=a+b&tag=x&tag=y',
    ],
    [
      '2.0, by its name',
      v2({ parameters: [{ in: 'body', name: 'pet', required: true, schema: pet }] }),
      { pet: { name: 'Rex' } },
      'application/json',
      '{"name":"Rex"}',
    ],
    [
      '2.0, member by member',
      v2({ parameters: [{ in: 'body', name: 'pet', schema: { $ref: '#/definitions/Pet' } }] }, '/x', {
        definitions: { Pet: pet },
      }),
      { name: 'Rex' },
      'application/json',
      '{"name":"Rex"}',
    ],
    [
      '2.0, formData',
      v2({
        parameters: [
          { in: 'formData', name: 'a' },
          { in: 'formData', name: 'b', type: 'array', collectionFormat: 'pipes' },
        ],
      }),
      { a: 'x y', b: [1, 2] },
      'application/x-www-form-urlencoded',
      'a=x+y&b=1%7C2',
    ],
  ])('is built for %s', async (_title, document, parameters, type, body) => {
    const request = await sent(document, 'op', parameters);
    expect([request.headers['content-type'], request.body]).toEqual([type, body]);
  });

  test('is built as multipart', async () => {
    const { headers, body } = await sent(
      v3({ requestBody: { content: { 'multipart/form-data': { schema: pet } } } }),
      'op',
      { name: 'Rex', tag: { a: 1 } },
    );
    const boundary = /^multipart\/form-data; boundary=(\S+)$/.exec(headers['content-type'] ?? '')?.[1] ?? '';
    const form = await new Response(body, {
      headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
    }).formData();
    expect(form.get('name')).toBe('Rex');
    expect(body).toContain('content-type: application/json\r\n\r\n{"a":1}');
  });
});

/** One line of a YAML bomb: each value refers to the one before nine times. */
const nineReferences = (name: string, index: number): string =>
  `${name}: &${name} [${Array.from({ length: 9 }, () => `*${'abcdefgh'[index]}`).join(',')}]`;

describe('an OpenAPI call is refused', () => {
  const document = {
    openapi: '3.0.0',
    paths: {
      '/p/{petId}': {
        get: {
          operationId: 'getPet',
          parameters: [
            parameter('path', 'petId', { required: true }),
            parameter('query', 'status', { required: true }),
          ],
        },
        post: {
          operationId: 'addPet',
          requestBody: {
            required: true,
            content: { 'application/json': { schema: { type: 'object', properties: { name: {} } } } },
          },
        },
      },
    },
  };
  test.each([
    [
      'an unknown operation',
      { operationId: 'getPets' },
      'configuration',
      'has no operation "getPets", did you mean "getPet"?',
    ],
    ['one unlike any', { operationId: 'somethingElse' }, 'configuration', 'it has getPet, addPet'],
    [
      'missing parameters',
      { operationId: 'getPet', parameters: {} },
      'validation',
      'The operation getPet needs "petId" in "parameters"; it needs "status"',
    ],
    [
      'a misspelt parameter',
      { operationId: 'getPet', parameters: { petID: 1, status: 'a' } },
      'validation',
      'has no parameter "petID", did you mean "petId"?',
    ],
    [
      'an unknown parameter',
      { operationId: 'getPet', parameters: { petId: 1, status: 'a', verbosity: 2 } },
      'validation',
      'has no parameter "verbosity"; it has petId, status',
    ],
    ['a missing body', { operationId: 'addPet' }, 'validation', 'needs "body"'],
    [
      'a member that the body has not',
      { operationId: 'addPet', parameters: { name: 'x', nmae: 1 } },
      'validation',
      'has no parameter "nmae"',
    ],
    [
      'a value that leads to another path',
      { operationId: 'getPet', parameters: { petId: '..', status: 'a' } },
      'validation',
      'another path',
    ],
  ])('for %s', async (_title, args, kind, words) => {
    const server = await serve({ '/doc': () => document });
    const fault = await faultOf(
      adapters().openapi(httpCall({ document: { endpoint: `${server.url}/doc` }, ...args })),
    );
    expect(fault).toMatchObject({ kind, status: 400 });
    expect(fault.detail).toContain(words);
    expect(calls(server)).toEqual([]);
  });

  test.each([
    ['no OpenAPI', () => ({ asyncapi: '3.0.0' }), 'of version 2.0 or 3.x'],
    ['no JSON', () => '{"openapi": ', 'not valid JSON'],
    ['no YAML', () => 'a: [', 'not valid YAML'],
    ['no object', () => 'just text', 'not an object'],
    [
      'a YAML bomb',
      () => ['a: &a [x,x,x,x,x,x,x,x,x]', ...[...'bcdefghi'].map(nineReferences)].join('\n'),
      'not valid YAML',
    ],
    ['a reference to nothing', () => v3({ parameters: [{ $ref: '#/nothing' }] }), 'nothing at the $ref'],
    [
      'a circle',
      () => ({
        ...v3({ parameters: [{ $ref: '#/c/a' }] }),
        c: { a: { $ref: '#/c/b' }, b: { $ref: '#/c/a' } },
      }),
      'circle',
    ],
  ])('if the document is %s', async (_title, source, words) => {
    const server = await serve({ '/doc': source });
    const fault = await faultOf(
      adapters().openapi(httpCall({ document: { endpoint: `${server.url}/doc` }, operationId: 'op' })),
    );
    expect([fault.kind, fault.detail]).toEqual(['configuration', expect.stringContaining(words)]);
  });

  test('if the document is missing, private, too large or no HTTP URL', async () => {
    const server = await startServer(
      (request, response) =>
        void (request.path === '/large'
          ? response.end(`{"x":"${'x'.repeat(9 * 1024 * 1024)}"}`)
          : response.writeHead(404).end()),
    );
    opened(server);
    const faultAt = (uri: string) =>
      faultOf(adapters().openapi(httpCall({ document: { endpoint: uri }, operationId: 'op' })));
    expect(await faultAt(`${server.url}/none`)).toMatchObject({ kind: 'communication', status: 404 });
    expect(await faultAt(`${server.url}/large`)).toMatchObject({
      kind: 'communication',
      detail: expect.stringContaining('larger'),
    });
    expect(await faultAt('http://127.0.0.2:1/doc')).toMatchObject({ kind: 'authorization' });
    expect(await faultAt('file:///etc/passwd')).toMatchObject({ kind: 'configuration' });
    expect(await faultAt('petstore.json')).toMatchObject({ kind: 'configuration' });
  });
});

test('call: openapi reads YAML and references, and knows output and redirect like call: http', async () => {
  const server = await serve({
    '/docs/api.yaml': () => stringify({ openapi: '3.0.0', paths: { '/x': { $ref: 'paths.yaml#/x' } } }),
    '/docs/paths.yaml': () =>
      stringify({
        x: { get: { operationId: 'op', parameters: [{ $ref: '#/q' }] } },
        q: parameter('query', 'q'),
      }),
  });
  const args = {
    document: { endpoint: `${server.url}/docs/api.yaml` },
    operationId: 'op',
    parameters: { q: 1 },
  };
  const { output } = await adapters().openapi(httpCall({ ...args, output: 'response' }));
  expect(output).toMatchObject({
    request: { method: 'get', uri: `${server.url}/x?q=1` },
    statusCode: 200,
    content: { path: '/x?q=1', method: 'GET' },
  });
  expect(
    Buffer.from(
      String((await adapters().openapi(httpCall({ ...args, output: 'raw' }))).output),
      'base64',
    ).toString(),
  ).toContain('"path"');
});

test("each authentication is sent to its own origin: the document's and the operation's", async () => {
  const other = await serve({ '/part': () => ({ q: parameter('query', 'q') }) });
  const server = await serve({ '/doc': () => v3({ parameters: [{ $ref: `${other.url}/part#/q` }] }) });
  const access = { basic: { username: 'doc', password: 'doc-password' } };
  const args = {
    document: { endpoint: { uri: `${server.url}/doc`, authentication: access } },
    operationId: 'op',
    authentication: { bearer: { use: 'key' } },
  };
  await adapters().openapi(httpCall(args, { secrets: { key: 'call-token' } }));
  expect(server.seen.map(({ headers }) => headers.authorization)).toEqual([
    `Basic ${Buffer.from('doc:doc-password').toString('base64')}`,
    'Bearer call-token',
  ]);
  expect(other.seen.map(({ headers }) => headers.authorization)).toEqual([undefined]);
});

test('a document is cached for a minute, then revalidated; an authenticated one is not cached', async () => {
  let now = 0;
  let version = 1;
  const server = await startServer((request, response) => {
    if (!request.path.startsWith('/doc')) return sendJson(response, {});
    if (request.headers['if-none-match'] === `"${version}"`) return void response.writeHead(304).end();
    response
      .writeHead(200, { etag: `"${version}"`, 'content-type': 'application/json' })
      .end(JSON.stringify(v3({}, `/v${version}`)));
  });
  opened(server);
  const egress = createEgressPolicy({ allow: ['127.0.0.1'] });
  opened(egress);
  const caller = createOpenApiCaller(
    { egress, tokens: createTokenSource(egress) },
    createDocumentSource(() => now),
  );
  const call = (endpoint: unknown = `${server.url}/doc`) =>
    caller.openapi(httpCall({ document: { endpoint }, operationId: 'op' }));
  const documentRequests = (): number => server.seen.filter(({ path }) => path === '/doc').length;
  await call();
  await call();
  expect(documentRequests()).toBe(1);
  now = 61_000;
  await call();
  await call();
  expect([
    documentRequests(),
    server.seen.findLast(({ path }) => path === '/doc')?.headers['if-none-match'],
  ]).toEqual([2, '"1"']);
  now = 130_000;
  version = 2;
  await call();
  expect(calls(server).map(({ path }) => path)).toEqual(['/v1', '/v1', '/v1', '/v1', '/v2']);
  const authentication = { bearer: { token: 'token-1' } };
  for (let i = 0; i < 2; i++) await call({ uri: `${server.url}/doc`, authentication });
  expect(documentRequests()).toBe(5);
});
