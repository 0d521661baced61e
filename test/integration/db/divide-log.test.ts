/** A database from before the log had partitions: with data, and with copies that go on as before. */
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import pg from 'pg';
import { v7 as uuidv7 } from 'uuid';

import { readLogState, type LogState } from '../../../db/log-partitions.ts';
import { migrate } from '../../../db/migrate.ts';
import { migrationNames } from '../../../db/migrations/index.ts';
import { createTestDatabase, type TestDatabase } from '../../support/servers.ts';

const PARTITIONED = '202611281720-partitioned-log';
const BEFORE = migrationNames.slice(0, migrationNames.indexOf(PARTITIONED));
const DAY_MS = 24 * 3_600_000;

let database: TestDatabase;
let client: pg.Client;
let owner: string;

beforeEach(async () => {
  database = await createTestDatabase({ empty: true });
  client = new pg.Client({ connectionString: database.url });
  await client.connect();
  await migrate(database.url, { only: BEFORE });
  owner = uuidv7();
  await client.query(
    `insert into user_account (id, username, email, password_hash, roles) values ($1, 'o', 'o', '', '{}')`,
    [owner],
  );
});
afterEach(async () => {
  await client.end();
  await database.drop();
});

/** As copies from before do it: row and first event in one statement. */
async function createRun(msecs: number, events = 2): Promise<string> {
  const id = uuidv7({ msecs });
  await client.query(
    `with made as (
       insert into run (id, workflow_name, definition, status, owner_id, root_run_id, last_seq)
       values ($1, 'w', '{}', 'running', $2, $1, $3) returning id)
     insert into run_event (run_id, seq, key, type, at, level, message, data)
     select id, n, 'k' || n, 't', now(), 'info', 'm', json_build_object('n', n)
        from made, generate_series(1, $3::int) n`,
    [id, owner, events],
  );
  return id;
}

async function append(id: string, key: string): Promise<unknown> {
  const event = { key, type: 't', at: new Date().toISOString(), level: 'info', message: 'm', data: {} };
  const { rows } = await client.query(`select append_run_events($1, $2, null, '{}') as done`, [
    id,
    JSON.stringify([event]),
  ]);
  return rows[0]?.done;
}

const logOf = async (id: string): Promise<string[]> =>
  (
    await client.query<{ key: string }>('select key from run_event where run_id = $1 order by seq', [id])
  ).rows.map(({ key }) => key);

const all = async (): Promise<unknown[]> =>
  (await client.query('select e.*, e.tx::text as tx from run_event e order by run_id, seq')).rows;

const state = (): Promise<LogState> => readLogState(async (sql) => (await client.query(sql)).rows);

test('the table becomes the partition of all that was before, and months follow', async () => {
  const old = await createRun(Date.now() - 400 * DAY_MS);
  const young = await createRun(Date.now());
  const before = await all();
  await migrate(database.url);
  expect(await all()).toEqual(before);
  const { partitions, hasDefault } = await state();
  expect(hasDefault).toBe(true);
  expect(partitions[0]).toMatchObject({ name: 'run_event_earlier', from: null });
  // No month before the bound gets a partition, and no gap is left after it.
  partitions.slice(1).forEach(({ from }, index) => expect(from).toBe(partitions[index]?.to));
  expect(partitions[0]?.to?.localeCompare(young)).toBe(1);
  const { rows: checks } = await client.query(
    `select conname from pg_constraint where conrelid = 'run_event_earlier'::regclass
        and contype in ('c', 'f')`,
  );
  expect(checks).toEqual([]);
  for (const id of [old, young]) {
    expect(await append(id, 'more')).toMatchObject({ closed: false });
    expect(await append(id, 'more')).toMatchObject({ closed: false });
    expect(await logOf(id)).toEqual(['k1', 'k2', 'more']);
  }
});

test('copies from before create, follow and remove runs, and events keep one order', async () => {
  await createRun(Date.now());
  await migrate(database.url);
  const id = await createRun(Date.now() + 70 * DAY_MS);
  await append(id, 'more');
  expect(await logOf(id)).toEqual(['k1', 'k2', 'more']);
  const { rows } = await client.query<{ ordered: boolean }>(
    `select bool_and(gpos > before) as ordered
       from (select gpos, lag(gpos) over (order by tx, gpos) as before from run_event) e
         where before is not null`,
  );
  expect(rows[0]?.ordered).toBe(true);
  await client.query('delete from run where id = $1', [id]);
  expect(await logOf(id)).toEqual([]);
});

test('an event of an earlier transaction comes after the last one of a run from before', async () => {
  const id = await createRun(Date.now());
  await migrate(database.url);
  const early = new pg.Client({ connectionString: database.url });
  await early.connect();
  await early.query('begin; select pg_current_xact_id()');
  // The columns are still empty: the order is that of the log.
  await client.query('update run_event set tx = pg_current_xact_id() where run_id = $1', [id]);
  const event = { key: 'e', type: 't', at: new Date().toISOString(), level: 'info', message: 'm', data: {} };
  await early.query(`select append_run_events($1, $2, null, '{}')`, [id, JSON.stringify([event])]);
  await early.query('commit');
  await early.end();
  const { rows } = await client.query('select key from run_event where run_id = $1 order by tx, gpos', [id]);
  expect(rows.map(({ key }) => key)).toEqual(['k1', 'k2', 'e']);
});

test('appends go on while the table is read for its bound', async () => {
  const id = await createRun(Date.now());
  await client.query(
    `insert into run_event (run_id, seq, key, type, at, level, message, data)
     select $1, n, 'x' || n, 't', now(), 'info', repeat('m', 200), '{}' from generate_series(3, 60000) n`,
    [id],
  );
  await client.query('update run set last_seq = 60000 where id = $1', [id]);
  let done = false;
  const migrated = migrate(database.url).then(() => (done = true));
  let appended = 0;
  let longestMs = 0;
  while (!done) {
    const begun = performance.now();
    // The functions come with the migration.
    if (await append(id, `w${appended}`).catch(() => false)) appended++;
    longestMs = Math.max(longestMs, performance.now() - begun);
  }
  await migrated;
  expect((await logOf(id)).filter((key) => key.startsWith('w'))).toHaveLength(appended);
  expect(appended).toBeGreaterThan(0);
  expect(longestMs).toBeLessThan(10_000);
});

test('a migration that was killed on the way is completed by the next one', async () => {
  const id = await createRun(Date.now());
  await migrate(database.url);
  // Back to the state after the migration, with the check of another bound.
  for (const { name } of (await state()).partitions.slice(1)) await client.query(`drop table ${name}`);
  await client.query(
    `drop table run_event_default;
     alter table run_event detach partition run_event_earlier;
     alter table run_event attach partition run_event_earlier for values from (minvalue) to (maxvalue)`,
  );
  await client.query(
    `alter table run_event_earlier add constraint run_event_earlier_bound
       check (run_id < 'ffffffff-0000-0000-0000-000000000000') not valid`,
  );
  await append(id, 'between');
  await migrate(database.url);
  const { partitions, hasDefault } = await state();
  expect([hasDefault, partitions.length > 1, partitions[0]?.to === null]).toEqual([true, true, false]);
  expect(await logOf(id)).toEqual(['k1', 'k2', 'between']);
});

test('ids of a clock that is ahead move the bound, and ids that are no times leave one table', async () => {
  const ahead = await createRun(Date.now() + 200 * DAY_MS);
  await migrate(database.url);
  const { partitions } = await state();
  expect(partitions.map(({ name }) => name)).toEqual(['run_event_earlier']);
  expect(partitions[0]?.to?.localeCompare(ahead)).toBe(1);
  expect(await logOf(ahead)).toEqual(['k1', 'k2']);
});

test('roles keep their rights on the log', async () => {
  await client.query(`grant select, insert on run_event to pg_monitor`);
  await createRun(Date.now());
  await migrate(database.url);
  const { rows } = await client.query(
    `select has_table_privilege('pg_monitor', 'run_event', 'select') as "reads",
            has_table_privilege('pg_monitor', 'run_event', 'insert') as "writes",
            has_table_privilege('pg_monitor', 'run_event', 'delete') as "removes"`,
  );
  expect(rows).toEqual([{ reads: true, writes: true, removes: false }]);
});
