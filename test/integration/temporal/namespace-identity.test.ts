/** A process on another namespace than that of its database finds no runs there, and takes none for lost. */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import { parseEnv } from '../../../config/env.ts';
import type { RunStart } from '../../../contracts/temporal.ts';
import { temporalFindings } from '../../../dev/server/checks/temporal.ts';
import { claimTemporal, WrongTemporal } from '../../../domain/operations/temporal-identity.ts';
import { createVerifiedTemporal } from '../../../domain/operations/verified-temporal.ts';
import { TemporalUnavailable } from '../../../domain/ports.ts';
import { closeLostRun } from '../../../domain/runs/dispatch.ts';
import { createTemporalClient } from '../../../temporal/client.ts';
import { createGateway } from '../../../temporal/gateway.ts';
import { testKeys } from '../../support/app.ts';
import { humanTask } from '../../support/definitions.ts';
import { startRun, startTestPlatform, until, type TestPlatform } from '../../support/platform.ts';
import { testTemporal, type TestTemporal } from '../../support/servers.ts';

let platform: TestPlatform;
let builder: Awaited<ReturnType<TestPlatform['as']>>;
let other: TestTemporal;
const clients: ReturnType<typeof createTemporalClient>[] = [];
const folder = mkdtempSync(join(tmpdir(), 'cadenza-namespace-'));

beforeAll(async () => {
  platform = await startTestPlatform();
  builder = await platform.as('builder');
  other = await testTemporal();
});
afterAll(async () => {
  for (const client of clients) await client.connection.close();
  await platform.close();
  rmSync(folder, { recursive: true, force: true });
});

function gatewayOf(temporal: Pick<TestTemporal, 'address' | 'namespace' | 'taskQueue'>) {
  const client = createTemporalClient(temporal);
  clients.push(client);
  return createGateway({ client, taskQueue: temporal.taskQueue, baseUrl: 'https://cadenza.test' });
}
const fork = () => platform.orm.em.fork();
const statusOf = async (run: { id: string }) => (await builder.get(`/runs/${run.id}`)).body.status;

/** @returns its exit code, or null once it has said the words, and what it has said */
async function start(
  kind: 'api' | 'worker',
  temporal: Pick<TestTemporal, 'address' | 'namespace' | 'taskQueue'>,
  more: Record<string, string>,
  words: RegExp,
): Promise<{ code: number | null; output: string }> {
  const child = spawn(
    process.execPath,
    [fileURLToPath(new URL(`../../../${kind}/main.ts`, import.meta.url))],
    {
      env: {
        PATH: process.env['PATH'],
        DATABASE_URL: platform.databaseUrl,
        TEMPORAL_ADDRESS: temporal.address,
        TEMPORAL_NAMESPACE: temporal.namespace,
        TEMPORAL_TASK_QUEUE: temporal.taskQueue,
        ENCRYPTION_KEYS: testKeys,
        FILES_DIR: join(folder, 'files'),
        FILES_LARGE_VALUES: 'false',
        DATA_DIR: folder,
        PORT: '0',
        WORKER_METRICS_ADDRESS: '127.0.0.1:0',
        ...more,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (bytes: Buffer) => {
      output += bytes.toString();
      if (words.test(output)) child.kill('SIGKILL');
    });
  const code = await new Promise<number | null>((resolve) => void child.once('exit', resolve));
  return { code, output };
}

test('a run that waits in the right namespace stays as it is, until another one is accepted', async () => {
  const own = gatewayOf(platform.temporal);
  const wrong = gatewayOf(other);
  const [ownId, otherId] = [await own.namespaceId(), await wrong.namespaceId()];
  await claimTemporal(fork(), ownId, { acceptNew: false });
  const run = (await startRun(builder, { do: [{ ask: humanTask('Go?') }] })) as { id: string };
  await until(
    () => statusOf(run),
    (status) => status === 'waiting',
  );

  expect(await closeLostRun({ orm: platform.orm, temporal: wrong }, run.id)).toBe(false);
  expect(await statusOf(run)).toBe('waiting');
  await expect(claimTemporal(fork(), otherId, { acceptNew: false })).rejects.toThrow(WrongTemporal);

  for (const kind of ['api', 'worker'] as const) {
    const refused = await start(kind, other, {}, /nothing of this kind/);
    expect(refused).toEqual({ code: 1, output: expect.stringContaining(`its id is ${otherId}`) });
    expect(refused.output).toContain('ACCEPT_NEW_TEMPORAL=true');
  }
  const parsed = parseEnv({
    DATABASE_URL: platform.databaseUrl,
    ENCRYPTION_KEYS: testKeys,
    TEMPORAL_ADDRESS: other.address,
    TEMPORAL_NAMESPACE: other.namespace,
  });
  if ('problems' in parsed) throw new Error(JSON.stringify(parsed.problems));
  expect(await temporalFindings(parsed.env, other.address, ownId)).toContainEqual({
    check: 'namespace',
    status: 'error',
    detail: expect.stringContaining('does not have the runs of this database'),
  });

  await claimTemporal(fork(), otherId, { acceptNew: true });
  expect(await closeLostRun({ orm: platform.orm, temporal: wrong }, run.id)).toBe(true);
  expect(await statusOf(run)).toBe('faulted');
  await claimTemporal(fork(), ownId, { acceptNew: true });
});

/** A run as it would be started, which no database knows. */
function unknownRun(): RunStart {
  const id = randomUUID();
  return {
    run_id: id,
    root_run_id: id,
    name: 'never to be seen',
    owner_id: randomUUID(),
    workflow_id: null,
    definition: { do: [{ wait: { wait: { hours: 1 } } }] },
    input: {},
    created_at: new Date().toISOString(),
    checkpoint: null,
  };
}

/** Tells its namespace only once it is let. */
function slow(temporal: Parameters<typeof gatewayOf>[0]) {
  const gateway = gatewayOf(temporal);
  const { promise: mayAnswer, resolve: answer } = Promise.withResolvers<void>();
  let asked = 0;
  const namespaceId = async (): Promise<string> => {
    asked += 1;
    await mayAnswer;
    return gateway.namespaceId();
  };
  const verified = createVerifiedTemporal({ ...gateway, namespaceId }, { fork, acceptNew: false });
  return { ...verified, gateway, answer, asked: () => asked };
}

test('no run is started on a slow Temporal until it is known to be the right one', async () => {
  // No worker takes the run: it would fail one that the database does not know.
  const [own, wrong] = [slow({ ...platform.temporal, taskQueue: randomUUID() }), slow(other)];
  await claimTemporal(fork(), await own.gateway.namespaceId(), { acceptNew: true });
  for (const { temporal } of [own, wrong]) expect(await temporal.ping()).toBe(true);
  const run = unknownRun();
  const starts = [own, wrong].map(({ temporal }) => temporal.start(run));
  const wake = wrong.temporal.wakeDelivery({ id: run.run_id, holder_id: null });
  const ends = Promise.allSettled([...starts, wake]);
  for (const { gateway, answer } of [own, wrong]) {
    expect(await gateway.describe(run.run_id)).toBeNull();
    answer();
  }
  const unavailable = { status: 'rejected', reason: expect.any(TemporalUnavailable) };
  expect(await ends).toEqual([{ status: 'fulfilled', value: undefined }, unavailable, unavailable]);
  expect(await own.gateway.describe(run.run_id)).toBe('running');
  expect(await wrong.gateway.describe(run.run_id)).toBeNull();
  await expect(wrong.verify()).rejects.toThrow(WrongTemporal);
  // Compared once for all who had asked, and never again where it is right.
  await own.temporal.terminate(run.run_id, 'of a test');
  expect([own.asked(), wrong.asked()]).toEqual([1, 2]);
});

/** Longer than the start of an api waits for Temporal; two such pauses are shorter than a call may take. */
const DELAY_MS = 1_500;

/** What a server sends arrives later. */
async function delayed(address: string): Promise<{ address: string; close: () => void }> {
  const { hostname, port } = new URL(`http://${address}`);
  const sockets = new Set<Socket>();
  const proxy = createServer((near) => {
    const far = connect(Number(port), hostname);
    near.pipe(far);
    far.on('data', (bytes) => void setTimeout(() => near.write(bytes), DELAY_MS));
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => (near.destroy(), far.destroy()));
    }
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  const bound = proxy.address();
  if (bound === null || typeof bound === 'string') throw new Error('the proxy has no port');
  return {
    address: `127.0.0.1:${bound.port}`,
    close: () => {
      for (const socket of sockets) socket.destroy();
      proxy.close();
    },
  };
}

test('an api whose Temporal answers slowly serves, and ends once it proves to be the wrong one', async () => {
  await claimTemporal(fork(), await gatewayOf(platform.temporal).namespaceId(), { acceptNew: true });
  const proxy = await delayed(other.address);
  try {
    const refused = await start('api', { ...other, address: proxy.address }, {}, /nothing of this kind/);
    expect(refused.code).toBe(1);
    const [served, ended] = ['"listening"', 'does not have the runs'].map((text) =>
      refused.output.indexOf(text),
    );
    expect(served).toBeGreaterThan(0);
    expect(ended).toBeGreaterThan(served ?? 0);
  } finally {
    proxy.close();
  }
});

test('a worker waits for a namespace that is missing, and names the setting in one line', async () => {
  const missing = { ...other, namespace: 'none-of-this-name' };
  const { code, output } = await start('worker', missing, {}, /has no namespace/);
  expect(code).toBeNull();
  expect(output).toContain('Temporal has no namespace none-of-this-name (TEMPORAL_NAMESPACE), trying again');
  expect(output).not.toContain('"stack"');
});

test('GET /readyz is down while the namespace is another one, and says what to do', async () => {
  const ready = () => platform.anonymous.get('/readyz');
  const own = await gatewayOf(platform.temporal).namespaceId();
  await claimTemporal(fork(), own, { acceptNew: true });
  expect((await ready()).body.checks.temporal).toBe('ok');
  await claimTemporal(fork(), 'of another installation', { acceptNew: true });
  const { status, body } = await ready();
  expect([status, body.status, body.checks.temporal]).toEqual([503, 'down', 'wrong_namespace']);
  expect(body.problems).toContainEqual(expect.stringContaining('does not have the runs of this database'));
  await claimTemporal(fork(), own, { acceptNew: true });
  expect((await ready()).body.checks.temporal).toBe('ok');
});

test('a new namespace has all runs looked for, and all schedules made', async () => {
  await fork().execute(
    `update maintenance set sweep_begun_at = clock_timestamp(), sweep_after = gen_random_uuid()`,
  );
  await claimTemporal(fork(), 'one that is new', { acceptNew: true });
  const sweep = 'select sweep_begun_at, sweep_after, temporal_namespace_id from maintenance';
  expect(await fork().execute(sweep)).toEqual([
    { sweep_begun_at: null, sweep_after: null, temporal_namespace_id: 'one that is new' },
  ]);
});
