/** Temporal behind TLS with client certificates, and behind API keys, by the settings; and shared by two. */
import { readFileSync, writeFileSync } from 'node:fs';
import { connect as connectHttp2, createSecureServer, type ClientHttp2Session } from 'node:http2';
import type { AddressInfo, Server } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Client } from '@temporalio/client';
import { Runtime, Worker, type NativeConnection } from '@temporalio/worker';
import { pino } from 'pino';
import { RECONCILE_SCHEDULE } from '../../../contracts/temporal.ts';
import { createTemporalClient, temporalSettings, type TemporalSettings } from '../../../temporal/client.ts';
import { createGateway } from '../../../temporal/gateway.ts';
import { connectNative } from '../../../worker/connect.ts';
import { temporalLogger } from '../../../worker/temporal-logger.ts';
import { ensureSchedules, scheduleId } from '../../../worker/schedule.ts';
import { createAuthority, pem, type Authority } from '../../support/certificates.ts';
import { startMutualTls } from '../../support/mutual-tls.ts';
import { until } from '../../support/platform.ts';
import { testTemporal, type TestTemporal } from '../../support/servers.ts';
import { passOn } from '../../support/tampered-temporal.ts';

const logger = pino({ level: 'silent' });
const UNAUTHENTICATED = 16;
let temporal: TestTemporal;
let authority: Authority;
let server: { cert: string; key: string };
const closing: (() => unknown)[] = [];

beforeAll(async () => {
  Runtime.install({ logger: temporalLogger(logger), shutdownSignals: [] });
  temporal = await testTemporal();
  authority = createAuthority();
  server = authority.issue('temporal.internal');
});
afterAll(async () => {
  for (const close of closing.toReversed()) await close();
});

const portOf = (listening: Server): number => (listening.address() as AddressInfo).port;

/** Lets only calls with the key pass, as Temporal Cloud does. */
async function startKeyed(accepted: { key: string; seen: string[] }): Promise<number> {
  const upstream: ClientHttp2Session = connectHttp2(`http://${temporal.address}`);
  const proxy = createSecureServer({ cert: pem(server.cert), key: pem(server.key) });
  proxy.on('stream', (stream, headers) => {
    const given = String(headers.authorization);
    accepted.seen.push(given);
    stream.on('error', () => {});
    if (given !== `Bearer ${accepted.key}`) {
      const refusal = { 'content-type': 'application/grpc', 'grpc-status': UNAUTHENTICATED };
      stream.respond({ ':status': 200, ...refusal }, { endStream: true });
      return;
    }
    const { authorization: _, ...passed } = headers;
    passOn(upstream, temporal.address, stream, passed);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  closing.push(() => (upstream.destroy(), proxy.close()));
  return portOf(proxy);
}

function settings(port: number, env: Record<string, string | boolean>): TemporalSettings {
  return temporalSettings({
    TEMPORAL_ADDRESS: `127.0.0.1:${port}`,
    TEMPORAL_NAMESPACE: temporal.namespace,
    ...env,
  });
}

function clientWith(given: TemporalSettings): Client {
  const client = createTemporalClient(given);
  closing.push(() => client.connection.close());
  return client;
}

const ask = (client: Client, withinMs = 10_000): Promise<string> =>
  client
    .withDeadline(Date.now() + withinMs, () => client.workflowService.getSystemInfo({}))
    .then(
      () => 'answered',
      (error: { code?: number }) => `refused ${error.code ?? ''}`,
    );

/** A worker polls through the connection of the settings until the same settings' client sees it. */
async function workThrough(
  given: TemporalSettings,
  meanwhile?: (connection: NativeConnection) => Promise<void>,
): Promise<void> {
  const connection = await connectNative(given, logger);
  const taskQueue = `${temporal.taskQueue}-secured`;
  const activities = { nothing: async () => {} };
  const worker = await Worker.create({ connection, namespace: temporal.namespace, taskQueue, activities });
  const client = clientWith(given);
  await worker.runUntil(async () => {
    await until(
      () =>
        client.workflowService.describeTaskQueue({
          namespace: temporal.namespace,
          taskQueue: { name: taskQueue },
          taskQueueType: 2,
        }),
      ({ pollers }) => pollers.length > 0,
    );
    await meanwhile?.(connection);
  });
  await connection.close();
}

test('api and worker reach a Temporal that demands certificates, and not without one', async () => {
  const { port, names, close } = await startMutualTls(temporal.address, { authority, server });
  closing.push(close);
  const own = authority.issue('cadenza');
  const files = {
    TEMPORAL_TLS_CA: authority.cert,
    TEMPORAL_TLS_CERT: own.cert,
    TEMPORAL_TLS_KEY: own.key,
    TEMPORAL_TLS_SERVER_NAME: 'temporal.internal',
  };
  expect(await ask(clientWith(settings(port, files)))).toBe('answered');
  await workThrough(settings(port, files));
  expect(new Set(names)).toEqual(new Set(['cadenza']));
  const texts = Object.fromEntries(
    Object.entries(files).map(([name, value]) => [
      name,
      name.endsWith('NAME') ? value : pem(value).replaceAll('\n', String.raw`\n`),
    ]),
  );
  expect(await ask(clientWith(settings(port, texts)))).toBe('answered');
  const other = createAuthority().issue('stranger');
  const wrong = [
    { TEMPORAL_TLS_CA: authority.cert },
    { ...files, TEMPORAL_TLS_CERT: other.cert, TEMPORAL_TLS_KEY: other.key },
    { ...files, TEMPORAL_TLS_SERVER_NAME: 'other.internal' },
    { TEMPORAL_TLS: true, TEMPORAL_TLS_CERT: own.cert, TEMPORAL_TLS_KEY: own.key },
  ];
  // The client tries again until the deadline.
  const answers = await Promise.all(wrong.map((one) => ask(clientWith(settings(port, one)), 1_500)));
  for (const answer of answers) expect(answer).toMatch(/^refused/);
  expect(new Set(names)).toEqual(new Set(['cadenza']));
});

test('an API key is sent with every call, and replaced in its file while api and worker run', async () => {
  const accepted = { key: 'first-key', seen: [] as string[] };
  const port = await startKeyed(accepted);
  const path = join(authority.folder, 'api-key');
  writeFileSync(path, 'first-key\n');
  const tls = { TEMPORAL_TLS_CA: authority.cert };
  const given = settings(port, { ...tls, TEMPORAL_API_KEY_FILE: path });
  const client = clientWith(given);
  expect(await ask(client)).toBe('answered');
  expect(await ask(clientWith(settings(port, { ...tls, TEMPORAL_API_KEY: 'first-key' })))).toBe('answered');
  for (const wrong of [tls, { ...tls, TEMPORAL_API_KEY: 'other-key' }])
    expect(await ask(clientWith(settings(port, wrong)))).toBe(`refused ${UNAUTHENTICATED}`);
  await workThrough(given, async (connection) => {
    writeFileSync(path, 'second-key');
    accepted.key = 'second-key';
    expect(
      await until(
        () => ask(client),
        (answer) => answer === 'answered',
      ),
    ).toBe('answered');
    const byWorker = () =>
      connection.workflowService.getSystemInfo({}).then(
        () => true,
        () => false,
      );
    expect(await until(byWorker, (answered) => answered)).toBe(true);
  });
  // A file that is being written is no key: the former one counts.
  writeFileSync(path, '');
  expect(readFileSync(path, 'utf8')).toBe('');
  expect(
    await until(
      () => ask(client),
      (answer) => answer === 'answered',
    ),
  ).toBe('answered');
});

describe('two installations beside each other in one namespace', () => {
  const queues = ['one', 'two'] as const;
  let client: Client;

  beforeAll(() => {
    client = createTemporalClient({ address: temporal.address, namespace: temporal.namespace });
    closing.push(() => client.connection.close());
  });

  test('neither hears of the runs of the other', async () => {
    const ids = { one: crypto.randomUUID(), two: crypto.randomUUID() };
    for (const queue of queues) {
      const handle = await client.workflow.start('run', {
        workflowId: `run-${ids[queue]}`,
        taskQueue: `${temporal.taskQueue}-${queue}`,
      });
      await handle.terminate('test');
    }
    const since = new Date(Date.now() - 60_000);
    for (const queue of queues) {
      const taskQueue = `${temporal.taskQueue}-${queue}`;
      const gateway = createGateway({ client, taskQueue, baseUrl: 'https://cadenza.test' });
      const closed = await until(
        () => gateway.abnormallyClosed(since),
        (found) => found.length > 0,
      );
      expect(closed).toEqual([{ runId: ids[queue], status: 'terminated' }]);
    }
  });

  test('each has schedules of its own, on its own task queue', async () => {
    const owners = queues.map((queue) => ({
      installationId: crypto.randomUUID(),
      taskQueue: `${temporal.taskQueue}-${queue}`,
    }));
    for (const owner of owners) await ensureSchedules(client, owner);
    // A restart of one changes nothing of the other.
    await ensureSchedules(client, owners[0]!);
    for (const { installationId, taskQueue } of owners) {
      const handle = client.schedule.getHandle(scheduleId(RECONCILE_SCHEDULE, installationId));
      const { action } = await handle.describe();
      expect([action.taskQueue, action.workflowId]).toEqual([taskQueue, `reconcile-${installationId}`]);
    }
  });
});
