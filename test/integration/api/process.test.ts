/** The API as a process of its own, as `npm run start:api` starts it. */
import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import { childEnv } from '../../../config/env.ts';
import { choosePort } from '../../../dev/ports.ts';
import { createClient } from '../../support/app.ts';
import { createTestDatabase, type TestDatabase } from '../../support/servers.ts';

const password = 'the first password';
let database: TestDatabase;
const started: ChildProcess[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(async () => {
  for (const child of started) child.kill('SIGKILL');
  await database.drop();
});

async function startApi(): Promise<{ child: ChildProcess; url: string; lines: Record<string, unknown>[] }> {
  const port = await choosePort({ what: 'the API' });
  const main = fileURLToPath(new URL('../../../api/main.ts', import.meta.url));
  const child = spawn(process.execPath, [main], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: childEnv({
      PORT: String(port), DATABASE_URL: database.url, TEMPORAL_ADDRESS: '127.0.0.1:1', ADMIN_PASSWORD: password,
      ENCRYPTION_KEYS: `one:${randomBytes(32).toString('base64')}`, NODE_ENV: 'test', LOG_LEVEL: 'info', BASE_URL: undefined,
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
    if (child.exitCode !== null) throw new Error(`ended with ${child.exitCode}`);
    await sleep(100);
  }
}

test('two copies start on an empty database, make one administrator, log JSON with request ids and stop in order', async () => {
  const [one, two] = await Promise.all([startApi(), startApi()]);
  let token = '';
  for (let tries = 0; token === '' && tries < 50; tries += 1) {
    const reply = await createClient(one.url).post('/auth/token', { username: 'admin', password }, { headers: { 'x-request-id': 'the-login' } });
    token = reply.body.access_token ?? '';
    await sleep(100);
  }
  expect((await createClient(one.url, token).get('/users')).body).toHaveLength(1);

  const held = fetch(`${one.url}/auth/token`, {
    method: 'POST', duplex: 'half', headers: { 'content-type': 'application/json' },
    body: new ReadableStream({
      async start(controller) {
        controller.enqueue(Buffer.from('{"username":"admin",'));
        await sleep(2_000);
        controller.enqueue(Buffer.from(`"password":"${password}"}`));
        controller.close();
      },
    }),
  } as RequestInit);
  await sleep(300);
  const ended = once(one.child, 'exit');
  one.child.kill('SIGTERM');
  await sleep(300);
  expect((await fetch(`${one.url}/readyz`)).status).toBe(503);
  expect((await held).status).toBe(200);
  expect(await ended).toEqual([0, null]);
  expect((await fetch(`${two.url}/readyz`)).status).toBe(200);

  const logged = one.lines.find((line) => line['request_id'] === 'the-login' && line['status'] === 200);
  expect(logged).toMatchObject({ level: 'info', name: 'api', method: 'POST', path: '/auth/token', msg: 'request' });
  expect(JSON.stringify(one.lines)).not.toContain(password);
  expect(one.lines.at(-1)).toMatchObject({ msg: 'stopped' });

  const other = once(two.child, 'exit');
  two.child.kill('SIGINT');
  expect(await other).toEqual([0, null]);
}, 120_000);
