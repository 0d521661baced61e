/** The API as its own process, as `npm run start:api` starts it. */
import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';

import { childEnv } from '../../../config/env.ts';
import { ownPort } from '../../support/machine.ts';
import { until } from '../../support/platform.ts';
import { createClient } from '../../support/app.ts';
import { createTestDatabase, type TestDatabase } from '../../support/servers.ts';
import { totpCode } from '../../support/totp.ts';

const password = 'the first password';
const keys = `one:${randomBytes(32).toString('base64')}`;
let database: TestDatabase;
/** Both copies share it, and no other database may use it. */
let filesDir: string;
const started: ChildProcess[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
  filesDir = mkdtempSync(join(tmpdir(), 'cadenza-process-'));
});
afterAll(async () => {
  for (const child of started) child.kill('SIGKILL');
  await database.drop();
  rmSync(filesDir, { recursive: true, force: true });
});

async function startApi(
  settings: Record<string, string> = {},
): Promise<{ child: ChildProcess; url: string; lines: Record<string, unknown>[] }> {
  const port = await ownPort();
  const main = fileURLToPath(new URL('../../../api/main.ts', import.meta.url));
  const child = spawn(process.execPath, [main], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: childEnv({
      PORT: String(port),
      DATABASE_URL: database.url,
      TEMPORAL_ADDRESS: '127.0.0.1:1',
      FILES_DIR: filesDir,
      ADMIN_PASSWORD: password,
      ENCRYPTION_KEYS: keys,
      NODE_ENV: 'test',
      LOG_LEVEL: 'info',
      BASE_URL: undefined,
      ...settings,
    }),
  });
  started.push(child);
  const lines: Record<string, unknown>[] = [];
  if (!child.stdout) throw new Error('no output');
  createInterface({ input: child.stdout }).on('line', (line) => lines.push(JSON.parse(line)));
  const url = `http://127.0.0.1:${port}`;
  for (;;) {
    const ready = await fetch(`${url}/readyz`).catch(() => null);
    if (ready?.status === 200) return { child, url, lines };
    if (child.exitCode !== null)
      throw new Error(`ended with ${child.exitCode}: ${JSON.stringify(lines.at(-1))}`);
    await sleep(100);
  }
}

test('two copies share an empty database, log JSON with request ids, and stop gracefully', async () => {
  const [first, second] = await Promise.all([startApi(), startApi()]);
  // Readiness includes a working log-in.
  const login = await createClient(first.url).post(
    '/auth/token',
    { username: 'admin', password },
    { headers: { 'x-request-id': 'the-login' } },
  );
  expect(login.status).toBe(200);
  const token: string = login.body.access_token;
  expect((await createClient(first.url, token).get('/users')).body).toHaveLength(1);

  // The server asks for the body once it has read the headers, so the request is under way then.
  const held = request(`${first.url}/auth/token`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', expect: '100-continue' },
  });
  const answered = once(held, 'response') as Promise<[IncomingMessage]>;
  held.flushHeaders();
  await once(held, 'continue');
  held.write('{"username":"admin",');
  const ended = once(first.child, 'close');
  first.child.kill('SIGTERM');
  const ready = async () => (await fetch(`${first.url}/readyz`)).status;
  expect(await until(ready, (status) => status !== 200)).toBe(503);
  held.end(`"password":"${password}"}`);
  const [answer] = await answered;
  expect(answer.statusCode).toBe(200);
  answer.resume();
  expect(await ended).toEqual([0, null]);
  expect((await fetch(`${second.url}/readyz`)).status).toBe(200);

  const logged = first.lines.find((line) => line['request_id'] === 'the-login' && line['status'] === 200);
  expect(logged).toMatchObject({
    level: 'info',
    name: 'api',
    method: 'POST',
    path: '/auth/token',
    msg: 'request',
  });
  expect(JSON.stringify(first.lines)).not.toContain(password);
  expect(first.lines.at(-1)).toMatchObject({ msg: 'stopped' });

  const other = once(second.child, 'close');
  second.child.kill('SIGINT');
  expect(await other).toEqual([0, null]);
});

test('a role that needs a second factor after a restart is limited in what was there before', async () => {
  const BASE_URL = 'http://cadenza.test';
  const before = await startApi({ BASE_URL });
  const login = await createClient(before.url).post('/auth/token', { username: 'admin', password });
  const stopped = once(before.child, 'close');
  const own = createClient(before.url, login.body.access_token);
  expect((await own.get('/users')).status).toBe(200);
  const { client_id, client_secret } = (await own.post('/users/me/clients', { name: 'robot' })).body;
  before.child.kill('SIGTERM');
  await stopped;

  const { child, url, lines } = await startApi({ BASE_URL, SECOND_FACTOR_ROLES: 'admin' });
  const open = createClient(url, login.body.access_token);
  expect((await open.get('/users')).status).toBe(403);
  expect((await open.get('/users/me/second-factor')).body).toMatchObject({ required: true, awaited: true });
  const expires_at = new Date(Date.now() + 86_400_000).toISOString();
  const token = { name: 'ci', scopes: ['runs:read'], expires_at };
  expect(await open.post('/users/me/tokens', token)).toMatchObject({
    status: 403,
    body: { code: 'second_factor_required' },
  });
  const refresh = { grant_type: 'refresh_token', refresh_token: login.body.refresh_token };
  const renewed = createClient(url, (await createClient(url).post('/auth/token', refresh)).body.access_token);
  expect((await renewed.get('/users')).status).toBe(403);
  expect(lines.find(({ msg }) => msg === 'sessions wait for a second factor')).toBeDefined();
  const robot = { grant_type: 'client_credentials', client_id, client_secret };
  const machine = createClient(url, (await createClient(url).post('/auth/token', robot)).body.access_token);
  expect((await machine.get('/users')).status).toBe(403);
  // A copy with the former setting gives nothing back, and opens nothing.
  const former = await startApi({ BASE_URL });
  expect((await machine.get('/users')).status).toBe(403);
  const later = await createClient(former.url).post('/auth/token', { username: 'admin', password });
  expect([later.status, later.body.scope]).toEqual([200, 'viewer']);

  const { secret } = (await renewed.post('/users/me/totp')).body;
  const code = totpCode(secret);
  expect((await renewed.post('/users/me/totp/confirm', { code })).status).toBe(200);
  expect((await renewed.get('/users')).status).toBe(200);
  expect((await renewed.post('/users/me/tokens', token)).status).toBe(201);
  expect((await machine.get('/users')).status).toBe(200);
  for (const copy of [child, former.child]) {
    const ended = once(copy, 'close');
    copy.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
  }
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  const { rows } = await client.query(
    `select roles, expires_at <= clock_timestamp() + interval '1 minute' as ends from second_factor_setting`,
  );
  await client.end();
  expect(rows).toEqual([{ roles: ['admin'], ends: true }]);
});
