/**
 * PostgreSQL takes what it is sent and does not answer: api and worker notice within seconds, and go on by
 * themselves. What was accepted, or has happened outside, is neither lost nor repeated.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';

import { createOrm } from '../../db/orm.ts';
import { registeredAgent } from '../support/agent-body.ts';
import { createClient, startTestApp, type Client, type Reply } from '../support/app.ts';
import { agentTask, humanTask } from '../support/definitions.ts';
import { freeze } from '../support/freeze.ts';
import { startServer } from '../support/http-server.ts';
import { allowedMs } from '../support/machine.ts';
import { startTestPlatform, until } from '../support/platform.ts';
import { quickStart, startProgram } from '../support/programs.ts';
import { eventually, upFolder, type Up, type UpFolder } from '../support/up-process.ts';
import { startLink } from './long-run/link.ts';

/** Until requests that are under way are refused. */
const NOTICED_MS = 10_000;
/** Of requests that come once it is known. */
const KNOWN_MS = 1_000;

interface Timed extends Reply {
  ms: number;
}

async function timed(call: () => Promise<Reply>): Promise<Timed> {
  const begun = performance.now();
  const reply = await call();
  return { ...reply, ms: performance.now() - begun };
}

function expectRefused({ status, body, headers, ms }: Timed, limitMs: number): void {
  expect([status, body.code]).toEqual([503, 'database_unavailable']);
  expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
  expect(ms).toBeLessThan(allowedMs(limitMs));
}

async function expectNotReady(client: Client, limitMs: number): Promise<void> {
  const { status, body, headers, ms } = await timed(() => client.get('/readyz'));
  expect([status, body.checks.database]).toEqual([503, 'down']);
  expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
  expect(ms).toBeLessThan(allowedMs(limitMs));
  expect((await client.get('/healthz')).status).toBe(200);
}

describe('npm start', () => {
  let folder: UpFolder;
  let up: Up;
  let client: Client;

  beforeAll(async () => {
    folder = upFolder();
    up = folder.start(await quickStart(folder.dataDir), {
      program: join(import.meta.dirname, '../../dev/up.ts'),
    });
    const url = await up.ready();
    const password = /Admin +admin \/ (\S+)/.exec(up.output())?.[1];
    const { body } = await createClient(url).post('/auth/token', { username: 'admin', password });
    client = createClient(url, body.access_token);
  });
  afterAll(() => folder.clean());

  test('a frozen PostgreSQL is noticed within seconds, and decisions are taken once', async () => {
    const workflow = await client.post('/workflows', {
      name: 'ask',
      definition: { do: [{ a: humanTask('?') }] },
    });
    const runs: string[] = [];
    const tasks: string[] = [];
    for (let number = 0; number < 3; number += 1) {
      const { body } = await client.post(`/workflows/${workflow.body.id}/run`, { input_params: {} });
      const open = await until(
        async () => (await client.get(`/hitl/tasks?run_id=${body.id}&status=open`)).body as { id: string }[],
        (found) => found.length === 1,
      );
      runs.push(body.id);
      tasks.push(open[0]?.id ?? '');
    }
    const decide = (index: number) =>
      client.post(
        `/hitl/tasks/${tasks[index] ?? ''}/decision`,
        { decision: 'approve' },
        { headers: { 'idempotency-key': `decides-${index}` } },
      );
    const accepted = await decide(0);
    expect(accepted.status).toBe(200);

    // One is on its way when it freezes: it may have been taken or not, and its sender learns that later.
    const onItsWay = timed(() => decide(1));
    const goOn = freeze([folder.pidOf('PostgreSQL')]);
    try {
      const reads = ['/runs', '/hitl/tasks', '/workflows'].map((path) => timed(() => client.get(path)));
      const first = await timed(() => decide(2));
      for (const reply of [first, ...(await Promise.all(reads))]) expectRefused(reply, NOTICED_MS);
      const sent = await onItsWay;
      if (sent.status !== 200) expectRefused(sent, NOTICED_MS);
      expectRefused(await timed(() => client.get('/runs')), KNOWN_MS);
      expectRefused(await timed(() => decide(2)), KNOWN_MS);
      await expectNotReady(client, KNOWN_MS);
    } finally {
      goOn();
    }
    await until(
      () => client.get('/readyz'),
      ({ status }) => status === 200,
    );
    for (const index of [0, 1, 2])
      await eventually(async () => expect((await decide(index)).status).toBe(200));
    for (const [index, run] of runs.entries()) {
      const { body } = await until(
        () => client.get(`/runs/${run}`),
        (reply) => reply.body.status === 'completed',
      );
      const types = (body.logs as { type: string }[]).map(({ type }) => type);
      expect(types.filter((type) => type.endsWith('decision-received.v1'))).toHaveLength(1);
      expect(types.filter((type) => type.endsWith('decision-applied.v1'))).toHaveLength(1);
      const audited = `/audit?action=decideHumanTask&outcome=done&object_id=${tasks[index] ?? ''}`;
      expect((await client.get(audited)).body).toHaveLength(1);
    }
  });

  test('a worker notices too, and what was called or sent meanwhile is stored, not repeated', async () => {
    const gate = Promise.withResolvers<void>();
    const server = await startServer(async (_request, response) => {
      await gate.promise;
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"ok": true}');
    });
    const configuration = { endpoint: `${server.url}/agent`, retry: { idempotent: false } };
    await registeredAgent(client, { name: 'once', configuration });
    const definition = { do: [{ a: agentTask('once', { input: {} }) }] };
    const workflow = await client.post('/workflows', { name: 'calls', definition });
    const webhook = await client.post('/webhooks', { url: `${server.url}/webhook`, types: ['none'] });
    expect((await client.post(`/webhooks/${webhook.body.id}/test`)).status).toBe(202);
    const run = await client.post(`/workflows/${workflow.body.id}/run`, { input_params: {} });
    await until(
      async () => server.seen.length,
      (count) => count === 2,
    );
    const log = () => readFileSync(join(folder.dataDir, 'worker.log'), 'utf8');
    const before = log().length;
    const goOn = freeze([folder.pidOf('PostgreSQL')]);
    try {
      const begun = performance.now();
      gate.resolve();
      await eventually(async () => expect(log().slice(before)).toContain('PostgreSQL does not answer'));
      expect(performance.now() - begun).toBeLessThan(allowedMs(NOTICED_MS));
    } finally {
      goOn();
    }
    const { body } = await until(
      () => client.get(`/runs/${run.body.id}`),
      (reply) => reply.body.status !== 'running' && reply.status === 200,
    );
    expect([body.status, body.error, body.output]).toEqual(['completed', null, { ok: true }]);
    const deliveries = await until(
      () => client.get(`/webhooks/${webhook.body.id}/deliveries`),
      (reply) => reply.body[0]?.status === 'delivered',
    );
    expect(deliveries.body[0].attempts).toBe(1);
    expect(server.seen.map(({ path }) => path).toSorted()).toEqual(['/agent', '/webhook']);
    await server.close();
  });
});

test('nobody waits for a connection to a silent server, and the pool goes on later', async () => {
  const app = await startTestApp();
  const database = new URL(app.databaseUrl);
  const { hostname: host, port } = database;
  const link = await startLink(() => ({ host, port: Number(port) }));
  database.host = `127.0.0.1:${link.port}`;
  // As workers have it.
  const options = { poolSize: 2, connectionTimeoutMs: 30_000, watchesAnswers: true };
  const orm = createOrm({ url: database.href, ...options });
  const ask = () => orm.em.fork().execute('select 1 as one');
  try {
    link.set({ kind: 'silent' });
    const begun = performance.now();
    // Two connect, and three wait for them.
    for (const { status } of await Promise.allSettled(Array.from({ length: 5 }, ask)))
      expect(status).toBe('rejected');
    expect(performance.now() - begun).toBeLessThan(allowedMs(NOTICED_MS));
    link.set({ kind: 'open' });
    await eventually(async () => expect(await ask()).toEqual([{ one: 1 }]));
    // All connections that came late were given back.
    expect(await Promise.all(Array.from({ length: 5 }, ask))).toHaveLength(5);
  } finally {
    link.set({ kind: 'open' });
    await orm.close(true);
    await link.close();
    await app.close();
  }
});

test('a network that swallows what goes to PostgreSQL is noticed, too, by a copy that was idle', async () => {
  const platform = await startTestPlatform({ worker: false });
  const database = new URL(platform.databaseUrl);
  const { hostname: host, port } = database;
  const link = await startLink(() => ({ host, port: Number(port) }));
  database.host = `127.0.0.1:${link.port}`;
  const api = await startProgram('api', platform, { DATABASE_URL: database.href });
  try {
    const { token } = await platform.user('builder');
    const client = createClient(api.url, token);
    expect((await client.get('/runs')).status).toBe(200);
    link.set({ kind: 'silent' });
    const definition = { do: [{ a: { set: {} } }] };
    const create = () => client.post('/workflows', { name: 'a', definition });
    const replies = await Promise.all(Array.from({ length: 30 }, () => timed(create)));
    // More than it has connections.
    for (const reply of replies) expectRefused(reply, NOTICED_MS);
    expectRefused(await timed(() => client.get('/runs')), KNOWN_MS);
    await expectNotReady(client, KNOWN_MS);
    link.set({ kind: 'open' });
    await until(
      () => client.get('/runs'),
      ({ status }) => status === 200,
    );
  } finally {
    link.set({ kind: 'open' });
    await api.kill();
    await link.close();
    await platform.close();
  }
});
