/** db/schema.sql and db/functions say what is in a new database. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';

import { readFunctionFiles } from '../../../db/function-files.ts';
import { dumpSchema } from '../../../dev/dump-schema.ts';
import { createTestDatabase, type TestDatabase } from '../../support/servers.ts';

let database: TestDatabase;
let client: pg.Client;

beforeAll(async () => {
  database = await createTestDatabase();
  client = new pg.Client({ connectionString: database.url });
  await client.connect();
});
afterAll(async () => {
  await client.end();
  await database.drop();
});

test('db/schema.sql is up to date; else run `npm run schema`', async () => {
  const file = readFileSync(join(import.meta.dirname, '../../../db/schema.sql'), 'utf8');
  expect(await dumpSchema(client)).toBe(file);
});

test('the functions of the database are those of db/functions', async () => {
  const before = await readFunctions();
  expect(before.map(({ name }) => name)).toEqual(readFunctionFiles().map(({ name }) => name));
  await client.query('begin');
  // What `migrate` sets for functions that keep the path of those who create them.
  await client.query('set local search_path = public, pg_temp');
  for (const { sql } of readFunctionFiles()) await client.query(sql);
  const after = await readFunctions();
  await client.query('rollback');
  expect(after).toEqual(before);
});

async function readFunctions(): Promise<{ name: string; definition: string }[]> {
  const { rows } = await client.query<{ name: string; definition: string }>(
    `select proname as name, pg_get_functiondef(oid) as definition
       from pg_proc p where pronamespace = 'public'::regnamespace
        and not exists (select from pg_depend e where e.objid = p.oid and e.deptype = 'e')
      order by proname collate "C"`,
  );
  return rows;
}
