/**
 * The drill on servers of your own: Temporal stores its data in PostgreSQL, all servers are lost, and new
 * ones get the backup, as docs/operations.md says.
 */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect } from '@jest/globals';

import { migrate } from '../../db/migrate.ts';
import { startPostgres, type EmbeddedPostgres } from '../../dev/postgres.ts';
import { createClient, type Client } from '../support/app.ts';
import { cliUser } from '../support/cli.ts';
import { humanTask } from '../support/definitions.ts';
import { testUnless } from '../support/outside.ts';
import { until } from '../support/platform.ts';
import { startProgram, type Program } from '../support/programs.ts';
import {
  prepareTemporal,
  startTemporalOnPostgres,
  temporalPrograms,
  type TemporalOnPostgres,
  type TemporalPrograms,
} from '../support/temporal-on-postgres.ts';

const found = await temporalPrograms();
const drill = testUnless('missing' in found ? found.missing : undefined);
const NAMESPACE = 'cadenza-drill';
const cli = cliUser();
const key = randomBytes(32);

interface Servers {
  folder: string;
  postgres: EmbeddedPostgres;
  /** Of Temporal. */
  databaseUrls: string[];
}

interface Installation extends Servers {
  temporal: TemporalOnPostgres;
  api: Program;
  worker: Program;
  admin: Client;
}

let root: string;
const running: { stop: () => Promise<void> }[] = [];
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'cadenza-servers-'));
});
afterAll(async () => {
  for (const { stop } of running.toReversed()) await stop().catch(() => {});
  rmSync(root, { recursive: true, force: true });
});

/** PostgreSQL with Temporal's tables and an empty database for Cadenza. */
async function prepareServers(programs: TemporalPrograms, name: string): Promise<Servers> {
  const folder = mkdtempSync(join(root, `${name}-`));
  const postgres = await startPostgres({ dataDir: folder, throwaway: true });
  running.push({ stop: () => postgres.stop() });
  const options = { postgresUrl: postgres.url, folder, namespace: NAMESPACE };
  return { folder, postgres, databaseUrls: await prepareTemporal(programs, options) };
}

async function startAll(programs: TemporalPrograms, servers: Servers): Promise<Installation> {
  const { folder, postgres, databaseUrls } = servers;
  const options = { postgresUrl: postgres.url, folder, namespace: NAMESPACE, databaseUrls };
  const temporal = await startTemporalOnPostgres(programs, options);
  running.push({ stop: () => temporal.kill() });
  const platform = {
    env: {
      BASE_URL: 'http://127.0.0.1:1',
      FILES_DIR: join(folder, 'files'),
      ENCRYPTION_KEYS: [{ id: 'k1', key }],
    },
    temporal: { address: temporal.address, namespace: NAMESPACE, taskQueue: 'cadenza', uiUrl: '' },
    databaseUrl: postgres.url,
  };
  const api = await startProgram('api', platform);
  const worker = await startProgram('worker', platform);
  running.push({ stop: () => api.kill() }, { stop: () => worker.kill() });
  const credentials = { username: 'admin', password: 'the first password' };
  const { body } = await createClient(api.url).post('/auth/token', credentials);
  return { ...servers, temporal, api, worker, admin: createClient(api.url, body.access_token) };
}

const onServers = ({ folder, postgres, databaseUrls }: Servers, ...args: string[]) =>
  cli.run(['server', ...args, '-o', 'json'], {
    env: {
      DATABASE_URL: postgres.url,
      TEMPORAL_DATABASE_URLS: databaseUrls.join(','),
      TEMPORAL_NAMESPACE: NAMESPACE,
      FILES_DIR: join(folder, 'files'),
      ENCRYPTION_KEYS: `k1:${key.toString('base64')}`,
    },
  });

async function openTask({ admin }: Installation, run: string, title: string): Promise<string> {
  const tasks = await until(
    async () =>
      (await admin.get(`/hitl/tasks?run_id=${run}&status=open`)).body as { id: string; title: string }[],
    (all) => all.some((task) => task.title === title),
  );
  return tasks.find((task) => task.title === title)?.id ?? '';
}

async function decide(installation: Installation, run: string, title: string): Promise<void> {
  const task = await openTask(installation, run, title);
  const { status } = await installation.admin.post(`/hitl/tasks/${task}/decision`, { decision: 'approve' });
  expect([title, status]).toEqual([title, 200]);
}

/** People can log in and look; nothing goes on, not even the start of a run. */
async function looksOnly({ admin }: Installation, workflow: string, run: string): Promise<void> {
  const { body: tasks } = await admin.get(`/hitl/tasks?run_id=${run}&status=open`);
  expect(tasks).toMatchObject([{ title: 'first' }]);
  const refused = await admin.post(`/hitl/tasks/${tasks[0].id}/decision`, { decision: 'approve' });
  expect(refused).toMatchObject({ status: 503, body: { code: 'writes_paused' } });
  const { body: runs } = await admin.get(`/runs?workflow_id=${workflow}&status=pending`);
  expect(runs).toHaveLength(1);
}

drill('new servers get a backup of waiting runs: each is decided once and completes', async () => {
  if ('missing' in found) throw new Error(found.missing);
  const before = await prepareServers(found, 'old');
  await migrate(before.postgres.url);
  const old = await startAll(found, before);
  const definition = { do: [{ a: humanTask('first') }, { b: humanTask('second') }] };
  const { body: workflow } = await old.admin.post('/workflows', { name: 'two-questions', definition });
  const runs: string[] = [];
  for (let number = 0; number < 3; number += 1) {
    const { body } = await old.admin.post(`/workflows/${workflow.id}/run`, { input_params: { number } });
    runs.push(body.id);
  }
  for (const run of runs) await openTask(old, run, 'first');
  const [one = '', two = ''] = runs;
  await decide(old, one, 'first');
  await openTask(old, one, 'second');

  // One that its worker has not seen: it begins after the restore, and not before the pause ends.
  await old.worker.kill();
  const { body: late } = await old.admin.post(`/workflows/${workflow.id}/run`, {
    input_params: { number: 3 },
  });
  runs.push(late.id);

  const backup = join(root, 'backup');
  const taken = await onServers(old, 'backup', backup);
  expect([taken.exitCode, taken.stderr]).toEqual([0, expect.stringContaining('Writes pause')]);
  expect(taken.json()).toMatchObject({ temporal: 'databases' });

  // What comes afterwards is lost with the servers.
  await decide(old, two, 'first');
  await Promise.all([old.api.kill(), old.worker.kill(), old.temporal.kill()]);
  await old.postgres.stop();

  const after = await prepareServers(found, 'new');
  const restored = await onServers(after, 'restore', backup, '--paused');
  expect([restored.exitCode, restored.stderr]).toEqual([0, expect.stringContaining('Restored.')]);
  const fresh = await startAll(found, after);
  await looksOnly(fresh, workflow.id, two);
  const resumed = await onServers(after, 'resume');
  expect([resumed.exitCode, resumed.json()]).toEqual([0, { resumed: true }]);
  for (const run of runs) {
    if (run !== one) await decide(fresh, run, 'first');
    await decide(fresh, run, 'second');
    await until(
      async () => (await fresh.admin.get(`/runs/${run}`)).body.status,
      (status) => status === 'completed',
    );
    const { body: entries } = await fresh.admin.get(`/runs/${run}/logs?limit=100`);
    const decided = (entries as { type: string; task: string }[])
      .filter(({ type }) => type.includes('task-decided'))
      .map(({ task }) => task);
    expect(decided).toHaveLength(2);
    expect(new Set(decided).size).toBe(2);
  }
  const again = await fresh.admin.post(`/workflows/${workflow.id}/run`, { input_params: {} });
  await openTask(fresh, again.body.id, 'first');
});
