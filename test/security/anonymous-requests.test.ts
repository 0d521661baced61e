/** Requests without a valid token are limited by address, across all copies of the API, at a bounded cost. */
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';

import { createAccessToken } from '../../domain/auth/access-tokens.ts';
import { createCallbackAddress } from '../../domain/jobs/callback-token.ts';
import { createJob } from '../../domain/jobs/job.ts';
import { registeredAgent } from '../support/agent-body.ts';
import { createClient, startTestApp, type Client, type TestApp } from '../support/app.ts';
import { insertRun } from '../support/human-tasks.ts';

const limit = 5;
const ANY_ID = '0190f8d0-0000-7000-8000-000000000000';
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
  if (left < 45_000) await new Promise((resolve) => setTimeout(resolve, left + 100));
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

test('junk that looks like a token is read a few times, and known tokens go on', async () => {
  const owner = await app.user('builder');
  const limits = app.env;
  const newToken = async (): Promise<{ id: string; token: string }> => {
    const given = {
      name: 'a',
      scopes: ['runs:read'],
      expiresAt: new Date(Date.now() + 86_400_000),
      maxDays: 365,
      secondFactorRoles: [],
    };
    const { token, record } = await createAccessToken(app.orm.em.fork(), owner, { ...given, limits });
    return { id: record.id, token };
  };
  const [known, fresh, ended] = [await newToken(), await newToken(), await newToken()];
  // Its checksum is right, as that of junk can be.
  await app.orm.em.fork().execute('delete from access_token where id = ?', [ended.id]);
  const junk = [ended.token, `cadenza_worker_${'x'.repeat(43)}`, (await app.createUser()).token];
  await app.orm.em.fork().execute(`update user_account set status = 'disabled' where id <> ?`, [owner.id]);
  const by = (token: string, path = '/runs') => status(createClient(app.url, token), path);
  expect(await by(known.token)).toBe(200);
  const { em } = app.app.deps.orm;
  const fork = em.fork.bind(em);
  let reads = 0;
  em.fork = (options) => {
    reads += 1;
    return fork(options);
  };
  for (let request = 0; request < 40; request += 1) {
    const [token = ''] = junk.splice(0, 1);
    junk.push(token);
    const path = token.startsWith('cadenza_worker_') ? `/jobs/${ANY_ID}/heartbeat` : '/runs';
    expect([401, 429]).toContain(
      await status(createClient(app.url, token), path, path === '/runs' ? 'GET' : 'POST'),
    );
  }
  em.fork = fork;
  // Each is read and counted until the limit, and as many others are read.
  expect(reads).toBeLessThanOrEqual(2 * (limit + 1) + limit);
  expect([await by(ended.token), await by(fresh.token), await by(known.token)]).toEqual([429, 429, 200]);
  // One that has ended is junk from then on.
  await app.orm.em.fork().execute('delete from access_token where id = ?', [known.id]);
  expect([await by(known.token), await by(known.token)]).toEqual([429, 429]);
  address = '203.0.113.251';
  expect(await by(fresh.token)).toBe(200);
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

test('a callback that is waited for is limited by itself, a forged one by its address', async () => {
  const run = await insertRun(app.orm, { owner: (await app.user('builder')).id });
  const agent = await registeredAgent(await app.as('builder'), {});
  const of = { run_id: run, kind: 'callback', task: '/do/0/far', visit: 1, attempt: 1 } as const;
  const open = async (key: string): Promise<string> => {
    const job = await createJob(app.orm.em.fork(), {
      ...of,
      key,
      agent: { ...agent, output_schema: {} },
      queue: '',
      input: null,
      configuration: {},
      repeatable: false,
      maxAttempts: 1,
      leaseMs: 0,
      timeoutMs: 600_000,
    });
    const links = { keys: app.app.deps.keys, baseUrl: app.env.BASE_URL };
    const until = new Date(Date.now() + 600_000);
    const { token } = await createCallbackAddress(links, job?.id ?? '', until);
    return `/callbacks/${token}`;
  };
  for (let n = 0; n < limit + 2; n += 1) expect(await status(app.anonymous, await open(`k${n}`))).toBe(200);
  expect(await counted()).toBe(0);
  const path = await open('again');
  for (let n = 0; n < limit; n += 1) expect(await status(app.anonymous, path)).toBe(200);
  expect(await status(copy.anonymous, path)).toBe(429);
  for (let n = 0; n < limit; n += 1) expect(await status(app.anonymous, '/callbacks/forged')).toBe(404);
  expect(await status(app.anonymous, '/callbacks/forged')).toBe(429);
});

test('requests of a worker count by its token, and waiting polls cost no count in the database', async () => {
  const perMinute = 6;
  const limited = await startTestApp({
    databaseUrl: app.databaseUrl,
    env: { BASE_URL: app.env.BASE_URL, RATE_LIMIT_PER_MINUTE: String(perMinute) },
  });
  try {
    // The start of a copy may have taken most of the minute.
    await awayFromTheEndOfTheMinute();
    const builder = await app.as('builder');
    const agent = await registeredAgent(builder, { execution_type: 'edge' });
    const { body } = await builder.post(`/agents/${agent.id}/worker-tokens`, { name: 'w' });
    const worker = createClient(limited.url, body.token);
    const poll = () => worker.post(`/agents/${agent.id}/jobs/poll`, { wait_seconds: 0 });
    const first = await poll();
    expect(first.status).toBe(200);
    expect(first.headers.get('ratelimit')).toMatch(/^"user";r=5;/);
    for (let n = 1; n < perMinute; n += 1) expect((await poll()).status).toBe(200);
    expect(await poll()).toMatchObject({ status: 429, body: { code: 'rate_limited' } });
    const beat = () => worker.post(`/jobs/${agent.id}/heartbeat`, {});
    for (let n = 0; n < perMinute; n += 1) expect((await beat()).status).toBe(404);
    expect((await beat()).status).toBe(429);
    const rows = await app.orm.em
      .fork()
      .execute<{ requests: number }[]>('select requests from request_count where user_id = ?', [body.id]);
    expect(rows).toEqual([{ requests: perMinute + 1 }]);
  } finally {
    await limited.close();
  }
});
