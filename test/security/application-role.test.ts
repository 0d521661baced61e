/** The database role of api and worker, where it is not that of `migrate` (docs/audit.md). */
import { spawnSync, type SpawnSyncReturns } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import pg from 'pg';

import { grantApplication } from '../../db/grant-application.ts';
import { migrate } from '../../db/migrate.ts';
import { monthPartition } from '../../db/log-partitions.ts';
import { createOrm, type Orm } from '../../db/orm.ts';
import { removeExpired } from '../../domain/auth/cleanup.ts';
import { pruneAudit } from '../../domain/audit/prune.ts';
import { sealAudit } from '../../domain/audit/seal.ts';
import { verifyAudit } from '../../domain/audit/verify.ts';
import { SYSTEM_ORIGIN, writeAudit } from '../../domain/audit/write.ts';
import { recountFiles } from '../../domain/quotas/file-totals.ts';
import { dropEmptyPartitions, makeComingPartitions } from '../../domain/retention/log.ts';
import { foldRunChanges } from '../../domain/runs/hours.ts';
import { createApplicationRole, type ApplicationRole } from '../support/application-role.ts';
import { patience } from '../support/app.ts';
import { humanTask } from '../support/definitions.ts';
import {
  endOf,
  startRun,
  startTestPlatform,
  until,
  type RunRecord,
  type TestPlatform,
} from '../support/platform.ts';
import { testTemporal } from '../support/servers.ts';

let role: ApplicationRole;
let owner: pg.Client;
let application: pg.Client;
let orm: Orm;

beforeAll(async () => {
  role = await createApplicationRole();
  owner = new pg.Client({ connectionString: role.ownerUrl });
  application = new pg.Client({ connectionString: role.url });
  await owner.connect();
  await application.connect();
  orm = createOrm({ url: role.url, ...patience });
});
afterAll(async () => {
  await orm.close(true);
  await application.end();
  await owner.end();
  await role.drop();
});

const fork = () => orm.em.fork();
/** The code of PostgreSQL's refusal; null if there was none. */
async function refusalOf(sql: string): Promise<string | null> {
  return application.query(sql).then(
    () => null,
    (error: unknown) => (error instanceof pg.DatabaseError ? (error.code ?? 'none') : String(error)),
  );
}
const FORBIDDEN = '42501';
const forged = (column: string, value: string): string =>
  `insert into audit_entry (action, outcome, credential, via, ${column})
   values ('x', 'done', 'none', 'api', ${value})`;

test('it owns nothing, and is no member of the owner', async () => {
  const { rows } = await owner.query(
    `select relname from pg_class where relowner = $1::regrole
     union all select proname from pg_proc where proowner = $1::regrole`,
    [role.name],
  );
  expect(rows).toEqual([]);
  const { rows: owners } = await owner.query<{ name: string }>('select current_user as name');
  await expect(grantApplication(role.ownerUrl, owners[0]!.name)).rejects.toThrow('the owner of the tables');
});

test('`migrate` gives the rights to the role that is named, and to no owner', async () => {
  const grantTo = (name: string): SpawnSyncReturns<string> =>
    spawnSync(process.execPath, ['db/migrate.ts', '--grant-to', name], {
      encoding: 'utf8',
      env: { ...process.env, DATABASE_URL: role.ownerUrl },
    });
  await owner.query(`revoke all on agent from ${role.name}`);
  expect(await refusalOf('select from agent')).toBe(FORBIDDEN);
  expect(grantTo(role.name)).toMatchObject({
    status: 0,
    stdout: `the schema is up to date\ngranted to: ${role.name}\n`,
  });
  expect(await refusalOf('select from agent')).toBeNull();
  const unknown = grantTo('nobody_at_all');
  expect([unknown.status, unknown.stderr]).toEqual([1, expect.stringContaining('nobody_at_all')]);
});

test('an upgrade gives it the rights on what it changes', async () => {
  await owner.query(`revoke all on agent from ${role.name}`);
  // As if this release had brought the function.
  await owner.query(`delete from schema_function where name = 'audit_refuse'`);
  expect((await migrate(role.ownerUrl)).functions).toEqual(['audit_refuse']);
  expect(await refusalOf('select from agent')).toBeNull();
  expect(await refusalOf('delete from audit_entry')).toBe(FORBIDDEN);
});

test('it adds entries and seals, but cannot change, remove or truncate any, whatever it sets', async () => {
  await writeAudit(fork(), SYSTEM_ORIGIN, { action: 'added' });
  // A transaction of another test, in any database of the server, holds back what comes after it.
  await until(
    () => sealAudit(fork),
    (head) => head !== null,
  );
  await application.query(`set cadenza.prunes_audit = 'on'`);
  const statements = ['audit_entry', 'audit_seal', 'audit_removal'].flatMap((table) => [
    `update ${table} set ${table === 'audit_entry' ? 'action' : 'no'} = default`,
    `delete from ${table}`,
    `truncate ${table}`,
    `alter table ${table} disable trigger all`,
    `drop table ${table}`,
    `create trigger mine before insert on ${table} for each row execute function audit_refuse()`,
  ]);
  const others = [
    'delete from hitl_audit',
    'truncate hitl_audit',
    `update hitl_audit set action = 'x'`,
    'insert into audit_removal (last_seal, days) values (1, 30)',
    forged('at', 'now()'),
    forged('tx', `'1'`),
    `create or replace function audit_refuse() returns trigger language plpgsql
     as $$ begin return old; end $$`,
    'set session_replication_role = replica',
    `delete from schema_function`,
  ];
  for (const statement of [...statements, ...others])
    expect([statement, await refusalOf(statement)]).toEqual([statement, FORBIDDEN]);
  expect(await verifyAudit(fork(), { after: 0n, expected: [] })).toMatchObject({ ok: true, entries: 1 });
});

test('tables of its session do not make the function that removes old entries believe them', async () => {
  const before = await owner.query('select from audit_entry');
  await application.query(`
    create temp table audit_seal as select * from public.audit_seal;
    create temp table audit_removal as select * from public.audit_removal;
    update pg_temp.audit_seal set newest_at = now() - interval '90 days'`);
  const { rows } = await application.query('select * from public.prune_audit(30, 0, 100)');
  expect(rows).toEqual([]);
  expect((await owner.query('select from audit_entry')).rowCount).toBe(before.rowCount);
  await application.query('drop table pg_temp.audit_seal, pg_temp.audit_removal');
});

test('it removes old entries by the function alone, of the age that the note names', async () => {
  const database = await createApplicationRole();
  const own = createOrm({ url: database.url, ...patience });
  const ownFork = () => own.em.fork();
  const client = new pg.Client({ connectionString: database.ownerUrl });
  await client.connect();
  const add = (days: number) =>
    client.query(
      `insert into audit_entry (at, action, outcome, credential, via)
       values (now() - make_interval(days => $1), 'old', 'done', 'none', 'system')`,
      [days],
    );
  await add(50);
  await sealAudit(ownFork);
  await add(10);
  await sealAudit(ownFork);
  // Fewer days count as 30.
  expect(await pruneAudit(ownFork, 1)).toMatchObject({ entries: 1, seal: '1', days: 30 });
  expect(await verifyAudit(ownFork(), { after: 0n, expected: [] })).toMatchObject({ ok: true, removed: 1 });
  await client.end();
  await own.close(true);
  await database.drop();
});

describe('the platform', () => {
  let platform: TestPlatform;
  let database: ApplicationRole;

  beforeAll(async () => {
    database = await createApplicationRole();
    const servers = { database, temporal: await testTemporal() };
    platform = await startTestPlatform({ servers });
  });
  afterAll(() => platform.close());

  test('runs, asks people, takes their decisions, and cleans up', async () => {
    const { username } = await platform.user('approver');
    const person = await platform.as('approver');
    const run = await startRun(await platform.as('builder'), {
      do: [{ review: humanTask('Approve it', { candidates: { users: [username] } }) }],
    });
    const [task] = await until(
      async () => (await person.get(`/hitl/tasks?run_id=${run['id']}`)).body as RunRecord[],
      (tasks) => tasks.length > 0,
    );
    const decided = await person.post(`/hitl/tasks/${task!['id']}/decision`, { decision: 'approve' });
    expect(decided.status).toBe(200);
    expect(await endOf(await platform.as('builder'), run)).toMatchObject({ status: 'completed' });
    await platform.reconcile();
    const em = () => platform.orm.em.fork();
    await removeExpired(em());
    await foldRunChanges(em());
    await makeComingPartitions(em());
    await dropEmptyPartitions(em(), 30);
    expect(await recountFiles(em)).toEqual([]);
    const { name, from, to } = monthPartition(Date.UTC(2099, 0, 1));
    const [made] = await em().execute<object[]>('select make_log_partition(?, ?, ?, 10) as made', [
      name,
      from,
      to,
    ]);
    expect(made).toEqual({ made: true });
    const [gone] = await em().execute<object[]>('select drop_log_partition(?) as dropped', [name]);
    expect(gone).toEqual({ dropped: true });
  });
});
