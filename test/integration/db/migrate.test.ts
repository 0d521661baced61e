import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';

import { migrate } from '../../../db/migrate.ts';
import { migrationNames } from '../../../db/migrations/index.ts';
import { startTestApp, type TestApp } from '../../support/app.ts';
import { createTestDatabase, type TestDatabase } from '../../support/servers.ts';

let database: TestDatabase;
let app: TestApp;
let client: pg.Client;

beforeAll(async () => {
  database = await createTestDatabase();
  client = new pg.Client({ connectionString: database.url });
  await client.connect();
  app = await startTestApp({ databaseUrl: database.url });
});
afterAll(async () => {
  await app.close();
  await client.end();
  await database.drop();
});

test('concurrent processes migrate an empty database once', async () => {
  await client.query('drop schema public cascade; create schema public');
  expect((await app.anonymous.get('/readyz')).body.checks.database).toBe('not_migrated');
  expect((await app.anonymous.get('/readyz')).status).toBe(503);
  expect((await app.anonymous.post('/auth/token', { username: 'a', password: 'b' })).status).toBe(503);
  const done = await Promise.all([1, 2, 3].map(() => migrate(database.url)));
  expect(done.map(({ migrations }) => migrations.length).toSorted((a, b) => a - b)).toEqual([
    0,
    0,
    migrationNames.length,
  ]);
  expect((await app.anonymous.get('/readyz')).body.checks).toMatchObject({
    database: 'ok',
    admin: 'missing',
  });
  expect(await migrate(database.url)).toEqual({ migrations: [], functions: [] });
  const { rows } = await client.query<{ name: string }>('select name from schema_migration order by id');
  expect(rows.map(({ name }) => name)).toEqual(migrationNames);
});

test('a missing migration is noticed', async () => {
  await client.query('delete from schema_migration where name = $1', [migrationNames[0]]);
  expect((await app.anonymous.get('/readyz')).body.checks.database).toBe('not_migrated');
  await client.query('insert into schema_migration (name) values ($1)', [migrationNames[0]]);
  expect((await app.anonymous.get('/readyz')).body.checks.database).toBe('ok');
});

test('each foreign key has an index, each time a zone, and no text a length', async () => {
  const { rows: keys } = await client.query(`
    select c.conrelid::regclass::text as "table", a.attname as "column"
    from pg_constraint c join pg_attribute a on a.attrelid = c.conrelid and a.attnum = c.conkey[1]
    where c.contype = 'f' and c.connamespace = 'public'::regnamespace
      and not exists (select 1 from pg_index i where i.indrelid = c.conrelid and i.indkey[0] = c.conkey[1])`);
  expect(keys).toEqual([]);
  const { rows: times } = await client.query(`
    select table_name, column_name from information_schema.columns
    where table_schema = 'public' and table_name <> 'schema_migration'
      and data_type in ('timestamp without time zone', 'character varying', 'character')`);
  expect(times).toEqual([]);
});

test('functions forbid plans that scan whole tables', async () => {
  const { rows } = await client.query<{ name: string; config: string[] | null }>(`
    select p.proname as name, p.proconfig as config from pg_proc p join pg_language l on l.oid = p.prolang
    where l.lanname = 'plpgsql' and p.prorettype <> 'trigger'::regtype
      and p.pronamespace = 'public'::regnamespace`);
  expect(rows.length).toBeGreaterThan(5);
  expect(rows.filter(({ config }) => !config?.includes('enable_seqscan=off'))).toEqual([]);
});
