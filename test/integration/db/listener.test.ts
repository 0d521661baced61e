import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { Listener } from '../../../db/listener.ts';
import { startTestApp, type TestApp } from '../../support/app.ts';
import { until } from '../../support/platform.ts';

let app: TestApp;
let admin: pg.Client;
beforeAll(async () => {
  app = await startTestApp();
  admin = new pg.Client({ connectionString: app.databaseUrl });
  await admin.connect();
});
afterAll(async () => {
  await admin.end();
  await app.close();
});

/** A listener that notes what it is told. The query makes its connection another one than the app's. */
function listen(channel: string) {
  const told: string[] = [];
  const listener = new Listener({
    url: `${app.databaseUrl}?options=-cstatement_timeout%3D60000`,
    channel,
    notified: (payload) => told.push(payload),
    connected: () => told.push('connected'),
    lost: () => told.push('lost'),
    failed: () => told.push('failed'),
  });
  return { listener, told };
}

/** The process ids of connections that listen, without those of the app. */
async function listening(): Promise<number[]> {
  const { rows } = await admin.query<{ pid: number }>(
    `select pid from pg_stat_activity
      where datname = current_database() and application_name = 'cadenza-listen'
      order by backend_start`,
  );
  return rows.map(({ pid }) => pid);
}

const told = (what: string[], count: number): Promise<unknown> =>
  until(
    async () => what,
    ({ length }) => length >= count,
  );

test('listeners of a database share a connection, which ends with the last of them', async () => {
  const before = await listening();
  const [one, other] = [listen('one'), listen('other')];
  await Promise.all([one.listener.connect(), other.listener.connect()]);
  expect(await listening()).toHaveLength(before.length + 1);

  await admin.query(`select pg_notify('one', 'first'), pg_notify('other', 'second')`);
  await told(one.told, 2);
  await told(other.told, 2);
  expect([one.told, other.told]).toEqual([
    ['connected', 'first'],
    ['connected', 'second'],
  ]);

  await one.listener.stop();
  expect(await listening()).toHaveLength(before.length + 1);
  await other.listener.stop();
  await until(listening, (pids) => pids.length === before.length);
});

test('a lost connection is told to all of its listeners, which connect again to a common one', async () => {
  const before = await listening();
  const [one, other] = [listen('one'), listen('other')];
  await Promise.all([one.listener.connect(), other.listener.connect()]);
  const [pid] = (await listening()).filter((each) => !before.includes(each));
  await admin.query('select pg_terminate_backend($1)', [pid]);
  await told(one.told, 2);
  await told(other.told, 2);
  expect(one.listener.isConnected || other.listener.isConnected).toBe(false);

  await Promise.all([one.listener.connect(), other.listener.connect()]);
  expect((await listening()).filter((each) => !before.includes(each))).toHaveLength(1);
  await admin.query(`select pg_notify('one', 'again')`);
  await told(one.told, 4);
  expect([one.told, other.told]).toEqual([
    ['connected', 'lost', 'connected', 'again'],
    ['connected', 'lost', 'connected'],
  ]);
  await Promise.all([one.listener.stop(), other.listener.stop()]);
  await until(listening, (pids) => pids.length === before.length);
});
