/** A process on another namespace than that of its database finds no runs there, and takes none for lost. */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import { parseEnv } from '../../../config/env.ts';
import { temporalFindings } from '../../../dev/server/checks/temporal.ts';
import { claimTemporal, WrongTemporal } from '../../../domain/operations/temporal-identity.ts';
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
  temporal: TestTemporal,
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
