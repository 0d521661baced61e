/** Requests without a valid token are limited by address, across all copies of the API, at a bounded cost. */
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';

import { createClient, startTestApp, type Client, type TestApp } from '../support/app.ts';

const limit = 5;
const settings = { TRUST_PROXY: 'true', RATE_LIMIT_ADDRESS_PER_MINUTE: String(limit) };
let app: TestApp;
let copy: TestApp;
let address: string;
let count = 0;

beforeAll(async () => {
  app = await startTestApp({ env: settings });
  copy = await startTestApp({
    databaseUrl: app.databaseUrl,
    env: { ...settings, BASE_URL: app.env.BASE_URL },
  });
});
afterAll(async () => {
  await copy.close();
  await app.close();
});
beforeEach(async () => {
  count += 1;
  address = `203.0.113.${count}`;
  await awayFromTheEndOfTheMinute();
});

/** Waits for the next minute if this one ends soon, because its end would double the limit. */
async function awayFromTheEndOfTheMinute(): Promise<void> {
  const left = 60_000 - (Date.now() % 60_000);
  if (left < 25_000) await new Promise((resolve) => setTimeout(resolve, left + 100));
}

const status = async (client: Client, path = '/.well-known/jwks.json', method = 'GET'): Promise<number> =>
  (await client.request(method, path, { headers: { 'x-forwarded-for': address } })).status;

async function counted(): Promise<number> {
  const [row] = await app.orm.em
    .fork()
    .execute<{ requests: number }[]>('select requests from address_request_count where address = ?', [
      address,
    ]);
  return row?.requests ?? 0;
}

test('requests without a token are limited by address across copies, with RateLimit headers', async () => {
  const first = await app.anonymous.get('/.well-known/jwks.json', {
    headers: { 'x-forwarded-for': address },
  });
  expect(first.headers.get('ratelimit-policy')).toBe('"address";q=5;w=60');
  expect(first.headers.get('ratelimit')).toMatch(/^"address";r=4;t=\d+$/);
  for (let request = 1; request < limit; request += 1)
    expect(await status(request % 2 ? copy.anonymous : app.anonymous)).toBe(200);
  for (const instance of [app, copy]) {
    const refused = await instance.anonymous.post(
      '/auth/token',
      { username: 'a', password: 'b' },
      { headers: { 'x-forwarded-for': address } },
    );
    expect([refused.status, refused.body.code]).toEqual([429, 'rate_limited']);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(refused.headers.get('ratelimit')).toMatch(/^"address";r=0;t=\d+$/);
  }
});

test('a refused address costs no statement, and does not limit requests with a token', async () => {
  const token = (await app.user('builder')).token;
  for (let request = 0; request < 30; request += 1) await status(app.anonymous);
  expect(await status(app.anonymous)).toBe(429);
  expect(await counted()).toBe(limit + 1);
  expect(await status(createClient(app.url, token), '/users/me')).toBe(200);
  address = '203.0.113.250';
  expect(await status(app.anonymous)).toBe(200);
});

test('requests with missing, forged and ended tokens count, on every path', async () => {
  const ended = await app.createUser();
  await app.orm.em.fork().execute(`update user_account set status = 'disabled' where id = ?`, [ended.id]);
  const requests: [Client, string][] = [
    [app.anonymous, '/runs'],
    [createClient(app.url, 'a.b.c'), '/agents'],
    [createClient(app.url, ended.token), '/users/me'],
    [app.anonymous, '/a2a/0190f8d0-0000-7000-8000-000000000000/tasks'],
    [createClient(app.url, 'x'), '/api/v1/workflows'],
  ];
  for (const [client, path] of requests) expect([path, await status(client, path)]).toEqual([path, 401]);
  for (const [client, path] of requests) expect([path, await status(client, path)]).toEqual([path, 429]);
});

test('health probes are never refused', async () => {
  for (let request = 0; request < limit * 3; request += 1)
    expect([await status(app.anonymous, '/healthz'), await status(app.anonymous, '/readyz')]).toEqual(
      [200, 503].map((_, at) => (at === 0 ? 200 : expect.any(Number))),
    );
  expect(await counted()).toBe(0);
});
