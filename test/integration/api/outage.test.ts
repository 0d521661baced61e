/** An outage of PostgreSQL, as a client of the API sees it. */
import { connect, createServer, type Server, type Socket, type AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import { toAppError } from '../../../api/middleware/errors.ts';
import { createRunEventWatcher } from '../../../db/run-event-watcher.ts';
import { createOrm } from '../../../db/orm.ts';
import { databaseCode } from '../../../db/unavailable.ts';
import { createClient, startTestApp, type TestApp } from '../../support/app.ts';

let direct: TestApp;
let app: TestApp;
let proxy: Server;
const sockets = new Set<Socket>();
let away = false;

beforeAll(async () => {
  direct = await startTestApp({ env: { CORS_ORIGINS: 'https://app.example.com' } });
  const target = new URL(direct.databaseUrl);
  proxy = createServer((socket) => {
    const upstream = away ? null : connect(Number(target.port), target.hostname);
    for (const end of [socket, upstream]) {
      end?.on('error', () => {});
      if (end) sockets.add(end);
    }
    if (upstream) {
      socket.pipe(upstream).pipe(socket);
    } else {
      socket.destroy();
    }
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const url = new URL(direct.databaseUrl);
  url.hostname = '127.0.0.1';
  url.port = String((proxy.address() as AddressInfo).port);
  app = await startTestApp({ databaseUrl: url.href, env: { BASE_URL: direct.env.BASE_URL } });
});
afterAll(async () => {
  await app.close();
  for (const socket of sockets) socket.destroy();
  await new Promise((resolve) => proxy.close(resolve));
  await direct.close();
});

test('requests get 503 with Retry-After during an outage, and succeed again afterwards', async () => {
  const { token } = await direct.user('admin');
  const admin = createClient(app.url, token);
  expect((await admin.get('/users')).status).toBe(200);
  away = true;
  for (const socket of sockets) socket.destroy();
  for (const reply of [
    await admin.get('/users'),
    await admin.post('/users', {}),
    await app.anonymous.post('/auth/token', { username: 'a', password: 'b' }),
  ]) {
    expect([reply.status, reply.body.code, reply.headers.get('retry-after')]).toEqual([
      503,
      'database_unavailable',
      '5',
    ]);
  }
  expect((await app.anonymous.get('/readyz')).body).toMatchObject({
    status: 'down',
    checks: { database: 'down' },
  });
  expect((await app.anonymous.get('/readyz')).status).toBe(503);
  expect((await app.anonymous.get('/healthz')).status).toBe(200);
  expect((await app.anonymous.get('/nowhere')).status).toBe(404);
  away = false;
  expect((await admin.get('/users')).status).toBe(200);
  expect((await app.anonymous.get('/readyz')).status).toBe(200);
});

test('a frozen database server counts as away after a while', async () => {
  const url = new URL(direct.databaseUrl);
  url.hostname = '127.0.0.1';
  url.port = String((proxy.address() as AddressInfo).port);
  const orm = createOrm({ url: url.href, statementTimeoutMs: 2_000 });
  await orm.em.fork().execute('select 1');
  for (const socket of sockets) socket.pause();
  const failure: unknown = await orm.em
    .fork()
    .execute('select 1')
    .catch((error: unknown) => error);
  for (const socket of sockets) socket.resume();
  await orm.close(true);
  expect(databaseCode(failure)).toBe('connection');
});

test.each([
  ['a full disk', '53100'],
  ['too little memory', '53200'],
  ['a disk that fails', '58030'],
])('%s of the database server is an outage', async (_what, code) => {
  const failure: unknown = await direct.orm.em
    .fork()
    .execute(`do $$ begin raise exception 'it fails' using errcode = '${code}'; end $$`)
    .catch((error: unknown) => error);
  expect(toAppError(failure)).toMatchObject({ kind: 'unavailable', code: 'database_unavailable' });
});

test('readers that wait while the database server is away ask no more often than they said', async () => {
  const url = new URL(direct.databaseUrl);
  url.hostname = '127.0.0.1';
  url.port = String((proxy.address() as AddressInfo).port);
  away = true;
  let failed = 0;
  const watcher = createRunEventWatcher(url.href, { warn: () => (failed += 1) });
  const watch = watcher.watch('a run');
  const begun = performance.now();
  await watch.next(400);
  expect(performance.now() - begun).toBeGreaterThan(390);
  expect(failed).toBe(1);
  away = false;
  watch.close();
  await watcher.stop();
});

test('GET /readyz answers 503 once the server is told to stop', async () => {
  void app.app.stop();
  const reply = await app.anonymous.get('/readyz');
  expect([reply.status, reply.body.checks.server]).toEqual([503, 'stopping']);
  expect((await app.anonymous.get('/healthz')).status).toBe(200);
});

test('CORS allows the configured origins only', async () => {
  const preflight = await direct.anonymous.request('OPTIONS', '/users', {
    headers: { origin: 'https://app.example.com', 'access-control-request-method': 'POST' },
  });
  expect([preflight.status, preflight.headers.get('access-control-allow-origin')]).toEqual([
    204,
    'https://app.example.com',
  ]);
  const refused = await direct.anonymous.get('/users', { headers: { origin: 'https://app.example.com' } });
  expect([refused.status, refused.headers.get('access-control-allow-origin')]).toEqual([
    401,
    'https://app.example.com',
  ]);
  expect(refused.headers.get('access-control-expose-headers')).toContain('Link');
  const allowed = preflight.headers.get('access-control-allow-headers')?.split(', ');
  expect(allowed).toEqual(expect.arrayContaining(['Mcp-Protocol-Version', 'Mcp-Session-Id']));
  expect(
    (await direct.anonymous.get('/healthz', { headers: { origin: 'https://evil.example.com' } })).headers.get(
      'access-control-allow-origin',
    ),
  ).toBeNull();
});

test('a configured limit of requests a minute applies across all copies', async () => {
  const options = {
    databaseUrl: direct.databaseUrl,
    env: { BASE_URL: direct.env.BASE_URL, RATE_LIMIT_PER_MINUTE: '5' },
  };
  const copies = [await startTestApp(options), await startTestApp(options)];
  const { token } = await direct.createUser();
  const replies = [];
  for (let index = 0; index < 12; index += 1) {
    replies.push(await createClient(copies[index % 2]?.url ?? '', token).get('/users/me'));
  }
  // At most one new minute may begin in between.
  expect(replies.filter((reply) => reply.status === 200).length).toBeLessThanOrEqual(10);
  const refused = replies.find((reply) => reply.status === 429);
  expect(refused?.body.code).toBe('rate_limited');
  expect(refused?.headers.get('ratelimit-policy')).toBe('"user";q=5;w=60');
  expect(Number(refused?.headers.get('retry-after'))).toBeGreaterThan(0);
  expect(replies[0]?.headers.get('ratelimit')).toMatch(/^"user";r=4;t=\d+$/);
  expect(
    (await createClient(copies[0]?.url ?? '', (await direct.createUser()).token).get('/users/me')).status,
  ).toBe(200);
  expect((await copies[0]?.anonymous.get('/healthz'))?.headers.get('ratelimit')).toBeNull();
  await Promise.all(copies.map((copy) => copy.close()));
});
