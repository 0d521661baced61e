/** What the database knows of backups: one at a time, when one is due, what is shown of them. */
import { randomBytes } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';

import {
  backupWarning,
  readBackups,
  recordedBackup,
  secondsUntilDue,
  type Timetable,
} from '../../../domain/operations/backups.ts';
import { diagnoseOpened } from '../../../dev/server/doctor.ts';
import { startTestApp, type TestApp } from '../../support/app.ts';
import { createLocalFileStore } from '../../../adapters/file-stores/local-file-store.ts';

const METRICS_TOKEN = randomBytes(32).toString('hex');
const HOURLY: Timetable = { everySeconds: 3_600, atSeconds: null };
let app: TestApp;

beforeAll(async () => {
  app = await startTestApp({ env: { METRICS_TOKEN } });
});
afterEach(() => sql('delete from backup'));
afterAll(() => app.close());

const fork = () => app.orm.em.fork();
const sql = (text: string, values: unknown[] = []) => fork().execute(text, values);
const take = (timetable?: Timetable, work = async () => ({ total_bytes: 1_000 })) =>
  recordedBackup(fork, { place: '/backups/a', timetable }, work);
const failing = (timetable?: Timetable) =>
  take(timetable, async () => Promise.reject(new Error('no room on the disk'))).catch(String);
/** As if all that has happened had happened earlier. */
const age = (seconds: number) =>
  sql(
    `update backup set started_at = started_at - make_interval(secs => ?),
            ended_at = ended_at - make_interval(secs => ?)`,
    [seconds, seconds],
  );
const until = async (timetable: Timetable) => Math.round(await secondsUntilDue(fork(), timetable));

describe('of several copies with the same timetable', () => {
  test('one takes each backup, however many look at the same time', async () => {
    let taken = 0;
    const look = () =>
      take(HOURLY, async () => {
        taken += 1;
        return { total_bytes: 1 };
      }).catch(String);
    const first = await Promise.all(Array.from({ length: 8 }, look));
    expect(taken).toBe(1);
    expect(first.filter((one) => typeof one === 'object' && one !== null)).toHaveLength(1);
    await Promise.all(Array.from({ length: 4 }, look));
    expect(taken).toBe(1);
    await age(3_601);
    await Promise.all(Array.from({ length: 8 }, look));
    expect(taken).toBe(2);
  });

  test('none begins beside another backup, whoever takes that', async () => {
    const beside = await take(undefined, async () => {
      const error: unknown = await take(HOURLY).catch((cause: unknown) => cause);
      expect(String(error)).toContain('A backup is already being taken (/backups/a)');
      expect((await readBackups(fork())).runningSince).toBeInstanceOf(Date);
      return { total_bytes: 1 };
    });
    expect(beside).toEqual({ total_bytes: 1 });
    expect((await readBackups(fork())).runningSince).toBeNull();
  });

  test('one whose process dies is forgotten with its lease, and counts as a failure', async () => {
    await sql(
      `insert into backup (id, status, place, leased_until)
       values (gen_random_uuid(), 'running', '/backups/dead', clock_timestamp() - interval '1 second')`,
    );
    expect(await readBackups(fork())).toMatchObject({
      runningSince: null,
      failures: 1,
      failed: { place: '/backups/dead', error: 'Its process has ended without a word.' },
    });
    expect(await take()).not.toBeNull();
    expect(await readBackups(fork())).toMatchObject({ failures: 0, complete: { place: '/backups/a' } });
  });
});

describe('a timetable', () => {
  test('asks for the first backup at once, and for the next a while after the last began', async () => {
    expect(await until(HOURLY)).toBe(0);
    await take();
    expect(await until(HOURLY)).toBeGreaterThan(3_590);
    expect(await take(HOURLY)).toBeNull();
    await age(1_800);
    expect(await until(HOURLY)).toBeGreaterThan(1_790);
    expect(await until(HOURLY)).toBeLessThanOrEqual(1_800);
    await age(1_801);
    expect(await until(HOURLY)).toBe(0);
  });

  test('with a time of the day asks at that time, wherever the last one began', async () => {
    const daily = { everySeconds: 86_400, atSeconds: 2.5 * 3_600 };
    const [row] = await fork().execute<{ left: number }[]>(
      `select extract(epoch from date_bin('1 day', clock_timestamp(), '2000-01-01 02:30:00+00')
                + interval '1 day' - clock_timestamp())::float8 as left`,
    );
    expect(await until(daily)).toBe(0);
    await take();
    // The next 02:30, except for the time that the backup has taken.
    expect(Math.abs((await until(daily)) - (row?.left ?? 0))).toBeLessThanOrEqual(30);
    await age(86_400);
    expect(await until(daily)).toBe(0);
  });

  test('tries again a quarter of an hour after a failure', async () => {
    await take();
    await age(3_600);
    expect(await failing(HOURLY)).toContain('no room on the disk');
    expect(await until(HOURLY)).toBeGreaterThan(890);
    await age(901);
    expect(await until(HOURLY)).toBe(0);
    // Not later than the next one would be due.
    const often = { everySeconds: 60, atSeconds: null };
    await failing(often);
    expect(await until(often)).toBeLessThanOrEqual(60);
  });
});

test('the list is bounded, and the last complete one is never lost in it', async () => {
  await take();
  await sql(
    `insert into backup (id, status, place, started_at, ended_at, error)
     select gen_random_uuid(), 'failed', '/f', clock_timestamp(), clock_timestamp(), 'no'
       from generate_series(1, 300)`,
  );
  await failing();
  const [row] = await fork().execute<{ rows: number }[]>('select count(*)::int as rows from backup');
  expect(row?.rows).toBeLessThanOrEqual(102);
  expect((await readBackups(fork())).complete?.place).toBe('/backups/a');
});

test('admins see the last backups with what is wrong, and nobody else does', async () => {
  const admin = await app.as('admin');
  const latest = async () => (await admin.get('/backups/latest')).body;
  expect(await latest()).toEqual({
    complete: null,
    failed: null,
    failures: 0,
    running_since: null,
    warning: expect.stringContaining('No backup has been taken with cadenza server backup.'),
  });
  await take();
  expect(await latest()).toMatchObject({
    complete: { place: '/backups/a', bytes: 1_000, seconds: expect.any(Number) },
    warning: null,
  });
  await failing();
  await age(3 * 86_400);
  const { failed, failures, warning } = await latest();
  expect([failed.error, failures]).toEqual(['no room on the disk', 1]);
  expect(warning).toMatch(
    /^The last complete backup is old: it was begun at 20.*Z\. 1 attempt failed since /,
  );
  expect(warning).toContain(': no room on the disk. See docs/');
  expect((await (await app.as('builder')).get('/backups/latest')).status).toBe(403);
  expect((await app.anonymous.get('/backups/latest')).status).toBe(401);
});

test('a backup is old after two days, or after twice the time of the timetable', async () => {
  await take();
  const old = async (timetable: Timetable | null) =>
    backupWarning(await readBackups(fork()), timetable)?.includes('is old') === true;
  await age(4 * 3_600);
  expect([await old(null), await old(HOURLY)]).toEqual([false, true]);
  await age(2 * 86_400);
  const weekly = { everySeconds: 7 * 86_400, atSeconds: null };
  expect([await old(null), await old(weekly)]).toEqual([true, false]);
});

test('the doctor warns if there is no backup, and says where the last one is', async () => {
  const finding = async () => {
    const installation = {
      env: { ...app.env, DATABASE_URL: app.databaseUrl },
      orm: app.orm,
      fork,
      files: createLocalFileStore(app.env.FILES_DIR),
      dataDir: null,
      close: async () => {},
    };
    return (await diagnoseOpened(installation)).find(({ check }) => check === 'backup');
  };
  expect(await finding()).toMatchObject({
    status: 'warn',
    detail: expect.stringContaining('docs/operations.md#back-up-by-timetable'),
  });
  await take();
  expect(await finding()).toMatchObject({ status: 'ok', detail: expect.stringContaining('/backups/a') });
});

test('metrics have age, size and duration of the last backup, and failures', async () => {
  const scrape = async (): Promise<Map<string, number>> => {
    // Figures are kept for ten seconds by each copy.
    const copy = await startTestApp({ databaseUrl: app.databaseUrl, env: { METRICS_TOKEN } });
    try {
      const headers = { authorization: `Bearer ${METRICS_TOKEN}` };
      const { body } = await copy.anonymous.get('/metrics', { headers });
      const lines = String(body).matchAll(/^cadenza_backup_(\w+) (\S+)$/gm);
      return new Map([...lines].map(([, name = '', value]) => [name, Number(value)]));
    } finally {
      await copy.close();
    }
  };
  expect([...(await scrape())]).toEqual([['failures', 0]]);
  await take();
  await age(100);
  await failing();
  const values = await scrape();
  expect([...values.keys()].toSorted()).toEqual(
    ['age_seconds', 'bytes', 'duration_seconds', 'failure_age_seconds', 'failures'].toSorted(),
  );
  expect([values.get('bytes'), values.get('failures')]).toEqual([1_000, 1]);
  expect(values.get('age_seconds')).toBeGreaterThanOrEqual(100);
  expect(values.get('failure_age_seconds')).toBeLessThan(100);
});
