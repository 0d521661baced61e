/**
 * A database that ran the migrations of before the initial schema is brought over to it as it is; one that
 * ran only some of them is refused.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import pg from 'pg';

import { readFunctionFiles } from '../../../db/function-files.ts';
import { migrate } from '../../../db/migrate.ts';
import { migrationNames } from '../../../db/migrations/index.ts';
import { dumpSchema } from '../../../dev/dump-schema.ts';
import { createTestDatabase, type TestDatabase } from '../../support/servers.ts';

const id = (number: number): string => `00000000-0000-7000-8000-${String(number).padStart(12, '0')}`;
const [ANN, BOB, CY] = [id(1), id(2), id(3)];
const AGENT = id(10);
const WORKFLOW = id(20);
const [FIRST, CHILD, RETRY, CHILD_OF_RETRY, LONE, MOVED, RETRY_OF_CHILD] = [
  id(31),
  id(32),
  id(33),
  id(34),
  id(35),
  id(36),
  id(37),
];
const TASK = id(40);

let database: TestDatabase;
let client: pg.Client;

beforeEach(async () => {
  database = await createTestDatabase({ empty: true });
  client = new pg.Client({ connectionString: database.url });
  await client.connect();
  await client.query('set check_function_bodies = off');
  await client.query(readFileSync(join(import.meta.dirname, 'former-schema.sql'), 'utf8'));
  await insertRows();
});
afterEach(async () => {
  await client.end();
  await database.drop();
});

async function insertRows(): Promise<void> {
  const waiting = JSON.stringify([{ kind: 'human', id: TASK }, { kind: 'time' }]);
  await client.query(`
insert into user_account (id, username, email, password_hash, roles)
select u.id::uuid, u.name, u.name || '@example.org', 'hash', '{builder}'
from (values ('${ANN}', 'ann'), ('${BOB}', 'bob'), ('${CY}', 'cy')) u (id, name);
insert into auth_client (id, user_id, name, secret_hash) values ('${id(4)}', '${ANN}', 'machine', 'hash');
insert into auth_session (id, user_id, expires_at) values ('${id(5)}', '${ANN}', now());
insert into refresh_token (id, session_id, token_hash, expires_at)
values ('${id(6)}', '${id(5)}', '\\x00', now());
insert into login_attempt (id, account, address) values ('${id(7)}', 'ann', '127.0.0.1');
insert into signing_key (kid, public_jwk, private_key_encrypted) values ('k', '{}', 'sealed');
insert into idempotency_record (user_id, method, path, key, fingerprint, status, headers, expires_at)
values ('${ANN}', 'POST', '/runs', 'k', 'f', 201, '{}', now());
insert into secret (owner_id, name, value_encrypted) values ('${ANN}', 'S', 'sealed');

insert into agent (id, name, type, version, owner_id, visibility)
values ('${AGENT}', 'a', 'api', '2.0.0-rc.1', '${ANN}', 'public');
insert into agent_version (id, agent_id, version, configuration, input_schema, output_schema, status,
created_by)
select gen_random_uuid(), '${AGENT}', v.version, '{}', '{}', '{}', v.status, '${ANN}'
  from (values ('1.0.0', 'published'), ('1.10.0', 'published'), ('1.9.0', 'published'), ('1.10.0-rc.1',
  'deprecated'),
               ('2.0.0-rc.1+build.5', 'draft'), ('2.0.0-rc.1', 'draft'),
               ('99999999999999999999.0.0', 'draft')) v (version, status);
insert into agent_skill (id, agent_id, name) values ('${id(11)}', '${AGENT}', 'skill');
insert into workflow (id, owner_id, name, revision, valid, runnable)
values ('${WORKFLOW}', '${ANN}', 'w', 1, true, true);
insert into workflow_revision (workflow_id, revision, definition, digest, valid, runnable, problems, agents,
created_by)
values ('${WORKFLOW}', 1, '{}', 'd', true, true, '[]', '[]', '${ANN}');

insert into run (id, workflow_id, workflow_revision, workflow_name, definition, status, owner_id,
parent_run_id, root_run_id, retry_of, waiting_on, finished_at)
select r.id::uuid, '${WORKFLOW}', 1, 'w', '{}', r.status, r.owner::uuid, r.parent::uuid, coalesce(r.root,
r.id)::uuid, r.retry::uuid, r.waiting::jsonb,
       case when r.status in ('faulted', 'completed') then now() end
  from (values ('${FIRST}', 'faulted', '${ANN}', null, null, null, '[]'),
               ('${CHILD}', 'faulted', '${ANN}', '${FIRST}', '${FIRST}', null, '[]'),
               ('${RETRY}', 'waiting', '${BOB}', null, null, '${FIRST}', '${waiting}'),
               ('${CHILD_OF_RETRY}', 'running', '${BOB}', '${RETRY}', '${RETRY}', null, '[]'),
               ('${LONE}', 'pending', '${CY}', null, null, null, '[]'),
               ('${MOVED}', 'suspended', '${CY}', null, null, null, '[]'),
               ('${RETRY_OF_CHILD}', 'completed', '${CY}', null, null, '${CHILD}', '[]'))
    r (id, status, owner, parent, root, retry, waiting);
insert into run_event (run_id, seq, key, type, at, level, message, data)
select id, 1, 'run:created', 'io.cadenza.workflow.created.v1', now(), 'info', 'created',
       json_build_object('owner_id', case id when '${MOVED}' then '${ANN}' else owner_id end)
  from run where id <> '${LONE}';
update run set last_seq = 1;
insert into run_pin (run_id, reference, agent_id, version, snapshot)
values ('${RETRY}', 'a', '${AGENT}', '1.0.0', '{}');
insert into run_task (run_id, reference, visit, seq, name, type, status, started_at)
values ('${RETRY}', '/do/0/a', 1, 1, 'a', 'agent', 'running', now());
insert into run_signal (id, run_id, kind, payload) values ('${id(50)}', '${RETRY}', 'cancel', '{}');
insert into run_checkpoint (run_id, state) values ('${FIRST}', '{}');
insert into invocation (run_id, key) values ('${RETRY}', 'k');
insert into temporal_payload (digest, data) values ('d', '\\x00');
insert into temporal_payload (digest, file_id) values ('e', '${id(51)}');
insert into usage_record (id, run_id, user_id, usage) values ('${id(52)}', '${RETRY}', '${BOB}', '{}');

insert into hitl_task (id, run_id, workflow_name, owner_id, initiator_id, task, task_name, title, decisions,
priority, candidates, candidate_keys)
values ('${TASK}', '${RETRY}', 'w', '${BOB}', '${BOB}', '/do/0/h', 'h', 'Approve', '[]', 50, '{}',
  '{role:approver}');
insert into hitl_vote (id, task_id, decision, voted_by, voted_at, via, as_admin)
values ('${id(41)}', '${TASK}', 'approve', '${CY}', now(), 'api', false);
insert into hitl_decision (id, task_id, decision, decided_by, decided_at, via, as_admin)
values ('${id(44)}', '${TASK}', 'approve', '${CY}', now(), 'api', false);
insert into hitl_comment (id, task_id, comment, created_by, created_at)
values ('${id(42)}', '${TASK}', 'c', '${CY}', now());
insert into hitl_audit (id, task_id, run_id, action, via)
values ('${id(43)}', '${TASK}', '${RETRY}', 'created', 'system');

insert into marketplace_item (id, kind, ref_id, publisher_id, status, version, digest, name, categories,
tags, requires, created_at, updated_at)
values ('${id(60)}', 'agent', '${AGENT}', '${ANN}', 'approved', '1.0.0', 'd', 'a', '{}', '{}', '[]',
  now(), now());
insert into marketplace_version (id, item_id, version, digest, content, requires, name, categories, tags,
status, submitted_at)
values ('${id(61)}', '${id(60)}', '1.0.0', 'd', '{}', '[]', 'a', '{}', '{}', 'approved', now());
insert into marketplace_install (id, item_id, version, digest, user_id, ref_id, installed_at)
values ('${id(62)}', '${id(60)}', '1.0.0', 'd', '${BOB}', '${AGENT}', now());
insert into marketplace_review (id, item_id, user_id, version, rating, created_at, updated_at)
values ('${id(63)}', '${id(60)}', '${BOB}', '1.0.0', 5, now(), now());
insert into file (id, owner_id, name, media_type, size, sha256)
values ('${id(70)}', '${ANN}', 'f', 'text/plain', 1, 's');
insert into file_fetch (run_id, position, file_id, url, accepts)
values ('${RETRY}', 0, '${id(71)}', 'https://example.org', '{}');
insert into run_file (run_id, file_id) values ('${RETRY}', '${id(70)}');
insert into delivery_target (id, kind, owner_id, url)
values ('${id(80)}', 'webhook', '${ANN}', 'https://example.org'), ('${id(81)}', 'a2a', '${ANN}',
'https://example.org');
insert into webhook (id, secret_encrypted) values ('${id(80)}', 'sealed');
insert into delivery (id, target_id, ord, message_id, type, run_id, seq, content_type, body, expires_at)
values ('${id(82)}', '${id(80)}', 1, 'm', 't', '${RETRY}', 1, 'application/json', '{}', now());
insert into inbound_event (id, owner_id, source, event_id, type, event)
values ('${id(83)}', '${ANN}', 's', 'e', 't', '{}');
insert into a2a_task (id, agent_id, owner_id, context_id) values ('${RETRY}', '${AGENT}', '${BOB}', 'c');
insert into a2a_message (id, task_id, agent_id, owner_id, seq, message)
values ('${id(90)}', '${RETRY}', '${AGENT}', '${BOB}', 1, '{}');
insert into a2a_push_config (task_id, id, url, wire_version, target_id)
values ('${RETRY}', 'p', 'https://example.org', '1.0', '${id(81)}');
insert into run_stuck (run_id, attempts) values ('${RETRY}', 3);
insert into address_request_count (address, minute, requests) values ('127.0.0.1', now(), 1);
insert into request_count (user_id, minute, requests) values ('${ANN}', now(), 1);
insert into installation (file_store_id) values ('${id(91)}');
insert into encryption_key (id) values ('k');`);
}

async function rowsOf<T extends pg.QueryResultRow>(sql: string, values: unknown[] = []): Promise<T[]> {
  return (await client.query<T>(sql, values)).rows;
}

/** Every row of every table, as text. */
async function readAllRows(): Promise<Record<string, unknown>> {
  const tables = await rowsOf<{ name: string }>(
    `select relname as name from pg_class
      where relkind in ('r', 'p') and not relispartition and relnamespace = 'public'::regnamespace
        and relname not like 'schema_%'
      order by 1`,
  );
  const rows: Record<string, unknown> = {};
  for (const { name } of tables) {
    rows[name] = await rowsOf(`select to_jsonb(t) as row from ${name} t order by t::text`);
  }
  return rows;
}

test('this test inserts a row into every table', async () => {
  const empty = Object.entries(await readAllRows()).filter(([, rows]) => JSON.stringify(rows) === '[]');
  expect(empty).toEqual([]);
});

test('a database at the last former migration gets the new schema and keeps every row', async () => {
  const before = await readAllRows();
  const functions = readFunctionFiles().map(({ name }) => name);
  expect(await migrate(database.url)).toEqual({ migrations: migrationNames, functions });
  expect(await migrate(database.url)).toEqual({ migrations: [], functions: [] });
  expect(await readAllRows()).toMatchObject(before);
  const schema = readFileSync(join(import.meta.dirname, '../../../db/schema.sql'), 'utf8');
  expect(await dumpSchema(client)).toBe(schema);
});

test('the names of former migrations stay, so `migrate` of the former build does nothing', async () => {
  const before = await rowsOf<{ name: string }>('select name from schema_migration order by id');
  expect(before).toHaveLength(38);
  await migrate(database.url);
  expect(await rowsOf('select name from schema_migration order by id')).toEqual([
    ...before,
    ...migrationNames.map((name) => ({ name })),
  ]);
});

test('unknown names of migrations do not prevent the migration', async () => {
  await client.query(`insert into schema_migration (name) values ('202612010000-of-a-branch')`);
  expect((await migrate(database.url)).migrations).toEqual(migrationNames);
});

test.each(['202611220451-encryption-keys', '0007-files'])(
  'a database without %s is refused with the way out, and not changed',
  async (missing) => {
    await client.query('delete from schema_migration where name = $1', [missing]);
    const before = await readAllRows();
    await expect(migrate(database.url)).rejects.toThrow(`it lacks ${missing}. Nothing was changed.`);
    const program = spawnSync(process.execPath, [join(import.meta.dirname, '../../../db/migrate.ts')], {
      env: { ...process.env, DATABASE_URL: database.url },
      encoding: 'utf8',
    });
    expect(program.status).toBe(1);
    expect(program.stderr).toMatch(
      new RegExp(
        String.raw`^Cannot migrate the database "test_\w+" on \S+: its schema is too old for this version: ` +
          String.raw`.* then "migrate" of this version\.\n$`,
      ),
    );
    expect(await readAllRows()).toEqual(before);
    expect(await rowsOf(`select 1 from pg_class where relname = 'schema_function'`)).toEqual([]);
    expect(await rowsOf('select name from schema_migration')).toHaveLength(37);
  },
);

test('an older run goes on: it takes events, and ends', async () => {
  await migrate(database.url);
  const events = JSON.stringify([
    { key: 'e', type: 't', at: new Date().toISOString(), level: 'info', task: null, message: 'm', data: {} },
  ]);
  const [appended] = await rowsOf<{ result: { closed: boolean } }>(
    `select append_run_events($1, $2, null, '{}') as result`,
    [RETRY, events],
  );
  expect(appended?.result.closed).toBe(false);
  await client.query(
    `select end_run($1, '[]', '{}', 'completed', 'cancelled', 'TASK_STATE_COMPLETED', '{}', null, null)`,
    [RETRY],
  );
  expect(await rowsOf('select status, waiting_count from run where id = $1', [RETRY])).toEqual([
    { status: 'completed', waiting_count: 0 },
  ]);
});
