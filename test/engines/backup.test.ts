/**
 * The drill: a whole installation of `npm start` is backed up while people have tasks to decide, killed, and
 * restored: to the time of the backup, and with a Temporal that is older than the database.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import { signal } from '../../dev/os-process.ts';
import { cliUser } from '../support/cli.ts';
import { humanTask } from '../support/definitions.ts';
import { until } from '../support/platform.ts';
import { quickStart } from '../support/programs.ts';
import { eventually, upFolder, type Up, type UpFolder } from '../support/up-process.ts';

const program = join(import.meta.dirname, '../../dev/up.ts');
const cli = cliUser();

let folder: UpFolder;
let backups: string;
let up: Up;
let url: string;
let password: string;
let token: string;

beforeAll(async () => {
  folder = upFolder();
  backups = mkdtempSync(join(tmpdir(), 'cadenza-drill-'));
  await start();
  password = /Admin +admin \/ (\S+)/.exec(up.output())?.[1] ?? '';
  await logIn();
});
afterAll(async () => {
  await folder.clean();
  rmSync(backups, { recursive: true, force: true });
});

async function start(): Promise<void> {
  up = folder.start(await quickStart(folder.dataDir), { program });
  url = await up.ready();
}

async function logIn(): Promise<void> {
  const { access_token: given } = await send('POST', '/auth/token', { username: 'admin', password });
  token = given;
}

/** Fails for anything but success. */
async function send(method: string, path: string, body?: unknown): Promise<any> {
  const answer = await fetch(`${url}${path}`, {
    method,
    headers: { 'content-type': 'application/json', ...(token ? { authorization: `Bearer ${token}` } : {}) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
  return text === '' ? null : JSON.parse(text);
}

const server = (...args: string[]) =>
  cli.run(['server', ...args], { env: { DATA_DIR: folder.dataDir, PORT: '0' } });

async function killAll(): Promise<void> {
  for (const pid of [up.pid, ...Object.values(folder.pids())]) signal(pid, 'SIGKILL');
  await up.exited;
  await eventually(async () => expect(await folder.running()).toEqual([]));
}

/** Runs of a workflow with two questions, one after the other. */
async function startRuns(workflow: string, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let number = 0; number < count; number++)
    ids.push((await send('POST', `/workflows/${workflow}/run`, { input_params: { number } })).id);
  for (const id of ids) await openTask(id, 'first');
  return ids;
}

/** Waits for the question of this name. */
async function openTask(run: string, title: string): Promise<string> {
  const items: any[] = await until(
    () => send('GET', `/hitl/tasks?run_id=${run}&status=open`),
    (found) => found.some((task: any) => task.title === title),
  );
  return items.find((task: any) => task.title === title).id;
}

const decide = async (run: string, title: string): Promise<unknown> =>
  send('POST', `/hitl/tasks/${await openTask(run, title)}/decision`, { decision: 'approve' });

const ended = (run: string): Promise<any> =>
  until(
    () => send('GET', `/runs/${run}`),
    ({ status }: any) => ['completed', 'faulted', 'cancelled'].includes(status),
  );

/** A run that asks, and listens then for two events. */
async function startListener(): Promise<string> {
  const to = { any: [{ with: { type: 'drill' } }], until: 'length >= 2' };
  const definition = { do: [{ a: humanTask('first') }, { both: { listen: { to } } }] };
  const { id: workflow } = await send('POST', '/workflows', { name: 'two-events', definition });
  const [id = ''] = await startRuns(workflow, 1);
  return id;
}

const sendEvent = async (number: number): Promise<void> => {
  const event = {
    specversion: '1.0',
    id: `drill-${number}`,
    source: 'urn:drill',
    type: 'drill',
    data: number,
  };
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/cloudevents+json' };
  const answer = await fetch(`${url}/events`, { method: 'POST', headers, body: JSON.stringify(event) });
  expect(answer.status).toBe(202);
};

/** The run gets its first event. */
async function hear(run: string): Promise<void> {
  await decide(run, 'first');
  await sendEvent(1);
  await until(
    () => send('GET', `/runs/${run}/logs?limit=100`),
    (entries: any[]) => entries.some(({ type }) => type === 'io.cadenza.event.received.v1'),
  );
}

/** What the log of a run has of its questions: each asked once, decided once. */
async function questionsOf(run: string): Promise<string[]> {
  const entries: any[] = await send('GET', `/runs/${run}/logs?limit=100`);
  return entries
    .filter(({ type, task }) => task !== null && type.startsWith('io.cadenza.hitl.'))
    .map(({ type, task }) => `${task} ${type}`);
}

test('after a restore with waiting tasks every task is decided once, and every run completes', async () => {
  const definition = { do: [{ a: humanTask('first') }, { b: humanTask('second') }] };
  const { id: workflow } = await send('POST', '/workflows', { name: 'two-questions', definition });
  const [one = '', two = '', three = ''] = await startRuns(workflow, 3);
  const heard = await startListener();

  const older = join(backups, 'older');
  const taken = await server('backup', older, '--with-keys', '-o', 'json');
  expect([taken.exitCode, taken.stderr]).toEqual([0, expect.stringContaining('Writes pause')]);
  expect(taken.json()).toMatchObject({ temporal: 'sqlite', keys_included: true });

  // Between the two backups a run gets on, and another begins.
  await until(
    () =>
      decide(one, 'first').then(
        () => true,
        () => false,
      ),
    (done) => done,
  );
  await openTask(one, 'second');
  await hear(heard);
  const [late = ''] = await startRuns(workflow, 1);
  const newer = join(backups, 'newer');
  expect((await server('backup', newer, '-o', 'json')).stderr).toContain(
    'This backup has no encryption keys',
  );

  // What happens after the backup is gone after the restore.
  await until(
    () =>
      decide(two, 'first').then(
        () => true,
        () => false,
      ),
    (done) => done,
  );
  await killAll();
  expect((await server('restore', newer)).stderr).toContain('has data already');
  const restored = await server('restore', newer, '--replace', '--yes', '-o', 'json');
  expect([restored.exitCode, restored.stderr]).toEqual([0, expect.stringContaining('Restored.')]);

  // Temporal is of the time of the older backup: it has not heard of the decision, nor of the late run.
  const database = join(folder.dataDir, 'temporal', 'temporal.db');
  expect(existsSync(database)).toBe(true);
  writeFileSync(database, gunzipSync(readFileSync(join(older, 'temporal.db.gz'))));
  await start();
  await logIn();
  for (const run of [one, two, three]) {
    if (run !== one) await decide(run, 'first');
    await decide(run, 'second');
    expect((await ended(run)).status).toBe('completed');
    const questions = await questionsOf(run);
    expect(questions.filter((entry) => entry.includes('task-decided'))).toHaveLength(2);
    expect(questions).toEqual([...new Set(questions)]);
  }
  // The listener has begun after the time of Temporal: it is found again, with its event.
  await sendEvent(2);
  expect(await ended(heard)).toMatchObject({ status: 'completed', output: [1, 2] });
  await decide(late, 'first');
  expect(await ended(late)).toMatchObject({ status: 'faulted' });
});

test('the checks find nothing wrong afterwards, and the administrator gets a new password', async () => {
  const found = (await server('doctor', '-o', 'json')).json() as { check: string; status: string }[];
  expect(found.filter(({ status }) => status === 'error')).toEqual([]);
  expect(found.map(({ check }) => check)).toEqual(
    expect.arrayContaining([
      'versions',
      'schema',
      'keys',
      'clock of temporal',
      'workers',
      'file store',
      'api',
    ]),
  );
  const unasked = await server('reset-admin');
  expect([unasked.exitCode, unasked.stderr]).toEqual([
    2,
    expect.stringMatching(
      /^error: Give admin a new password, and end all sessions .*\? Confirm it with --yes\.$/m,
    ),
  ]);
  expect(await send('GET', '/agents')).toEqual(expect.anything());
  const reset = (await server('reset-admin', '--yes', '-o', 'json')).json();
  expect(reset.username).toBe('admin');
  await expect(send('GET', '/agents')).rejects.toThrow('401');
  [token, password] = ['', reset.password];
  await logIn();
  expect((await server('upgrade', '--dry-run', '-o', 'json')).exitCode).toBe(0);
});
