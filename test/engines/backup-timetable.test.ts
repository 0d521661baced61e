/**
 * `npm start` with a timetable: backups of PostgreSQL, Temporal and files come by themselves, a kill of what
 * takes them loses none that is complete, and the last one is restored with its waiting run.
 */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';

import { signal } from '../../dev/os-process.ts';
import { runningPostgres } from '../../dev/postgres.ts';
import { createClient, type Client } from '../support/app.ts';
import { cliUser } from '../support/cli.ts';
import { humanTask } from '../support/definitions.ts';
import { until } from '../support/platform.ts';
import { quickStart } from '../support/programs.ts';
import { eventually, upFolder, type Up, type UpFolder } from '../support/up-process.ts';

const program = join(import.meta.dirname, '../../dev/up.ts');
const cli = cliUser();

let folder: UpFolder;
let place: string;
let up: Up;
let url: string;
let password: string;

beforeAll(async () => {
  folder = upFolder();
  place = join(folder.dataDir, 'backups');
  await start();
  password = /Admin +admin \/ (\S+)/.exec(up.output())?.[1] ?? '';
});
afterAll(() => folder.clean());

async function start(): Promise<void> {
  const timetable = { BACKUP_EVERY: '12h', BACKUP_KEEP: '2' };
  up = folder.start({ ...(await quickStart(folder.dataDir)), ...timetable }, { program });
  url = await up.ready();
}

async function logIn(): Promise<Client> {
  // A backup pauses log-ins, too.
  const { body } = await until(
    () => createClient(url).post('/auth/token', { username: 'admin', password }),
    ({ status }) => status === 200,
  );
  return createClient(url, body.access_token);
}

const server = (...args: string[]) =>
  cli.run(['server', ...args], { env: { DATA_DIR: folder.dataDir, PORT: '0' } });
const attempts = (): string[] => (existsSync(place) ? readdirSync(place).toSorted() : []);
const complete = (): string[] => attempts().filter((name) => existsSync(join(place, name, 'manifest.json')));

/** As if half a day had passed, also since a process died. */
async function passTime(): Promise<void> {
  const client = new pg.Client({ connectionString: (await runningPostgres(folder.dataDir)) ?? '' });
  await client.connect();
  await client.query(
    `update backup set started_at = started_at - interval '13 hours',
            ended_at = ended_at - interval '13 hours', leased_until = leased_until - interval '13 hours';
     update write_pause set until = clock_timestamp()`,
  );
  await client.end();
}

/** `npm start` starts it again, and it looks at once whether a backup is due. */
async function killTimetable(): Promise<void> {
  const pid = folder.pidOf('backups');
  signal(pid, 'SIGKILL');
  await eventually(async () => expect(folder.pidOf('backups')).not.toBe(pid));
}

test('backups come by themselves, survive kills of what takes them, and are restored', async () => {
  const [first = ''] = await until(
    async () => complete(),
    (names) => names.length === 1,
  );
  const whole = async (name: string) => {
    const checked = await server('verify-backup', join(place, name), '-o', 'json');
    expect([checked.exitCode, checked.json()]).toEqual([0, expect.objectContaining({ temporal: 'sqlite' })]);
  };
  await whole(first);

  const admin = await logIn();
  const definition = { do: [{ a: humanTask('first') }] };
  const { body: workflow } = await until(
    () => admin.post('/workflows', { name: 'a-question', definition }),
    ({ status }) => status === 201,
  );
  const { body: run } = await admin.post(`/workflows/${workflow.id}/run`, { input_params: {} });
  const openTasks = async (client: Client) =>
    (await client.get(`/hitl/tasks?run_id=${run.id}&status=open`)).body as { id: string }[];
  await until(
    () => openTasks(admin),
    (tasks) => tasks.length === 1,
  );

  // Killed while it writes the second one: the first is whole, and nothing else is taken for a backup.
  await passTime();
  await killTimetable();
  await until(
    async () => attempts(),
    (names) => names.length === 2,
  );
  signal(folder.pidOf('backups'), 'SIGKILL');
  expect(complete()).toEqual([first]);
  await whole(first);
  await passTime();
  await killTimetable();
  const [, second = ''] = await until(
    async () => complete(),
    (names) => names.length === 2,
  );
  await whole(second);
  const latest = await until(
    () => admin.get('/backups/latest'),
    ({ body }) => body.complete?.place === join(place, second),
  );
  expect(latest.body).toMatchObject({ failures: 0, warning: null, failed: { error: expect.any(String) } });

  // Only the newest two are kept.
  await passTime();
  await killTimetable();
  const [, third = ''] = await until(
    async () => complete(),
    (names) => names.length === 2 && !names.includes(first),
  );

  for (const pid of [up.pid, ...Object.values(folder.pids())]) signal(pid, 'SIGKILL');
  await up.exited;
  await eventually(async () => expect(await folder.running()).toEqual([]));
  const restored = await server('restore', join(place, third), '--replace', '--yes');
  expect([restored.exitCode, restored.stderr]).toEqual([0, expect.stringContaining('Restored.')]);
  await start();
  const again = await logIn();
  const [task] = await until(
    () => openTasks(again),
    (tasks) => tasks.length === 1,
  );
  await until(
    () => again.post(`/hitl/tasks/${task?.id ?? ''}/decision`, { decision: 'approve' }),
    ({ status }) => status === 200,
  );
  await until(
    async () => (await again.get(`/runs/${run.id}`)).body.status,
    (status) => status === 'completed',
  );
  // A restored database knows of no backup, so the next one comes at once.
  await until(
    async () => complete(),
    (names) => !names.includes(second),
  );
});
