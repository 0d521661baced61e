/** Every schema that has landed is migrated to today's, with data in every table of its time. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';

import { migrate, pendingMigrations } from '../../../db/migrate.ts';
import { migrationNames, migrations } from '../../../db/migrations/index.ts';
import { tablesOf } from '../../../dev/server/database-dump.ts';
import { createTestDatabase, type TestDatabase } from '../../support/servers.ts';

let database: TestDatabase;
let client: pg.Client;

beforeAll(async () => {
  database = await createTestDatabase({ empty: true });
  client = new pg.Client({ connectionString: database.url });
  await client.connect();
});
afterAll(async () => {
  await client.end();
  await database.drop();
});

/** All ids are the same, so every reference finds the row of the other table. */
const ID = '00000000-0000-7000-8000-000000000001';
const OTHER_ID = '00000000-0000-7000-8000-000000000002';

const VALUES: Readonly<Record<string, string>> = {
  uuid: `'${ID}'`,
  text: `'a'`,
  bytea: `'\\x00'`,
  json: `'{}'`,
  jsonb: `'{}'`,
  date: `'2026-11-01'`,
  'timestamp with time zone': `'2026-11-01T00:00:00Z'`,
  boolean: 'true',
  xid8: `'1'`,
  inet: `'127.0.0.1'`,
  interval: `'1 s'`,
};

/** Values that checks of more than one column ask for. */
const CHECKED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  a2a_message: { message: `'{}'` },
  absence: { deputy_id: `'${OTHER_ID}'`, until_at: `'2026-11-02T00:00:00Z'` },
  agent_version: { version: `'1.0.0'` },
  listener: { run_id: `'${ID}'` },
  temporal_payload: { data: `'\\x00'` },
};

interface NewColumn {
  name: string;
  type: string;
  given: boolean;
  words: string | null;
}

/** A row with all that has no default. */
async function insertRow(table: string): Promise<void> {
  const { rows } = await client.query<NewColumn>(
    `select a.attname as name, format_type(a.atttypid, null) as type,
            a.attnotnull and not a.atthasdef and a.attidentity = '' as given,
            (select (regexp_match(pg_get_constraintdef(c.oid), 'ANY \\(ARRAY\\[''([^'']+)'''))[1]
               from pg_constraint c
              where c.conrelid = a.attrelid and c.contype = 'c' and c.conkey = array[a.attnum]
              limit 1) as words
       from pg_attribute a
      where a.attrelid = $1::regclass and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''`,
    [table],
  );
  const checked = CHECKED[table] ?? {};
  const columns = rows.filter(({ name, given }) => given || name in checked);
  const values = columns.map(({ name, type, words }) => {
    const value = checked[name] ?? (words === null ? undefined : `'${words}'`);
    return value ?? VALUES[type] ?? (type.endsWith('[]') ? `'{}'` : '1');
  });
  const names = columns.map(({ name }) => pg.escapeIdentifier(name));
  await client.query(
    columns.length === 0
      ? `insert into ${table} default values`
      : `insert into ${table} (${names.join(', ')}) values (${values.join(', ')})`,
  );
}

async function fillEmptyTables(): Promise<void> {
  // References are checked at the end, when every table has its row.
  await client.query('begin; set local session_replication_role = replica');
  for (const { name } of await tablesOf(client)) {
    const { rowCount } = await client.query(`select 1 from ${name} limit 1`);
    if (rowCount === 0) await insertRow(name);
  }
  await client.query(
    `insert into user_account (id, username, email, password_hash, roles)
     values ('${OTHER_ID}', 'b', 'b', 'hash', '{}') on conflict do nothing; commit`,
  );
}

test('each schema with data becomes the next, up to that of now, and keeps its rows', async () => {
  for (const [index, name] of migrationNames.entries()) {
    const done = await migrate(database.url, { only: migrationNames.slice(0, index + 1) });
    expect(done.migrations).toEqual([name]);
    // They are written for the schema of now.
    expect(done.functions.length > 0).toBe(index === migrationNames.length - 1);
    await fillEmptyTables();
  }
  expect(await pendingMigrations(database.url)).toEqual({ migrations: [], functions: [] });
  for (const { name } of await tablesOf(client))
    expect([name, (await client.query(`select from ${name} limit 1`)).rowCount]).toEqual([name, 1]);
});

/** The last migration from before the rule (CONTRIBUTING.md#change-the-schema); no release had it. */
const BEFORE_THE_RULE = '202611231822-team-events';

/** What breaks a copy of the release before, which still reads and writes the old schema. */
const CONTRACTS = [
  /\bdrop\s+(table|column|constraint|view)\b/i,
  /\brename\s+(to|column)\b/i,
  /\balter\s+column\s+\w+\s+(set\s+not\s+null|(set\s+data\s+)?type)\b/i,
  /\badd\s+(column\s+)?(if\s+not\s+exists\s+)?\w+\s+(?![^,;]*\bdefault\b)[^,;]*\bnot\s+null\b/i,
];

test('a migration expands the schema, unless it says that it contracts what the release before left', () => {
  const broken = migrations
    .filter(({ name }) => migrationNames.indexOf(name) > migrationNames.indexOf(BEFORE_THE_RULE))
    .filter(({ class: Migration }) => !('contracts' in Migration && Migration.contracts === true))
    .filter(({ class: Migration }) => {
      const sql = String(Migration.prototype.up).replaceAll(/create table[\s\S]*?\)`/gi, '');
      return CONTRACTS.some((pattern) => pattern.test(sql));
    })
    .map(({ name }) => name);
  expect(broken).toEqual([]);
});

test('copies from before a rename write and read the audit log by the old name', async () => {
  const write = async (name: string, value: string): Promise<unknown> => {
    const { rows } = await client.query(
      `insert into audit_entry (action, outcome, credential, ${name}) values ('a', 'done', 'none', $1)
       returning via, door`,
      [value],
    );
    return rows[0];
  };
  expect(await write('door', 'cli')).toEqual({ via: 'cli', door: 'cli' });
  expect(await write('via', 'api')).toEqual({ via: 'api', door: 'api' });
  const { rows } = await client.query('select from audit_entry where door is null');
  // What was sealed before stays as it is.
  const { rows: sealed } = await client.query('select from audit_entry e, audit_seal s where e.tx < s.to_tx');
  expect(rows.length).toBeLessThanOrEqual(sealed.length);
  await expect(client.query(`update audit_entry set door = 'x'`)).rejects.toThrow('append-only');
});
