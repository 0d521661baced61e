/** Backups of an installation on servers of its own, and what everybody sees while one is taken. */
import { randomBytes, randomUUID } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import pg from 'pg';

import { createLocalFileStore } from '../../../adapters/file-stores/local-file-store.ts';
import type { EncryptionKey } from '../../../config/env-types.ts';
import { isMigrated, readMigrationState } from '../../../db/migration-state.ts';
import { createOrm, type Orm } from '../../../db/orm.ts';
import { backUpOpened } from '../../../dev/server/backup.ts';
import { tablesOf } from '../../../dev/server/database-dump.ts';
import type { Installation } from '../../../dev/server/installation.ts';
import { readManifest, type Manifest } from '../../../dev/server/manifest.ts';
import { accountToReset, resetOpened } from '../../../dev/server/reset-admin.ts';
import { OWN_NAME } from '../../../dev/server/own-name.ts';
import { restoreInto } from '../../../dev/server/restore.ts';
import { readDumps } from '../../../dev/server/verify-backup.ts';
import { sealAudit } from '../../../domain/audit/seal.ts';
import { verifyAudit } from '../../../domain/audit/verify.ts';
import { claimFileStore } from '../../../domain/files/store-identity.ts';
import { claimKeys, wrongKeys } from '../../../domain/secrets/key-check.ts';
import { pauseWrites, resumeWrites, whilePaused } from '../../../domain/operations/write-pause.ts';
import { migrationNames } from '../../../db/migrations/index.ts';
import { diagnoseOpened } from '../../../dev/server/doctor.ts';
import { startTestApp, testKeys, type Client, type TestApp } from '../../support/app.ts';
import { humanTask } from '../../support/definitions.ts';
import { until } from '../../support/platform.ts';
import { createTestDatabase, type TestDatabase } from '../../support/servers.ts';

let app: TestApp;
let builder: Client;
let admin: Client;
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'cadenza-backup-'));
  app = await startTestApp();
  [builder, admin] = await Promise.all([app.as('builder'), app.as('admin')]);
});
afterAll(async () => {
  await app.close();
  rmSync(folder, { recursive: true, force: true });
});

const installationOf = (orm: Orm, url: string, files: string): Installation => ({
  env: { ...app.env, DATABASE_URL: url },
  orm,
  fork: () => orm.em.fork(),
  files: createLocalFileStore(files),
  dataDir: null,
  close: async () => {},
});
/** With the id of the right one. */
const otherKey = (): EncryptionKey => ({ id: 'test', key: randomBytes(32) });
/** Processes see the end of a pause a moment later. */
const writable = (): Promise<unknown> =>
  until(
    () => builder.post('/workflows', {}),
    ({ status }) => status !== 503,
  );

const here = (): Installation => installationOf(app.orm, app.databaseUrl, app.env.FILES_DIR);

describe('while writes are paused', () => {
  const create = (name: string) => builder.post('/secrets', { name, value: 'x' });

  test('changes are refused with Retry-After, and reading goes on', async () => {
    const during = await whilePaused(
      () => app.orm.em.fork(),
      'a backup is being taken',
      async () => ({
        changed: await create('A'),
        kept: await builder.post(`/jobs/${randomUUID()}/heartbeat`, {}),
        refused: await Promise.all([
          app.anonymous.post('/auth/token', { username: 'a', password: 'b' }),
          app.anonymous.post(`/hooks/${randomUUID()}`, {}),
          builder.post('/events', {}),
        ]),
        read: await builder.get('/agents'),
        second: await whilePaused(
          () => app.orm.em.fork(),
          'another',
          async () => 'taken',
        ).catch(String),
      }),
    );
    expect(during.changed).toMatchObject({ status: 503, body: { code: 'writes_paused' } });
    // Log-ins wait, and senders keep what they could not deliver.
    for (const { status, headers } of [during.changed, ...during.refused]) {
      expect(status).toBe(503);
      expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
      expect(Number(headers.get('retry-after'))).toBeLessThanOrEqual(10);
    }
    expect(during.changed.body.detail).toContain('a backup is being taken');
    expect(during.read.status).toBe(200);
    // Else work that takes longer than its lease would be lost to its worker.
    expect(during.kept.status).not.toBe(503);
    expect(during.second).toContain('Writes are already paused (a backup is being taken)');
  });

  test('those of an operator last until the operator ends them, and people can log in', async () => {
    const em = () => app.orm.em.fork();
    await writable();
    await pauseWrites(em(), 'we move');
    try {
      const refused = await until(
        () => create('B'),
        ({ status }) => status === 503,
      );
      expect(refused.body).toMatchObject({
        code: 'writes_paused',
        detail: 'Changes are not possible until an operator ends the pause (we move). Reading goes on.',
      });
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
      // Nobody is kept from the door: the answer is about the password.
      const door = await app.anonymous.post('/auth/token', { username: 'nobody', password: 'wrong' });
      expect(door.status).toBe(401);
      expect((await builder.get('/agents')).status).toBe(200);
      const command = await whilePaused(em, 'a backup', async () => 'taken').catch(String);
      expect(command).toContain('Writes are already paused (we move). cadenza server resume ends that.');
      await pauseWrites(em(), 'we still move');
      expect(await resumeWrites(em())).toBe('we still move');
      expect(await resumeWrites(em())).toBeNull();
    } finally {
      await resumeWrites(em());
    }
    await writable();
  });

  test('a command that pauses them cannot be ended by an operator', async () => {
    const em = () => app.orm.em.fork();
    const refusals = await whilePaused(em, 'a backup', () =>
      Promise.all([resumeWrites(em()).catch(String), pauseWrites(em(), 'me').catch(String)]),
    );
    for (const refusal of refusals) expect(refusal).toContain('Writes are already paused (a backup).');
    await writable();
  });

  test('a pause whose holder died ends with its lease, and nobody waits for it longer', async () => {
    await app.orm.em.fork().execute(
      `insert into write_pause (holder, reason, until)
       values (gen_random_uuid(), 'a dead one', clock_timestamp() - interval '1 second')`,
    );
    expect(
      await whilePaused(
        () => app.orm.em.fork(),
        'the next',
        async () => 'taken',
      ),
    ).toBe('taken');
    await writable();
  });
});

describe('a backup', () => {
  let other: TestDatabase;
  let otherOrm: Orm;
  let target: Installation;
  const said: string[] = [];
  const backup = (): string => join(folder, 'backup');

  beforeAll(async () => {
    await fill();
    other = await createTestDatabase({ empty: true });
    otherOrm = createOrm({ url: other.url, applicationName: OWN_NAME });
    target = installationOf(otherOrm, other.url, join(folder, 'other-files'));
    await backUpOpened(here(), { folder: backup(), withoutFiles: false }, (line) => said.push(line));
  });
  afterAll(async () => {
    await otherOrm.close(true);
    await other.drop();
  });

  /** Something in the tables that need care: generated columns, JSON, files, events, the audit log. */
  async function fill(): Promise<void> {
    const definition = { do: [{ ask: humanTask('May I?') }] };
    const { body: workflow } = await builder.post('/workflows', { name: 'asks', definition });
    const run = await builder.post(`/workflows/${workflow.id}/run`, {
      input_params: { text: 'Größe "12"\t\n\u2028\\N' },
    });
    expect(run.status).toBe(201);
    await builder.post('/secrets', { name: 'TOKEN', value: 'kept' });
    const form = new FormData();
    form.set('file', new Blob(['content of a file']), 'note.txt');
    const { token } = await app.user('builder');
    const sent = await fetch(`${app.url}/files`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}` },
      body: form,
    });
    expect(sent.status).toBe(201);
    await claimFileStore(app.orm.em.fork(), createLocalFileStore(app.env.FILES_DIR));
    await claimKeys(app.orm.em.fork(), app.env.ENCRYPTION_KEYS);
    await sealAudit(() => app.orm.em.fork());
    // The run is under way, and has received and not applied a signal.
    await app.orm.em.fork().execute(
      `update run set status = 'running';
       insert into run_signal (id, run_id, kind, payload, received_at, delivered_at, attempts, next_at)
       select gen_random_uuid(), id, 'suspend', '{}', now(), now(), 3, 'infinity' from run`,
    );
    // Deliveries have read half of what one of several transactions at once has written.
    await app.orm.em.fork().execute(`update delivery_cursor set tx = '3', gpos = 1000000000`);
  }

  test('says that it has no keys, and which are needed', async () => {
    expect(said.join('\n')).toContain('This backup has no encryption keys. Without "test"');
    expect(said.join('\n')).toContain('This backup has no data of Temporal');
    const manifest = await readManifest(backup());
    expect(manifest.keys).toEqual({
      needed: ['test'],
      included: false,
      check_values: { test: expect.stringMatching(/^[\w-]{43}$/) },
    });
    expect(JSON.stringify(manifest)).not.toContain(testKeys.split(':')[1]);
    expect(statSync(join(backup(), 'database', 'secret.copy.gz')).mode & 0o077).toBe(0);
  });

  test('takes no file store away from another database', async () => {
    const files = createLocalFileStore(join(folder, 'of-another-database'));
    await files.writeMark(randomUUID());
    await expect(
      restoreInto({ ...target, files }, { folder: backup() }, await readManifest(backup()), () => {}),
    ).rejects.toThrow('belongs to another database. Choose a separate one');
  });

  test('restores every row, and what follows from it', async () => {
    const manifest = await readManifest(backup());
    await readDumps(backup(), manifest);
    const done = await restoreInto(target, { folder: backup() }, manifest, () => {});
    expect(done).toMatchObject({ temporal: 'none', files: 1, migrations: [] });
    expect(await rowsOf(other.url)).toEqual(await rowsOf(app.databaseUrl));
    const [signal] = await target
      .fork()
      .execute(
        `select received_at, delivered_at, attempts, next_at <= clock_timestamp() as due from run_signal`,
      );
    expect(signal).toEqual({ received_at: null, delivered_at: null, attempts: 0, due: true });
    const [entry] = await target
      .fork()
      .execute(`select via, data ->> 'taken_at' as at from audit_entry where action = 'restore_backup'`);
    expect(entry).toEqual({ via: 'system', at: manifest.created_at });
  });

  test('continues on the other server: chain of the audit log, deliveries, identities of rows', async () => {
    await sealAudit(target.fork);
    expect(await verifyAudit(target.fork(), { after: 0n, expected: [] })).toMatchObject({ ok: true });
    const [state] = await target.fork().execute(
      `select (select bool_and(tx < pg_current_xact_id()) from run_event) as "eventsAreOlder",
              (select c.tx < pg_current_xact_id() from delivery_cursor c) as "cursorIsOlder",
              (select bool_and((e.tx, e.gpos) > (c.tx, c.gpos)) from run_event e, delivery_cursor c)
                as "noneIsSkipped",
              nextval(pg_get_serial_sequence('audit_entry', 'id'))
                > (select max(id) from audit_entry) as "idsGoOn"`,
    );
    expect(state).toEqual({ eventsAreOlder: true, cursorIsOlder: true, noneIsSkipped: true, idsGoOn: true });
    const copy = await startTestApp({
      databaseUrl: other.url,
      // Tokens name the address.
      env: { FILES_DIR: join(folder, 'other-files'), BASE_URL: app.url },
    });
    try {
      expect((await copy.anonymous.get('/readyz')).body.checks).toMatchObject({
        database: 'ok',
        keys: 'ok',
        files: 'ok',
      });
      const { token } = await app.user('builder');
      const get = (path: string) =>
        fetch(`${copy.url}${path}`, { headers: { authorization: `Bearer ${token}` } });
      const items = (await (await get('/files')).json()) as { id: string }[];
      expect(await (await get(`/files/${items[0]?.id ?? ''}`)).text()).toBe('content of a file');
    } finally {
      await copy.close();
    }
  });

  test('replaces data only if asked to, and not under running processes', async () => {
    const manifest = await readManifest(backup());
    const restoreAgain = (replace: boolean) =>
      restoreInto(target, { folder: backup(), replace }, manifest, () => {}).then(
        () => 'restored',
        (error: unknown) => (error instanceof Error ? error.message : ''),
      );
    const busy = new pg.Client({ connectionString: other.url, application_name: 'cadenza-events' });
    await busy.connect();
    expect(await restoreAgain(true)).toContain('is in use by processes of Cadenza');
    await busy.end();
    expect(await restoreAgain(false)).toContain('has data already');
    const owner = new pg.Client({ connectionString: other.url });
    await owner.connect();
    const role = `app_${randomUUID().replaceAll('-', '')}`;
    await owner.query(`create role ${role}`);
    await owner.query('select grant_application($1)', [role]);
    expect(await restoreAgain(true)).toBe('restored');
    const { rows } = await owner.query(
      `select has_table_privilege($1, 'agent', 'update') as works,
              has_table_privilege($1, 'audit_entry', 'delete') as forges`,
      [role],
    );
    expect(rows).toEqual([{ works: true, forges: false }]);
    await owner.query(`drop owned by ${role}; drop role ${role}`);
    await owner.end();
  });

  test('that was killed on the way is repeated without --replace, and nobody starts with half', async () => {
    const manifest = await readManifest(backup());
    // As another database: what it has is for nobody to lose, because only migrate has run.
    const migrated = await createTestDatabase();
    const orm = createOrm({ url: migrated.url, applicationName: OWN_NAME });
    const files = createLocalFileStore(join(folder, 'files-of-a-killed-restore'));
    const whole = { ...installationOf(orm, migrated.url, ''), files };
    const killed = {
      ...whole,
      files: { ...files, receive: () => Promise.reject(new Error('killed')) } satisfies typeof files,
    };
    const state = async () => isMigrated(await readMigrationState((sql) => orm.em.fork().execute(sql)));
    try {
      await expect(restoreInto(killed, { folder: backup() }, manifest, () => {})).rejects.toThrow('killed');
      expect(await state()).toBe(false);
      expect(await files.readMark()).toBeNull();
      expect(await restoreInto(whole, { folder: backup() }, manifest, () => {})).toMatchObject({ files: 1 });
      expect(await state()).toBe(true);
      expect(await rowsOf(migrated.url)).toEqual(await rowsOf(app.databaseUrl));
      await expect(restoreInto(whole, { folder: backup() }, manifest, () => {})).rejects.toThrow(
        'has data already',
      );
    } finally {
      await orm.close(true);
      await migrated.drop();
    }
  });

  test('is refused if a file is damaged or missing, or its keys are away', async () => {
    const manifest = await readManifest(backup());
    const path = join(backup(), 'database', 'run.copy.gz');
    const good = readFileSync(path);
    writeFileSync(path, good.subarray(0, -1));
    await expect(readDumps(backup(), manifest)).rejects.toThrow('run.copy.gz is damaged');
    writeFileSync(path, good);
    const keyless = { ...target, env: { ...target.env, ENCRYPTION_KEYS: [] } };
    await expect(restoreInto(keyless, { folder: backup() }, manifest, () => {})).rejects.toThrow(
      'ENCRYPTION_KEYS lacks "test", and the backup has no keys',
    );
    await expect(readManifest(folder)).rejects.toThrow('is no complete backup');
    const missing = join(folder, 'missing');
    await expect(readManifest(missing)).rejects.toThrow(`There is no folder ${missing}.`);
  });

  test('is refused with another key of the same id, before anything is changed', async () => {
    const wrong = { ...target, env: { ...target.env, ENCRYPTION_KEYS: [otherKey()] } };
    await expect(
      restoreInto(wrong, { folder: backup(), replace: true }, await readManifest(backup()), () => {}),
    ).rejects.toThrow('ENCRYPTION_KEYS has another key under "test" than the backup');
    expect(await rowsOf(other.url)).toEqual(await rowsOf(app.databaseUrl));
  });

  test.each([
    ['with keys, over a folder that has another key of the same id', true, otherKey()],
    ['without keys, with those of the settings, into a folder that has none', false, null],
  ])('%s leaves the keys where npm start finds them', async (name, withKeys, inFolder) => {
    const place = join(folder, name);
    // As openInstallation reads them: of the folder's file, or else of the settings.
    const ENCRYPTION_KEYS = inFolder ? [inFolder] : app.env.ENCRYPTION_KEYS;
    const dataDir = mkdtempSync(join(folder, 'data-'));
    const file = join(dataDir, 'encryption-keys');
    if (inFolder) writeFileSync(file, `${inFolder.id}:${inFolder.key.toString('base64')}\n`);
    const manifest = await backedUp(place, withKeys);
    const lines: string[] = [];
    const into = { ...target, dataDir, env: { ...target.env, ENCRYPTION_KEYS } };
    await restoreInto(into, { folder: place, replace: true }, manifest, (line) => lines.push(line));
    expect(readFileSync(file, 'utf8').trim()).toBe(testKeys);
    expect(statSync(file).mode & 0o077).toBe(0);
    expect(lines.join('\n')).toContain(`The encryption keys are in ${file}.`);
    expect(existsSync(`${file}.replaced`)).toBe(inFolder !== null);
    expect(await wrongKeys(target.fork(), app.env.ENCRYPTION_KEYS)).toEqual([]);
    expect(await wrongKeys(target.fork(), [otherKey()])).toEqual(['test']);
  });

  async function backedUp(place: string, withKeys: boolean): Promise<Manifest> {
    await backUpOpened(here(), { folder: place, withoutFiles: true }, () => {});
    const manifest = await readManifest(place);
    if (!withKeys) return manifest;
    // --with-keys copies the process's own setting, which a test does not have.
    writeFileSync(join(place, 'encryption-keys'), `${testKeys}\n`);
    return { ...manifest, keys: { ...manifest.keys, included: true } };
  }

  test('of a Temporal on PostgreSQL is put back into the tables that its own tools have made', async () => {
    const [from, to] = await Promise.all([
      createTestDatabase({ empty: true }),
      createTestDatabase({ empty: true }),
    ]);
    const tables = `
      create table executions (shard_id int, run_id bytea, data bytea not null,
                               next bigint generated by default
                               as identity, primary key (shard_id, run_id));
      create table executions_visibility (id text primary key, attributes jsonb,
                               owner text generated always as (attributes ->> 'owner') stored)`;
    try {
      for (const { url } of [from, to]) await withClient(url, (client) => client.query(tables));
      await withClient(from.url, (client) =>
        client.query(
          `insert into executions values (1, '\\x00ff', '\\x5c4e0a');
           insert into executions_visibility values ('a', '{"owner": "ann"}')`,
        ),
      );
      await withClient(to.url, (client) =>
        client.query(`insert into executions values (9, '\\x01', '\\x01')`),
      );
      const place = join(folder, 'with-temporal');
      await backUpOpened(
        here(),
        { folder: place, withoutFiles: true, temporalDatabases: [from.url] },
        () => {},
      );
      const done = await restoreInto(
        { ...target, env: { ...target.env, TEMPORAL_DATABASE_URLS: [to.url] } },
        { folder: place, replace: true },
        await readManifest(place),
        () => {},
      );
      expect(done.temporal).toBe('databases');
      expect(await rowsOf(to.url)).toEqual(await rowsOf(from.url));
    } finally {
      await Promise.all([from.drop(), to.drop()]);
    }
  });
});

test('an operator gives an administrator a new password, which ends all sessions', async () => {
  const { username, token } = await app.user('admin');
  // One has to remain.
  await app.createUser({ roles: ['admin'] });
  await app.orm.em
    .fork()
    .execute(`update user_account set status = 'disabled' where username = ?`, [username]);
  expect(await accountToReset(here(), { username })).toEqual({ username });
  await expect(accountToReset(here(), { username: 'nobody' })).rejects.toThrow('There is no user nobody.');
  const { password = '' } = await resetOpened(here(), { username });
  await writable();
  expect((await app.anonymous.post('/auth/token', { username, password })).status).toBe(200);
  const old = await fetch(`${app.url}/agents`, { headers: { authorization: `Bearer ${token}` } });
  expect(old.status).toBe(401);
  const [entry] = await app.orm.em
    .fork()
    .execute(`select via, object_type, data::text as data from audit_entry where action = 'reset_admin'`);
  expect(entry).toMatchObject({ via: 'system', object_type: 'user' });
  expect(entry?.data).not.toContain(password);
  await expect(resetOpened(here(), { username: 'nobody' })).rejects.toThrow(
    `There is no user nobody. Administrators: ${username}`,
  );
  await expect(resetOpened(here(), { username: 'the-builder' })).rejects.toThrow('is not an administrator');
  await expect(resetOpened(here(), { username, password: 'short' })).rejects.toThrow(
    'at least 12 characters',
  );
  void admin;
});

test('the checks name what is wrong and what to do', async () => {
  const { env, ...rest } = here();
  const settings = {
    ...env,
    ENCRYPTION_KEYS: [],
    PORT: 1,
    SMTP_HOST: '127.0.0.1',
    SMTP_PORT: 1,
    SMTP_FROM: 'cadenza@example.org',
  };
  await app.orm.em.fork().execute(`delete from schema_migration where name = ?`, [migrationNames.at(-1)]);
  const before = await diagnoseOpened({ ...rest, env: settings });
  await app.orm.em.fork().execute(`insert into schema_migration (name) values (?)`, [migrationNames.at(-1)]);
  const found = [...before, ...(await diagnoseOpened({ ...rest, env: settings }))];
  const detailOf = (check: string) =>
    found.find((finding) => finding.check === check && finding.status !== 'ok')?.detail;
  expect(detailOf('schema')).toMatch(/^1 changes are pending.*cadenza server upgrade$/);
  expect(detailOf('keys')).toMatch(/^ENCRYPTION_KEYS lacks "test" \(.*signing keys/);
  expect(detailOf('temporal')).toContain('TEMPORAL_ADDRESS is not set');
  expect(detailOf('mail server')).toMatch(/^127\.0\.0\.1:1: .*Check SMTP_\*/);
  // The api of this test is where BASE_URL says, and was not migrated.
  expect(detailOf('api')).toMatch(/^no answer from http:\/\/127\.0\.0\.1:1 .*; http.* answers 503/);
  const fine = found.filter(({ status }) => status === 'ok').map(({ check }) => check);
  expect(fine).toEqual(
    expect.arrayContaining(['versions', 'postgresql', 'clock of postgresql', 'file store']),
  );
});

async function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** What a restore changes on purpose; the test looks at it by itself. */
const CHANGED = ['run_signal', 'audit_entry', 'maintenance', 'installation', 'workflow_schedule'];

/** All rows of a database by table, without numbers of transactions. */
function rowsOf(url: string): Promise<Record<string, string[]>> {
  return withClient(url, async (client) => {
    const tables = (await tablesOf(client)).filter(({ name }) => !CHANGED.includes(name));
    const found: Record<string, string[]> = {};
    for (const { name } of tables) {
      const { rows } = await client.query<{ row: string }>(
        `select (to_jsonb(t) - 'tx' - 'last_tx' - 'from_tx' - 'seen_below' - 'gpos')::text as row
           from ${name} t order by 1`,
      );
      found[name] = rows.map(({ row }) => row);
    }
    return found;
  });
}
