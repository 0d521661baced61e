/**
 * Backups that follow each other in one folder, taken by the real program: what is removed, what is not, and
 * what is there after a kill at each of its steps.
 */
import { spawn } from 'node:child_process';
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';

import { readManifest } from '../../../dev/server/manifest.ts';
import { verifyBackup } from '../../../dev/server/verify-backup.ts';
import { startTestApp, testKeys, type TestApp } from '../../support/app.ts';
import { cliUser } from '../../support/cli.ts';
import { until } from '../../support/platform.ts';

const PROGRAM = join(import.meta.dirname, '../../../dev/server/program.ts');
const TIMETABLE = join(import.meta.dirname, '../../../dev/server/timetable.ts');
const DAY_MS = 86_400_000;
const cli = cliUser();

let app: TestApp;
let root: string;
let place: string;

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'cadenza-series-'));
  app = await startTestApp();
  const { token } = await app.user('builder');
  for (const name of ['one.txt', 'two.txt']) {
    const form = new FormData();
    form.set('file', new Blob([`content of ${name}`]), name);
    const headers = { authorization: `Bearer ${token}` };
    expect((await fetch(`${app.url}/files`, { method: 'POST', headers, body: form })).status).toBe(201);
  }
});
beforeEach(() => {
  place = mkdtempSync(join(root, 'place-'));
});
afterAll(async () => {
  await app.close();
  rmSync(root, { recursive: true, force: true });
});

const settings = (): Record<string, string> => ({
  PATH: process.env['PATH'] ?? '',
  DATABASE_URL: app.databaseUrl,
  FILES_DIR: app.env.FILES_DIR,
  ENCRYPTION_KEYS: testKeys,
});

interface Ended {
  killed: boolean;
  result?: { folder: string; removed: string[] };
  error?: string;
}

/** @param killAt the line at which it is killed; null: never */
async function backUp(options: object, killAt: string | null = null): Promise<Ended> {
  const child = spawn(process.execPath, ['--no-warnings', PROGRAM, 'backup'], {
    cwd: root,
    env: settings(),
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  child.stdin.end(JSON.stringify({ folder: place, ...options }));
  const exited = new Promise<NodeJS.Signals | null>((resolve) =>
    child.once('close', (_code, signal) => resolve(signal)),
  );
  const ended: Ended = { killed: false };
  for await (const line of createInterface({ input: child.stdout })) {
    const { say, ...answer } = JSON.parse(line) as { say?: string; result?: any; error?: string };
    if (killAt !== null && say?.startsWith(killAt) === true) child.kill('SIGKILL');
    Object.assign(ended, answer);
  }
  ended.killed = (await exited) === 'SIGKILL';
  return ended;
}

/** The leases of a process that was killed end after 30 seconds; here they have ended. */
const forgetTheDead = () =>
  app.orm.em.fork().execute(
    `delete from write_pause;
     update backup set leased_until = clock_timestamp() - interval '1 second' where status = 'running'`,
  );

const names = (): string[] => readdirSync(place).toSorted();
const complete = (): string[] => names().filter((name) => existsSync(join(place, name, 'manifest.json')));
const verify = (name: string) => verifyBackup(join(place, name), () => {});

/** A copy of a backup, as if it had been taken so many days ago. */
function olderBackup(of: string, days: number, changes: object = {}): string {
  const at = new Date(Date.now() - days * DAY_MS);
  const name = `${at.toISOString().slice(0, 19).replaceAll(':', '-')}Z`;
  cpSync(join(place, of), join(place, name), { recursive: true });
  const path = join(place, name, 'manifest.json');
  const manifest = JSON.parse(readFileSync(path, 'utf8')) as object;
  writeFileSync(path, JSON.stringify({ ...manifest, created_at: at.toISOString(), ...changes }));
  return name;
}

const nameOf = ({ result }: Ended): string => result?.folder.split('/').at(-1) ?? '';

test('the newest ones are kept, and what is nothing of this series is left alone', async () => {
  const first = nameOf(await backUp({ keep: 5 }));
  expect(first).toMatch(/^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ$/);
  const [old, older, oldest] = [10, 20, 30].map((days) => olderBackup(first, days));
  const foreign = olderBackup(first, 40, { installation_id: '0197a1b2-0000-7000-8000-000000000001' });
  const unknown = olderBackup(first, 41, { installation_id: null });
  const elsewhere = mkdtempSync(join(root, 'elsewhere-'));
  const left = ['before the move', '2026-01-01T00-00-00Z', '2026-01-02T00-00-00Z', '2026-01-03T00-00-00Z'];
  renameSync(join(place, olderBackup(first, 50)), join(place, left[0] ?? ''));
  symlinkSync(elsewhere, join(place, left[1] ?? ''));
  writeFileSync(join(place, left[2] ?? ''), 'a file');
  mkdirSync(join(place, left[3] ?? ''));
  writeFileSync(join(place, left[3] ?? '', 'notes.txt'), 'not of a backup');
  utimesSync(join(place, left[3] ?? ''), 1_000, 1_000);

  const next = await backUp({ keep: 3 });
  expect(next.result?.removed).toEqual([older, oldest]);
  const kept = [old, first, nameOf(next)];
  expect(names()).toEqual([...kept, foreign, unknown, ...left].toSorted());
  // Both numbers together keep what either keeps.
  const last = await backUp({ keep: 1, keepDays: 5 });
  expect(last.result?.removed).toEqual([old]);
  expect(names()).toEqual([first, nameOf(next), nameOf(last), foreign, unknown, ...left].toSorted());
  for (const name of complete()) await verify(name);
});

describe('after kill -9', () => {
  let taken: string;
  beforeAll(async () => {
    place = mkdtempSync(join(root, 'taken-'));
    taken = join(place, nameOf(await backUp({ keep: 1 })));
  });
  /** Puts a backup in the place, and an older one. @returns their names, the older one first */
  function fill(): string[] {
    const first = basename(taken);
    cpSync(taken, join(place, first), { recursive: true });
    return [olderBackup(first, 3), first];
  }

  test.each([
    ['before writes pause', 'Writes pause'],
    ['while PostgreSQL is copied', 'PostgreSQL'],
    ['while files are copied', 'Files'],
    ['while the backup is read again', 'Writes go on'],
    ['while earlier ones are removed', 'Removing'],
  ])('%s a whole backup is there, and the next one is taken', async (_when, line) => {
    const before = fill();
    const { killed } = await backUp({ keep: 1 }, line);
    const whole = complete();
    const isRead = line === 'Writes go on' && whole.join() !== before.join();
    const isAtEnd = line === 'Removing' || isRead;
    // The program may have come to its end before the signal.
    expect(killed || isAtEnd).toBe(true);
    expect(whole).toEqual(isAtEnd ? expect.any(Array) : before);
    expect(whole.length).toBeGreaterThan(0);
    for (const name of whole) expect(await verify(name)).toMatchObject({ files: 2 });

    await forgetTheDead();
    const next = nameOf(await backUp({ keep: 1 }));
    expect(complete()).toEqual([next]);
    await verify(next);
    // What was left is not taken for a backup.
    expect(names()).toHaveLength(isAtEnd ? 1 : 2);
  });

  test('nobody waits for longer than the lease, and what was left goes after a day', async () => {
    fill();
    expect((await backUp({ keep: 1 }, 'PostgreSQL')).killed).toBe(true);
    expect((await backUp({ keep: 1 })).error).toContain('A backup is already being taken');
    await forgetTheDead();
    const [rest = ''] = names().filter((name) => !complete().includes(name));
    const longAgo = new Date(Date.now() - 2 * DAY_MS);
    utimesSync(join(place, rest, 'unfinished.json'), longAgo, longAgo);
    expect(names()).toContain(rest);
    const next = nameOf(await backUp({ keep: 1 }));
    expect(names()).toEqual([next]);
  });

  test('of a removal, the next one ends it', async () => {
    const [half = '', first] = fill();
    renameSync(join(place, half), join(place, `${half}.removed`));
    rmSync(join(place, `${half}.removed`, 'manifest.json'));
    const next = nameOf(await backUp({ keep: 2 }));
    expect(names()).toEqual([first, next].toSorted());
  });
});

test('a backup that fails removes nothing, leaves nothing, and is kept in mind', async () => {
  const first = nameOf(await backUp({ keep: 1 }));
  const { error } = await backUp({ keep: 1, temporalDatabases: ['postgres://nobody@127.0.0.1:9/none'] });
  expect(error).toContain('ECONNREFUSED');
  expect(names()).toEqual([first]);
  await verify(first);
  const admin = await app.as('admin');
  const { body } = await admin.get('/backups/latest');
  expect(body).toMatchObject({ failures: 1, failed: { error: expect.stringContaining('ECONNREFUSED') } });
  expect(body.complete.place).toBe(join(place, first));
});

test('a content that the file store has damaged is left out, and the backup is complete', async () => {
  const store = app.env.FILES_DIR;
  const [path = ''] = readdirSync(store, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /^[0-9a-f-]{36}$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name));
  const good = readFileSync(path);
  appendFileSync(path, 'rot');
  try {
    const name = nameOf(await backUp({ keep: 1 }));
    const { files } = await readManifest(join(place, name));
    expect([files.count, files.missing]).toEqual([1, [expect.any(String)]]);
    expect(await verify(name)).toMatchObject({ files: 1 });
  } finally {
    writeFileSync(path, good);
  }
});

test('of two programs with the same timetable one takes the backup, and both end when told', async () => {
  await app.orm.em.fork().execute('delete from backup');
  const env = { ...settings(), BACKUP_EVERY: '1h', BACKUP_DIR: place, BACKUP_KEEP: '1' };
  const logs: Record<string, unknown>[] = [];
  const programs = Array.from({ length: 2 }, () => {
    const child = spawn(process.execPath, ['--no-warnings', TIMETABLE], {
      cwd: root,
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const lines = createInterface({ input: child.stdout });
    lines.on('line', (line) => logs.push(JSON.parse(line) as Record<string, unknown>));
    return { child, exited: new Promise((resolve) => child.once('exit', resolve)) };
  });
  try {
    await until(
      async () => logs.filter(({ msg }) => msg === 'a backup is complete'),
      (taken) => taken.length > 0,
    );
    expect(complete()).toEqual(names());
    expect(names()).toHaveLength(1);
  } finally {
    for (const { child } of programs) child.kill('SIGTERM');
  }
  expect(await Promise.all(programs.map(({ exited }) => exited))).toEqual([0, 0]);
  expect(logs.filter(({ msg }) => msg === 'a backup is complete')).toHaveLength(1);
  expect(logs.filter(({ level }) => level !== 'info')).toEqual([]);
});

describe('cadenza server', () => {
  const server = (...args: string[]) => cli.run(['server', ...args], { env: settings() });

  test('backup --keep names what it did, and verify-backup reads all of it', async () => {
    const taken = await server('backup', place, '--keep', '2', '-o', 'json');
    expect([taken.exitCode, taken.stderr]).toEqual([0, expect.stringContaining('Reading the backup again')]);
    const { folder, total_bytes: bytes } = taken.json();
    const checked = await server('verify-backup', folder, '-o', 'json');
    expect([checked.exitCode, checked.json()]).toEqual([
      0,
      expect.objectContaining({ bytes, files: 2, temporal: 'none', keys_included: false }),
    ]);

    const contents = join(folder, 'files');
    const [content = ''] = readdirSync(contents, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name));
    for (const path of [content, join(folder, 'contents.gz'), join(folder, 'database', 'file.copy.gz')]) {
      const good = readFileSync(path);
      const bad = Buffer.from(good);
      bad[bad.length - 1] = (bad.at(-1) ?? 0) ^ 1;
      writeFileSync(path, bad);
      const damaged = await server('verify-backup', folder);
      expect([damaged.exitCode, damaged.stderr]).toEqual([1, expect.stringContaining(`${path} is damaged`)]);
      rmSync(path);
      const missing = await server('verify-backup', folder);
      expect(missing.stderr).toContain(`${path} is missing`);
      writeFileSync(path, good);
    }

    const manifest = join(folder, 'manifest.json');
    const text = readFileSync(manifest, 'utf8');
    writeFileSync(manifest, text.replace('"migrations": [', '"migrations": ["209901010000-later",'));
    const newer = await server('verify-backup', folder);
    expect([newer.exitCode, newer.stderr]).toEqual([1, expect.stringContaining('is of a newer release')]);
  });

  test('backup refuses to keep none', async () => {
    const { exitCode, stderr } = await server('backup', place, '--keep', '0');
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining('--keep must be 1 at least')]);
    expect(names()).toEqual([]);
  });
});
