/** Which functions `migrate` replaces, and which it leaves alone. */
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import pg from 'pg';

import { functionsVersion } from '../../../db/functions/version.ts';
import { migrate } from '../../../db/migrate.ts';
import { startTestApp, type TestApp } from '../../support/app.ts';
import { createTestDatabase, type TestDatabase } from '../../support/servers.ts';

const NOTHING = { migrations: [], functions: [] };

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

beforeEach(async () => {
  await client.query('update schema_function set version = $1', [functionsVersion]);
  await migrate(database.url);
});

/** As another build would have left a function: with another body, and the hash of its own file. */
async function replaceByAnotherBuild(version: number): Promise<void> {
  await client.query(
    `create or replace function people_asked(status text, waiting_on jsonb) returns uuid[]
     language sql immutable as $$ select '{}'::uuid[] $$`,
  );
  await client.query(`update schema_function set hash = 'other' where name = 'people_asked'`);
  await client.query('update schema_function set version = $1', [version]);
}

async function bodyOf(name: string): Promise<string | undefined> {
  const { rows } = await client.query<{ prosrc: string }>('select prosrc from pg_proc where proname = $1', [
    name,
  ]);
  return rows[0]?.prosrc;
}

async function readiness(): Promise<unknown> {
  return (await app.anonymous.get('/readyz')).body.checks.database;
}

test('only functions of an older build are replaced, and the API is not ready until then', async () => {
  const body = await bodyOf('people_asked');
  await replaceByAnotherBuild(functionsVersion - 1);
  expect(await readiness()).toBe('not_migrated');
  expect(await migrate(database.url)).toEqual({ migrations: [], functions: ['people_asked'] });
  expect(await bodyOf('people_asked')).toBe(body);
  expect(await readiness()).toBe('ok');
  expect(await migrate(database.url)).toEqual(NOTHING);
});

test('an older build replaces no function, changed or not, of a newer build', async () => {
  await replaceByAnotherBuild(functionsVersion + 1);
  await client.query(`update schema_function set hash = 'older' where name = 'end_run'`);
  const body = await bodyOf('people_asked');
  expect(await migrate(database.url)).toEqual(NOTHING);
  expect(await bodyOf('people_asked')).toBe(body);
  expect(await readiness()).toBe('ok');
  await client.query(`update schema_function set hash = 'other' where name = 'end_run'`);
});

test('a build is recorded even if it changes no function, so older builds change none', async () => {
  await client.query('update schema_function set version = $1', [functionsVersion - 1]);
  expect(await readiness()).toBe('not_migrated');
  expect(await migrate(database.url)).toEqual(NOTHING);
  const { rows } = await client.query<{ version: string }>('select distinct version from schema_function');
  expect(rows).toEqual([{ version: String(functionsVersion) }]);
});

test('a function that changed without a new version, as in development, is replaced', async () => {
  await replaceByAnotherBuild(functionsVersion);
  expect(await migrate(database.url)).toEqual({ migrations: [], functions: ['people_asked'] });
});

test('a missing function is created, and one without a file is forgotten', async () => {
  await client.query('drop function semver_precedence cascade');
  await client.query(`insert into schema_function (name, hash, version) values ('gone', 'h', $1)`, [
    functionsVersion - 1,
  ]);
  expect(await migrate(database.url)).toEqual({ migrations: [], functions: ['semver_precedence'] });
  const { rowCount } = await client.query(`select 1 from schema_function where name = 'gone'`);
  expect(rowCount).toBe(0);
});
