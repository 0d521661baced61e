/**
 * Requests with very many names: the response stays small, and the checks take less than quadratic time.
 */
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import { parsedQuery } from '../../api/linear-query.ts';
import { formFields } from '../../api/middleware/form-fields.ts';
import { unstorable } from '../../api/middleware/body.ts';
import { agentBody } from '../support/agent-body.ts';
import { createClient, startTestApp, type Client, type Reply, type TestApp } from '../support/app.ts';
import { threadClock } from '../support/machine.ts';

const form = { 'content-type': 'application/x-www-form-urlencoded' };
const answerLimit = 64 * 1024;
let app: TestApp;
let builder: Client;

beforeAll(async () => {
  app = await startTestApp();
  builder = await app.as('builder');
});
afterAll(() => app.close());

const names = (count: number, prefix = 'k'): string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}${index}`);
const wide = (count: number): Record<string, number> =>
  Object.fromEntries(names(count).map((name) => [name, 1]));

/** Milliseconds of this thread's processor time in the best of three runs, without collections of garbage. */
function shortestMs(work: () => unknown): number {
  return Math.min(
    ...[1, 2, 3].map(() => {
      const spentMs = threadClock();
      work();
      return spentMs();
    }),
  );
}

test('a form may have at most 100 parameters, and more are an error of OAuth', async () => {
  const allowed = await app.anonymous.post(
    '/auth/token',
    names(99)
      .map((name) => `${name}=1`)
      .join('&'),
    { headers: form },
  );
  expect([allowed.status, allowed.body.error_description]).toEqual([400, 'grant_type is missing']);
  const many = names(1_000)
    .map((name) => `${name}=1`)
    .join('&');
  for (const client of [app.anonymous, builder]) {
    const reply = await client.post(client === builder ? '/auth/revoke' : '/auth/token', many, {
      headers: form,
    });
    expect([reply.status, reply.headers.get('content-type'), reply.headers.get('cache-control')]).toEqual([
      400,
      'application/json',
      'no-store',
    ]);
    expect(reply.body).toEqual({
      error: 'invalid_request',
      error_description: 'A form may have at most 100 parameters.',
    });
  }
});

test('a repeated parameter is refused by name, whatever its value', async () => {
  for (const [client, path, body] of [
    [app.anonymous, '/auth/token', 'grant_type=password&username=a&password=b&password=b'],
    [builder, '/auth/revoke', 'password=b&token=a&password='],
  ] as const) {
    const reply = await client.post(path, body, { headers: form });
    expect([reply.status, reply.body]).toEqual([
      400,
      { error: 'invalid_request', error_description: 'password is sent more than once.' },
    ]);
  }
});

const unnamed = (count: number): string => 'a&'.repeat(count);
const namedApart = (count: number): string => names(count).join('&');

test.each([
  ['one parameter many times', unnamed],
  ['many parameters', namedApart],
])('a query of %s is refused, also to strangers, in linear time', async (_name, query) => {
  for (const client of [app.anonymous, builder]) {
    const begun = threadClock();
    const reply = await client.get(`/.well-known/jwks.json?${query(9_000)}`);
    expect([reply.status, reply.body.code]).toEqual([400, 'invalid_query']);
    expect(reply.body.errors.length).toBeLessThanOrEqual(20);
    // Koa's own parser took seconds.
    expect(begun()).toBeLessThan(1_500);
  }
  const [small, large] = [query(3_000), query(30_000)].map((text) => shortestMs(() => parsedQuery(text)));
  expect(large).toBeLessThan(Math.max(small ?? 0, 2) * 40);
});

test('a query has each parameter once, or all of its values', () => {
  const query = parsedQuery('a=1&b=%20x+y&a=2&a=3&c&__proto__=p&=none&');
  expect(Object.entries(query)).toEqual([
    ['a', ['1', '2', '3']],
    ['b', ' x y'],
    ['c', ''],
    ['__proto__', 'p'],
    ['', 'none'],
  ]);
});

test('an empty form of a revocation is an invalid_request of OAuth, and a problem as JSON', async () => {
  for (const body of ['', 'token_type_hint=access_token', 'token=']) {
    const reply = await builder.post('/auth/revoke', body, { headers: form });
    expect([reply.status, reply.body]).toEqual([
      400,
      { error: 'invalid_request', error_description: 'token is missing' },
    ]);
  }
  expect((await builder.post('/auth/revoke', {})).body).toMatchObject({
    status: 422,
    errors: [{ pointer: '/token' }],
  });
  expect((await builder.post('/auth/revoke', `token=${'a'.repeat(8_000)}`, { headers: form })).status).toBe(
    200,
  );
});

test('bodies of /auth may have at most 16 KiB, in both formats and under both prefixes', async () => {
  for (const path of ['/auth/token', '/auth/revoke', '/api/v1/auth/token']) {
    for (const [body, headers] of [
      [`a=${'b'.repeat(16 * 1024)}`, form],
      [{ username: 'b'.repeat(16 * 1024), password: 'c' }, {}],
    ] as const) {
      const reply = await builder.post(path, body, { headers });
      expect([reply.status, reply.body.code, reply.body.detail]).toEqual([
        413,
        'body_too_large',
        'The body is larger than 16 KiB.',
      ]);
    }
  }
});

test('reading a form takes less than quadratic time', () => {
  const text = names(100_000)
    .map((name) => `${name}=1`)
    .join('&');
  expect(() => formFields(text)).toThrow('at most 100 parameters');
  expect(
    shortestMs(() => {
      try {
        formFields(text);
      } catch {
        /* refused, as above */
      }
    }),
  ).toBeLessThan(1_000);
});

test('other users are answered while a stranger sends the widest forms', async () => {
  const body = names(250_000)
    .map((name) => `${name}=1`)
    .join('&')
    .slice(0, 1_900_000);
  const attack = Promise.all(names(8).map(() => app.anonymous.post('/auth/token', body, { headers: form })));
  const spentMs = threadClock();
  expect((await app.anonymous.get('/healthz')).status).toBe(200);
  expect(spentMs()).toBeLessThan(5_000);
  expect((await attack).map(({ status }) => status)).toEqual(names(8).map(() => 413));
});

test('of 100,000 unknown fields 20 are listed', async () => {
  const reply = await builder.post('/workflows', { name: 'a', definition: {}, ...wide(100_000) });
  expect(reply.status).toBe(422);
  expect(reply.body.errors).toHaveLength(20);
  expect(reply.body.errors[0]).toEqual({
    pointer: '/k0',
    code: 'unknown_field',
    message: 'is not a known field',
  });
  expect(reply.body.detail).toBe('More than 20 fields are not valid; these are the first.');
  expect(JSON.stringify(reply.body).length).toBeLessThan(answerLimit);
});

test('of many wrong elements, characters and long names 20 are listed, shortened', async () => {
  const bodies = [
    { name: 'a', definition: {}, tags: names(150_000).map(() => 1) },
    { name: 'a', definition: { list: names(100_000).map(() => '\0') } },
    {
      name: 'a',
      definition: {},
      ...Object.fromEntries(names(30, 'n'.repeat(60_000)).map((name) => [name, 1])),
    },
    { name: 'a', definition: {}, ['n'.repeat(1_000_000)]: names(100_000).map(() => '\0') },
  ];
  for (const body of bodies) {
    const reply = await builder.post('/workflows', body);
    expect(reply.status).toBe(422);
    expect(reply.body.errors.length).toBeLessThanOrEqual(20);
    expect(JSON.stringify(reply.body).length).toBeLessThan(answerLimit);
  }
});

test('a list of very many wrong elements gives one error', async () => {
  for (const list of ['tags', 'modalities', 'capabilities', 'skills']) {
    const reply = await builder.post('/agents', agentBody({ [list]: names(200_000).map(() => 1) }));
    expect(reply.status).toBe(422);
    expect(reply.body.errors).toMatchObject([{ pointer: `/${list}`, code: 'too_big' }]);
  }
});

test('the search for characters that cannot be stored takes linear time', () => {
  const body = (size: number) => ({ ['n'.repeat(size)]: names(size).map((name) => name) });
  // Eight times the size takes about eight times as long; the product of both sizes would take 64 times.
  const [small, large] = [
    shortestMs(() => unstorable(body(50_000))),
    shortestMs(() => unstorable(body(400_000))),
  ];
  expect(large).toBeLessThan(Math.max(small, 5) * 32);
});

test('of 1,000 unknown query parameters 20 are listed', async () => {
  for (const value of ['1', '%00']) {
    const reply = await builder.get(
      `/runs?${names(5_000)
        .map((name) => `${name}=${value}`)
        .join('&')}`,
    );
    expect([reply.status, reply.body.code]).toEqual([400, 'invalid_query']);
    expect(reply.body.errors).toHaveLength(20);
    expect(JSON.stringify(reply.body).length).toBeLessThan(answerLimit);
  }
});

test('of the problems of a definition 20 of each severity are listed, unknown agents included', async () => {
  const tasks = names(900, 't').map((name) => ({
    [name]: { call: 'agent', with: { agent: `${name}-${'x'.repeat(200)}`, input: {} } },
  }));
  const checked = await builder.post('/workflows/validate', { definition: { do: tasks } });
  expect(checked.status).toBe(200);
  const errors = checked.body.problems.filter(({ severity }: { severity: string }) => severity === 'error');
  expect(errors).toHaveLength(21);
  expect(errors.at(-1).code).toBe('too_many_problems');
  const saved = await builder.post('/workflows', { name: 'wide', definition: { do: tasks } });
  expect((await builder.post(`/workflows/${saved.body.id}/run`, {})).body.errors).toHaveLength(20);
});

test('of the violations of a schema 20 are listed, in an input and in a schema itself', async () => {
  const schema = { type: 'object', additionalProperties: false, properties: {} };
  const definition = { input: { schema: { document: schema } }, do: [{ a: { set: { b: 1 } } }] };
  const workflow = await builder.post('/workflows', { name: 'strict', definition });
  const refused = await builder.post(`/workflows/${workflow.body.id}/run`, { input_params: wide(50_000) });
  expect(refused.status).toBe(422);
  expect(refused.body.errors.length).toBeLessThanOrEqual(20);
  expect(JSON.stringify(refused.body).length).toBeLessThan(answerLimit);
  const agent = await builder.post(
    '/agents',
    agentBody({
      input_schema: { properties: Object.fromEntries(names(5_000).map((name) => [name, { type: 'txt' }])) },
    }),
  );
  expect([agent.status, agent.body.errors?.length]).toEqual([422, 20]);
});

test('an event may have at most 100 attributes', async () => {
  const event = { specversion: '1.0', id: '1', source: 'test', type: 'test' };
  const reply = await builder.post(
    '/events',
    { ...event, ...wide(100_000) },
    { headers: { 'content-type': 'application/cloudevents+json' } },
  );
  expect([reply.status, reply.body.errors]).toEqual([
    422,
    [
      {
        pointer: '',
        code: 'too_many_attributes',
        message: 'an event may have at most 100 attributes, but this one has 100004',
      },
    ],
  ]);
});

test('the longest allowed headers are read in bounded time', async () => {
  const long = (unit: string): string => unit.repeat(Math.floor(15_000 / unit.length));
  const headers: [string, string][] = [
    ['prefer', long('wait ,')],
    ['prefer', `wait${long(' ')}x`],
    ['accept', `a/b;x="${long(',')}`],
    ['accept', long('a/b,')],
    ['cookie', long('a=b; ')],
    ['cookie', long(';')],
    ['range', `bytes=${long('0-1,')}`],
    ['if-match', long('"a",')],
    ['if-none-match', long('"a",')],
    ['authorization', `Basic ${long('a')}`],
    ['authorization', `Bearer${long(' ')}`],
    ['idempotency-key', long('a ')],
    ['last-event-id', long('1')],
    ['a2a-extensions', long('a,')],
    ['x-forwarded-for', long('1.1.1.1,')],
    ['content-type', `a/b;${long('a;')}`],
  ];
  for (const [name, value] of headers) {
    const client = name === 'authorization' ? app.anonymous : builder;
    const spentMs = threadClock();
    for (const path of ['/runs', '/auth/token', '/healthz', '/a2a/x'])
      await client.request('GET', path, { headers: { [name]: value } });
    expect([name, spentMs() < 5_000]).toEqual([name, true]);
  }
});

test('a very long Accept header is disregarded', async () => {
  const accept = (types: string): Promise<Reply> => builder.get('/runs', { headers: { accept: types } });
  expect((await accept('text/csv')).status).toBe(406);
  expect((await accept('text/csv,'.repeat(200))).status).toBe(406);
  expect((await accept(names(5_000, 'a/b').join(','))).status).toBe(200);
});

test('of the mistakes of an A2A message 20 are listed', async () => {
  const agent = await builder.post('/agents', agentBody({ name: 'wide' }));
  const parts = names(50_000).map(() => ({ kind: 'nothing' }));
  const a2a = createClient(app.url, (await app.user('builder')).token);
  const reply = await a2a.post(`/a2a/${agent.body.id}`, {
    jsonrpc: '2.0',
    id: 1,
    method: 'message/send',
    params: { message: { messageId: 'm', role: 'user', parts } },
  });
  expect(agent.status).toBe(201);
  expect(reply.body.error.code).toBe(-32602);
  expect(JSON.stringify(reply.body).length).toBeLessThan(answerLimit);
});

test('a form with very many parts is refused after the first ones', async () => {
  const part = (name: string): string => `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n1\r\n`;
  const body = `${names(100_000).map(part).join('')}--b--\r\n`;
  const spentMs = threadClock();
  const reply = await builder.post('/files', body, {
    headers: { 'content-type': 'multipart/form-data; boundary=b' },
  });
  expect(reply.status).toBe(422);
  expect(JSON.stringify(reply.body).length).toBeLessThan(answerLimit);
  expect(spentMs()).toBeLessThan(10_000);
});

test('the configuration and schemas of an agent have at most 20,000 values each', async () => {
  const own = await app.as(await app.createUser({ roles: ['builder'] }));
  const tooBig = (field: string) => [422, [{ pointer: `/${field}`, code: 'too_big' }]];
  const properties = Object.fromEntries(names(140_000).map((name) => [name, {}]));
  const agent = (await own.post('/agents', agentBody({ name: 'narrow' }))).body;
  for (const [path, field, value] of [
    ['/agents', 'input_schema', { properties }],
    ['/agents', 'configuration', { endpoint: 'https://a.example', body: names(20_000) }],
    [`/agents/${agent.id}/versions`, 'output_schema', { enum: names(20_000) }],
  ] as const) {
    const body = path === '/agents' ? agentBody({ [field]: value }) : { version: '9.0.0', [field]: value };
    const reply = await own.post(path, body);
    expect([reply.status, reply.body.errors]).toMatchObject(tooBig(field));
  }
  const changed = await own.patch(`/agents/${agent.id}`, { input_schema: { enum: names(20_000) } });
  expect([changed.status, changed.body.errors]).toMatchObject(tooBig('input_schema'));
  // One from before the limit can be changed elsewhere.
  await app.orm.em
    .fork()
    .execute('update agent set input_schema = ?::jsonb where id = ?', [
      JSON.stringify({ properties: wide(30_000) }).replaceAll(':1', ':true'),
      agent.id,
    ]);
  expect((await own.patch(`/agents/${agent.id}`, { license: 'MIT' })).status).toBe(200);
});

test('checks of the widest definitions count as the caller’s, until they are refused', async () => {
  const client = await app.as(await app.createUser());
  const definition = wide(150_000);
  let refused: Reply | undefined;
  // Several at once: who sends one after the other waits, and is not refused where a check takes little.
  for (let round = 0; round < 12 && refused === undefined; round += 1) {
    const replies = await Promise.all(
      Array.from({ length: 5 }, () => client.post('/workflows/validate', { definition })),
    );
    refused = replies.find(({ status }) => status === 429);
  }
  expect(refused?.body.code).toBe('too_much_work');
});

test('a message to the MCP server has at most 2 MiB, without the content of an upload', async () => {
  const user = await app.as(await app.createUser());
  const call = (name: string, args: object) =>
    user.post(
      '/mcp',
      { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } },
      { headers: { accept: 'application/json, text/event-stream' } },
    );
  const zeros = names(1_200_000).map(() => 0);
  for (const [name, args] of [
    ['none', { a: zeros }],
    ['upload_file', { a: zeros }],
    ['upload_file', { content_base64: 'aaaa', a: zeros }],
  ] as const) {
    const reply = await call(name, args);
    expect([reply.status, reply.body.error?.data]).toEqual([413, { code: 'body_too_large' }]);
  }
  expect((await call('upload_file', { content_base64: 'a'.repeat(3_000_000) })).status).toBe(200);
});
