import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import * as z from 'zod';

import { endpoint, type Endpoint } from '../../../api/endpoint.ts';
import { orderBy, readPage } from '../../../api/paging.ts';
import { idParams, pageQuery, text } from '../../../api/schemas.ts';
import { conflict, notFound } from '../../../domain/errors.ts';
import { startTestApp, type Client, type TestApp } from '../../support/app.ts';

const thing = z.object({ name: z.string(), note: z.string().nullable() });
const missing = '0190d4c2-0000-7000-8000-000000000000';
const taken = '0190d4c2-0000-7000-8000-000000000001';
let calls = 0;
/** What a slow call waits for. */
let released: Promise<void> = Promise.resolve();

function testEndpoints(): Endpoint[] {
  const common = { tags: ['test'], summary: 'a test' };
  return [
    endpoint({
      ...common,
      method: 'POST',
      path: '/things',
      operationId: 'createThing',
      role: 'builder',
      body: z.object({ name: text({ min: 1, max: 5 }), note: z.string().nullable().default(null) }),
      record: thing.extend({ size: z.number() }),
      responses: { 201: thing },
      handler: async (c) => {
        calls += 1;
        const { name, note } = c.body;
        if (note === 'slow') await released;
        c.afterCommit(async () =>
          note === 'after' ? { status: 201, body: { name: 'later', note } } : undefined,
        );
        return { status: 201, body: { name, note }, headers: { Location: `/things/${calls}` } };
      },
    }),
    endpoint({
      ...common,
      method: 'POST',
      path: '/things/{id}',
      operationId: 'actOnThing',
      role: 'builder',
      params: idParams,
      body: z.object({ name: z.string() }),
      responses: { 200: z.object({ ok: z.boolean() }) },
      handler: async (c) => {
        if (c.params.id === missing) throw notFound('thing');
        c.checkSyntax();
        if (c.params.id === taken)
          throw conflict('taken', 'It is taken.', { decision: 'approve', status: 'open' });
        return { status: 200, body: { ok: c.body.name.length > 0 } };
      },
    }),
    endpoint({
      ...common,
      method: 'GET',
      path: '/things',
      operationId: 'listThings',
      role: 'viewer',
      query: z.object({ ...pageQuery, status: z.enum(['on', 'off']).optional() }),
      responses: { 200: z.array(z.number()) },
      handler: async (c) => {
        const numbers = Array.from({ length: 7 }, (_, index) => index + 1);
        const order = orderBy<number, number>(z.int(), (row) => row);
        const { items, headers } = await readPage(c, order, async ({ after = 0, limit }) =>
          numbers.filter((row) => row > after).slice(0, limit),
        );
        return { status: 200, body: items, headers };
      },
    }),
    endpoint({
      ...common,
      method: 'GET',
      path: '/wrong',
      operationId: 'wrong',
      role: 'viewer',
      responses: { 200: thing },
      handler: async () => ({ status: 200, body: { name: 'x', note: null, more: 1 } }),
    }),
  ];
}

let app: TestApp;
let builder: Client;
let viewer: Client;
beforeAll(async () => {
  app = await startTestApp({ endpoints: testEndpoints });
  builder = await app.as('builder');
  viewer = await app.as('viewer');
});
afterAll(() => app.close());

test('a request without a token gets 401 with a challenge, and a bad token is named as such', async () => {
  const none = await app.anonymous.post('/things', { name: 'a' });
  expect(none.status).toBe(401);
  expect(none.headers.get('www-authenticate')).toBe(
    `Bearer realm="cadenza", resource_metadata="${app.env.BASE_URL}/.well-known/oauth-protected-resource"`,
  );
  expect(none.headers.get('content-type')).toBe('application/problem+json');
  expect(none.body).toMatchObject({
    type: 'about:blank',
    title: 'Unauthorized',
    status: 401,
    instance: '/things',
    code: 'token_required',
  });
  expect(none.body.request_id).toBe(none.headers.get('x-request-id'));
  const bad = await app.anonymous.get('/things', { headers: { authorization: 'Bearer abc.def.ghi' } });
  expect(bad.status).toBe(401);
  expect(bad.headers.get('www-authenticate')).toContain('invalid_token');
  expect(bad.body.detail).toBe('The access token is invalid or has expired.');
  const basic = await app.anonymous.get('/things', { headers: { authorization: 'Basic YTpi' } });
  expect([basic.status, basic.body.detail]).toEqual([401, expect.stringContaining('the scheme Bearer')]);
});

test('a role that is too low gets 403 before the body is read', async () => {
  const reply = await viewer.post('/things', '{', {});
  expect(reply.status).toBe(403);
  expect(reply.body.code).toBe('role_required');
});

test("each endpoint answers below / and /api/v1, and keeps the caller's request id", async () => {
  for (const path of ['/things', '/api/v1/things']) {
    const reply = await builder.post(path, { name: 'a' }, { headers: { 'x-request-id': 'mine-1' } });
    expect(reply.status).toBe(201);
    expect(reply.body).toEqual({ name: 'a', note: null });
    expect(reply.headers.get('x-request-id')).toBe('mine-1');
  }
});

test('unknown paths and ids get 404, other methods 405 with Allow, and other types 406', async () => {
  expect((await builder.get('/nowhere')).body.code).toBe('not_found');
  expect((await builder.post('/things/xyz', {})).status).toBe(404);
  expect((await builder.post('/things/%00', {})).status).toBe(404);
  const wrongMethod = await builder.delete('/things');
  expect(wrongMethod.status).toBe(405);
  expect(wrongMethod.headers.get('allow')).toBe('GET, HEAD, POST');
  const shadowed = await builder.patch('/users/me', {});
  expect([shadowed.status, shadowed.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
  expect((await builder.get('/things', { headers: { accept: 'text/html' } })).status).toBe(406);
});

test('a 422 lists all mistakes with pointers, and fields that the server sets are ignored', async () => {
  const reply = await builder.post('/things', { name: 'sixsix', note: 5, extra: 1, 'a/b': 2 });
  expect(reply.status).toBe(422);
  expect(
    reply.body.errors.map((error: { pointer: string; code: string }) => [error.pointer, error.code]),
  ).toEqual([
    ['/name', 'too_long'],
    ['/note', 'invalid_type'],
    ['/extra', 'unknown_field'],
    ['/a~1b', 'unknown_field'],
  ]);
  expect((await builder.post('/things')).body).toMatchObject({
    detail: '/name: is required',
    errors: [{ pointer: '/name', code: 'required', message: 'is required' }],
  });
  expect(
    (await builder.post('/things', { name: 'ok', id: 1, created_at: 'x', owner_id: null, size: 3 })).status,
  ).toBe(201);
  expect((await builder.post('/things', { name: '😀😀😀😀😀' })).status).toBe(201);
});

test('NUL, lone surrogates and numbers beyond a double get 422', async () => {
  expect((await builder.post('/things', { name: 'a\0' })).body.errors[0]).toMatchObject({
    pointer: '/name',
    code: 'invalid_characters',
  });
  expect((await builder.post('/things', '{"name":"\\ud800"}')).status).toBe(422);
  expect((await builder.post('/things', '{"name":"a","n\\u0000":1}')).status).toBe(422);
  expect((await builder.post('/things', '{"name":1e999}')).body.errors[0].code).toBe('out_of_range');
});

test('malformed, deep or wrongly typed bodies are refused, each with its own code', async () => {
  expect((await builder.post('/things', '{"name":')).body.code).toBe('malformed_json');
  expect((await builder.post('/things', `${'['.repeat(65)}${']'.repeat(65)}`)).body.code).toBe('too_deep');
  expect((await builder.post('/things', `${'['.repeat(64)}${']'.repeat(64)}`)).status).toBe(422);
  expect(
    (await builder.post('/things', 'name=a', { headers: { 'content-type': 'text/plain' } })).status,
  ).toBe(415);
  expect(
    (await builder.post('/things', '{}', { headers: { 'content-type': 'application/json; charset=latin1' } }))
      .status,
  ).toBe(415);
  expect((await builder.post('/things', new Uint8Array([0x22, 0xff, 0x22]))).body.code).toBe(
    'malformed_body',
  );
});

test('a body over 2 MiB gets a readable 413, even when it is sent in pieces', async () => {
  const large = JSON.stringify({ name: 'a'.repeat(3 * 1024 * 1024) });
  expect((await builder.post('/things', large)).status).toBe(413);
  const token = (await app.user('builder')).token;
  const pieces = new ReadableStream({
    start(controller) {
      for (let index = 0; index < 48; index += 1) controller.enqueue(new Uint8Array(128 * 1024).fill(32));
      controller.close();
    },
  });
  const reply = await fetch(`${app.url}/things`, {
    method: 'POST',
    body: pieces,
    duplex: 'half',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
  } as RequestInit);
  expect(reply.status).toBe(413);
});

test('refusals come in order: 404, then 400, then 409, then 422', async () => {
  expect((await builder.post(`/things/${missing}`, '{')).status).toBe(404);
  expect((await builder.post(`/things/${taken}`, '{')).status).toBe(400);
  expect((await builder.post(`/things/${taken}`, {})).body).toMatchObject({
    status: 409,
    code: 'taken',
    decision: 'approve',
  });
  expect((await builder.post(`/things/0190d4c2-0000-7000-8000-000000000002`, {})).status).toBe(422);
});

test('lists page by Link, and invalid, unknown or repeated parameters get 400', async () => {
  const seen: number[] = [];
  let path: string | undefined = '/api/v1/things?limit=3&status=on';
  while (path) {
    const reply: Awaited<ReturnType<Client['get']>> = await viewer.get(path);
    expect(reply.status).toBe(200);
    seen.push(...reply.body);
    path = /^<(.+)>; rel="next"$/.exec(reply.headers.get('link') ?? '')?.[1];
    if (path) expect(path).toMatch(new RegExp(`^${app.url}/api/v1/things\\?limit=3&status=on&cursor=`));
  }
  expect(seen).toEqual([1, 2, 3, 4, 5, 6, 7]);
  for (const bad of [
    'limit=0',
    'limit=201',
    'limit=x',
    'cursor=zzz',
    'colour=red',
    'status=on&status=off',
    'status=%00',
  ]) {
    const reply = await viewer.get(`/things?${bad}`);
    expect([bad, reply.status]).toEqual([bad, 400]);
    expect(reply.body.errors[0].pointer).toBe(bad.split('=')[0]);
  }
});

test('a response that violates its declaration is a 500 in tests, without a stack', async () => {
  const reply = await viewer.get('/wrong');
  expect(reply.status).toBe(500);
  expect(JSON.stringify(reply.body)).not.toMatch(/\.ts|declaration/);
});

test('Idempotency-Key replays for the same body and user, and refuses concurrent requests', async () => {
  const key = { headers: { 'idempotency-key': 'k1' } };
  const before = calls;
  const first = await builder.post('/things', { name: 'one', note: 'after' }, key);
  expect(first.body.name).toBe('later');
  const again = await builder.post('/api/v1/things', '{ "note": "after", "name": "one" }', key);
  expect(again.status).toBe(201);
  expect(again.headers.get('idempotency-replayed')).toBe('true');
  expect(again.headers.get('location')).toBe(first.headers.get('location'));
  expect(again.body).toEqual({ name: 'one', note: 'after' });
  expect((await builder.post('/things', { name: 'two' }, key)).body.code).toBe('idempotency_key_reused');
  const otherUser = await app.as(await app.createUser());
  expect((await otherUser.post('/things', { name: 'two' }, key)).status).toBe(201);
  expect(calls).toBe(before + 2);

  const slow = { headers: { 'idempotency-key': 'k2' } };
  const release = Promise.withResolvers<void>();
  released = release.promise;
  let answered = 0;
  const replies = await Promise.all(
    Array.from({ length: 5 }, async () => {
      const reply = await builder.post('/things', { name: 'a', note: 'slow' }, slow);
      answered += 1;
      if (answered === 4) release.resolve();
      return reply;
    }),
  );
  const statuses = replies.map((reply) => reply.status).toSorted();
  expect(statuses.filter((status) => status === 201)).toHaveLength(1);
  expect(
    replies
      .filter((reply) => reply.status === 409)
      .every((reply) => reply.body.code === 'idempotency_in_progress'),
  ).toBe(true);
  expect(calls).toBe(before + 3);

  expect(
    (await builder.post('/things', { name: 'toolong' }, { headers: { 'idempotency-key': 'k3' } })).status,
  ).toBe(422);
  expect(
    (await builder.post('/things', { name: 'fine' }, { headers: { 'idempotency-key': 'k3' } })).status,
  ).toBe(201);
});

test('GET /healthz answers ok, and GET /readyz lists its checks', async () => {
  expect((await app.anonymous.get('/healthz')).body).toEqual({ status: 'ok' });
  const ready = await app.anonymous.get('/readyz');
  expect(ready.status).toBe(200);
  expect(ready.body).toEqual({
    status: 'degraded',
    checks: {
      database: 'ok',
      temporal: 'down',
      files: 'ok',
      server: 'ok',
      admin: 'ok',
      keys: 'ok',
      runs: 'ok',
    },
  });
});

test('the bare address leads to what is public already', async () => {
  const { status, body } = await app.anonymous.get('/');
  const { info } = (await app.anonymous.get('/openapi.json')).body;
  const at = (path: string): string => `${app.url}${path}`;
  expect([status, body]).toEqual([
    200,
    {
      name: 'Cadenza',
      version: info.version,
      links: {
        openapi: at('/openapi.json'),
        docs: at('/docs'),
        // There is none here.
        console: null,
        health: at('/healthz'),
        readiness: at('/readyz'),
      },
    },
  ]);
  for (const path of ['/openapi.json', '/docs', '/healthz', '/readyz'])
    expect([path, (await app.anonymous.get(path)).status]).not.toEqual([path, 404]);
  expect((await app.anonymous.get('/?x=1')).status).toBe(400);
  expect((await app.anonymous.post('/', {})).status).toBe(405);
});

test('everybody can read the OpenAPI document', async () => {
  const document = await app.anonymous.get('/openapi.json');
  expect(document.status).toBe(200);
  expect(document.body).toMatchObject({
    openapi: '3.1.0',
    servers: [{ url: app.url }, { url: `${app.url}/api/v1` }],
  });
});

test('everybody can read the JSON Schema of definitions', async () => {
  const { status, headers, body } = await app.anonymous.get('/schemas/workflow.json');
  expect([status, headers.get('content-type')]).toEqual([200, expect.stringContaining('schema+json')]);
  expect(body).toMatchObject({ $id: `${app.url}/schemas/workflow.json`, required: ['do'] });
  expect((await app.anonymous.get('/schemas/workflow.json?x=1')).status).toBe(400);
});

test('everybody can read the default catalog, which the docs list', async () => {
  const { status, body } = await app.anonymous.get('/catalogs/default');
  expect(status).toBe(200);
  const { functions } = body as {
    functions: { name: string; call: string; summary: string; arguments: Record<string, unknown> }[];
  };
  expect(functions.map(({ call }) => call)).toEqual(
    expect.arrayContaining(['agent:1.0.0@default', 'human:1.0.0@default']),
  );
  const docs = (await readFile(new URL('../../../docs/language.md', import.meta.url), 'utf8')).split('\n');
  for (const { call, summary, arguments: parameters } of functions) {
    expect(docs.some((line) => line.includes(`\`${call}\``) && line.includes(summary))).toBe(true);
    expect(parameters).toMatchObject({ type: 'object', properties: expect.any(Object) });
  }
});

test('a long query is read, and a longer one gets 431 as a problem', async () => {
  expect((await viewer.get(`/things?status=${'x'.repeat(40_000)}`)).status).toBe(400);
  const reply = await viewer.get(`/things?status=${'x'.repeat(70_000)}`);
  expect([reply.status, reply.body.code]).toEqual([431, 'malformed_request']);
});
