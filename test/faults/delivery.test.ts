import { spawn, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import { startServer, type TestServer } from '../support/http-server.ts';
import { startTestPlatform, until, type TestPlatform } from '../support/platform.ts';

let platform: TestPlatform;
let server: TestServer;
let worker: ChildProcess | null = null;
/** Answers wait for it. */
let gate: Promise<void> = Promise.resolve();

beforeAll(async () => {
  platform = await startTestPlatform({ worker: false });
  server = await startServer(async (_request, response) => {
    await gate;
    response.writeHead(200).end();
  });
});

afterAll(async () => {
  worker?.kill('SIGKILL');
  await server.close();
  await platform.close();
});

/** As `npm run start:worker` does. */
function startWorker(): ChildProcess {
  const { env, temporal, databaseUrl } = platform;
  return spawn(process.execPath, [fileURLToPath(new URL('../../worker/main.ts', import.meta.url))], {
    stdio: 'ignore',
    env: {
      PATH: process.env['PATH'],
      DATABASE_URL: databaseUrl,
      BASE_URL: env.BASE_URL,
      FILES_DIR: env.FILES_DIR,
      ENCRYPTION_KEYS: env.ENCRYPTION_KEYS.map(({ id, key }) => `${id}:${key.toString('base64')}`).join(','),
      EGRESS_ALLOW: '127.0.0.1',
      TEMPORAL_ADDRESS: temporal.address,
      TEMPORAL_NAMESPACE: temporal.namespace,
      TEMPORAL_TASK_QUEUE: temporal.taskQueue,
      LOG_LEVEL: 'warn',
    },
  });
}

test('kill -9 of the worker while it delivers: everything arrives, in order, only the one under way twice', async () => {
  const builder = await platform.as('builder');
  const { id } = (await builder.post('/webhooks', { url: server.url, types: ['none'] })).body;
  const sent: string[] = [];
  for (let n = 0; n < 5; n++) sent.push((await builder.post(`/webhooks/${id}/test`)).body.event_id);
  const released = Promise.withResolvers<void>();
  gate = released.promise;
  worker = startWorker();
  await until(async () => server.seen.length, (count) => count === 1, 60_000);
  worker.kill('SIGKILL');
  released.resolve();
  worker = startWorker();
  const read = async () => (await builder.get(`/webhooks/${id}/deliveries`)).body as { status: string; attempts: number }[];
  const rows = await until(read, (all) => all.every(({ status }) => status === 'delivered'), 90_000);
  expect(server.seen.map(({ headers }) => headers['webhook-id'])).toEqual([sent[0], ...sent]);
  expect(rows.map(({ attempts }) => attempts)).toEqual([1, 1, 1, 1, 2]);
}, 180_000);
