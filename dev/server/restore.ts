/** `cadenza server restore`: puts a backup in the place of an installation (docs/adr/0059-backups.md). */
import { createReadStream, createWriteStream, existsSync } from 'node:fs';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import type pg from 'pg';

import { applicationRoles } from '../../db/grant-application.ts';
import { migrate } from '../../db/migrate.ts';
import { MIGRATION_TABLE } from '../../db/migration-state.ts';
import { SYSTEM_ORIGIN, writeAudit } from '../../domain/audit/write.ts';
import {
  AFTER_RESTORE,
  PAUSED_AFTER_RESTORE,
  RESTORE_ACTION,
} from '../../domain/operations/after-restore.ts';
import { isOwnFileStore } from '../../domain/files/store-identity.ts';
import { RESTORE_MARK } from '../data-dir.ts';
import { connectForCopying, quoted, tablesOf } from './database-dump.ts';
import { loadDatabase } from './database-load.ts';
import { putContents } from './file-contents.ts';
import { OWN_NAME } from './own-name.ts';
import { ServerCommandError, withInstallation, type Installation } from './installation.ts';
import {
  DATABASE_FOLDER,
  FILE_LIST,
  FILES_FOLDER,
  KEYS_FILE,
  readManifest,
  refuseNewer,
  TEMPORAL_FILE,
  temporalFolder,
  type Manifest,
} from './manifest.ts';
import { keepRestoredKeys, keysForRestore, type RestoreKeys } from './restore-keys.ts';
import { readDumps } from './verify-backup.ts';

export interface RestoreOptions {
  folder: string;
  /** Remove what is there. Without it only an empty place is filled. */
  replace?: boolean | undefined;
  temporalDatabases?: readonly string[] | undefined;
  /** Writes are paused when it starts, until `cadenza server resume`. */
  paused?: boolean | undefined;
}

export interface RestoreResult {
  taken_at: string;
  rows: number;
  files: number;
  temporal: Manifest['temporal']['kind'];
  migrations: string[];
}

type Say = (line: string) => void;

/** @throws ServerCommandError, and errors of the stores */
export async function restore(options: RestoreOptions, say: Say): Promise<RestoreResult> {
  const folder = resolve(options.folder);
  const manifest = await readManifest(folder);
  refuseNewer(manifest);
  say(`The backup is of ${manifest.created_at}. Checking its files …`);
  await readDumps(folder, manifest);
  return withInstallation('stopped', (installation) =>
    restoreInto(installation, { ...options, folder }, manifest, say),
  );
}

/** @throws ServerCommandError, before anything is changed if possible */
export async function restoreInto(
  installation: Installation,
  options: RestoreOptions,
  manifest: Manifest,
  say: Say,
): Promise<RestoreResult> {
  const { env, dataDir } = installation;
  const { folder } = options;
  const keys = await keysForRestore(installation, folder, manifest);
  const client = await connectForCopying(env.DATABASE_URL);
  const mark = dataDir === null ? null : join(dataDir, RESTORE_MARK);
  let rows: number;
  try {
    const isAgain = (mark !== null && existsSync(mark)) || (await hasTable(client, HIDDEN_MIGRATIONS));
    await checkPlace(client, installation, options, isAgain);
    if (options.replace !== true && !isAgain) await checkStore(installation, manifest);
    if (mark !== null) await writeFile(mark, `${manifest.created_at}\n`, { flush: true });
    await restoreTemporal(installation, options, manifest, say);
    say('PostgreSQL …');
    rows = await restoreRows(client, env.DATABASE_URL, options, manifest, say);
    await restoreFiles(installation, folder, manifest, say);
    await client.query(`alter table ${HIDDEN_MIGRATIONS} rename to ${MIGRATION_TABLE}`);
  } finally {
    await client.end();
  }
  if (dataDir !== null) await keepRestoredKeys(dataDir, folder, keys, say);
  const done = await migrate(env.DATABASE_URL);
  await installation
    .fork()
    .transactional((em) =>
      writeAudit(em, SYSTEM_ORIGIN, { action: RESTORE_ACTION, data: { taken_at: manifest.created_at } }),
    );
  if (mark !== null) await rm(mark);
  sayWhatFollows(installation, manifest, keys, say);
  if (options.paused === true)
    say('When it starts, people can look at it, and it does nothing until cadenza server resume.');
  return {
    taken_at: manifest.created_at,
    rows,
    files: manifest.files.count,
    temporal: manifest.temporal.kind,
    migrations: done.migrations,
  };
}

/** @throws ServerCommandError if something would be lost or is in use */
async function checkPlace(
  client: pg.Client,
  { dataDir, files, fork }: Installation,
  { replace }: RestoreOptions,
  isAgain: boolean,
): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    `select distinct application_name as name from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid() and application_name like 'cadenza%'`,
  );
  const inUse = rows.filter(({ name }) => name !== OWN_NAME);
  if (inUse.length > 0)
    throw new ServerCommandError(
      'The database is in use by processes of Cadenza: stop all copies of api and worker, then restore.',
    );
  // Whoever began this restore has agreed to what it takes away, and its store may have the id of neither.
  if (isAgain) return;
  const isFilled = (await tablesOf(client)).length > 0 && !(await isUnused(client));
  if (isFilled && replace !== true)
    throw new ServerCommandError(
      `${dataDir ?? 'The database'} has data already. With --replace the restore removes it; take a backup ` +
        'of it first.',
    );
  if (
    isFilled &&
    (await hasTable(client, 'installation')) &&
    !(await isOwnFileStore(fork(), files).catch(() => true))
  )
    throw new ServerCommandError(`The file store, ${files.place}, belongs to another database.`);
}

/**
 * Whoever has the store's mark removes files without a row, so the mark is not taken from another database.
 * @throws ServerCommandError
 */
async function checkStore({ files: store }: Installation, { files }: Manifest): Promise<void> {
  const mark = files.included && files.store_id !== null ? await store.readMark() : null;
  if (mark !== null && mark !== files.store_id)
    throw new ServerCommandError(
      `The file store, ${store.place}, belongs to another database. Choose a separate one (FILES_DIR, or ` +
        'FILES_S3_BUCKET and FILES_S3_PREFIX). With --replace the restore takes it over: files that the ' +
        'backup does not have are then deleted.',
    );
}

async function hasTable(client: pg.Client, name: string): Promise<boolean> {
  const { rows } = await client.query<{ there: boolean }>('select to_regclass($1) is not null as there', [
    name,
  ]);
  return rows[0]?.there === true;
}

/** Only migrated, by a restore that was killed early or by somebody: without users nothing can be lost. */
async function isUnused(client: pg.Client): Promise<boolean> {
  if (!(await hasTable(client, MIGRATION_TABLE)) || !(await hasTable(client, 'user_account'))) return false;
  return (await client.query('select from user_account limit 1')).rowCount === 0;
}

async function restoreTemporal(
  { dataDir, env }: Installation,
  { folder, temporalDatabases = env.TEMPORAL_DATABASE_URLS }: RestoreOptions,
  { temporal }: Manifest,
  say: Say,
): Promise<void> {
  if (temporal.kind === 'databases') {
    if (temporalDatabases.length !== temporal.databases.length)
      throw new ServerCommandError(
        `The backup has ${temporal.databases.length} databases of Temporal. Name as many with ` +
          'TEMPORAL_DATABASE_URLS, in the order of the backup; their tables must be there and empty of use.',
      );
    for (const [index, dump] of temporal.databases.entries()) {
      const url = temporalDatabases[index] ?? '';
      say(`Temporal's database ${new URL(url).pathname.slice(1)} …`);
      await inOwnTransaction(url, async (client) => {
        await loadDatabase({ client, folder: join(folder, temporalFolder(index)), dump, say });
        await forgetServers(client);
      });
    }
    return;
  }
  if (dataDir === null || env.TEMPORAL_ADDRESS !== undefined) return;
  say('Temporal …');
  const place = join(dataDir, 'temporal');
  await mkdir(place, { recursive: true, mode: 0o700 });
  // Without the mark `npm start` makes a new database.
  await rm(join(place, 'complete'), { force: true });
  for (const suffix of ['', '-wal', '-shm', '-journal'])
    await rm(join(place, `temporal.db${suffix}`), { force: true });
  if (temporal.kind !== 'sqlite') return;
  const part = join(place, 'temporal.db.part');
  await pipeline(
    createReadStream(join(folder, TEMPORAL_FILE)),
    createGunzip(),
    createWriteStream(part, { mode: 0o600, flush: true }),
  );
  await rename(part, join(place, 'temporal.db'));
  await writeFile(join(place, 'complete'), '', { flush: true });
}

/**
 * Temporal's list of its own processes. Those of the backup are gone, and a server that finds them there
 * waits a minute for them, or joins them if they are alive.
 */
async function forgetServers(client: pg.Client): Promise<void> {
  if (await hasTable(client, 'cluster_membership')) await client.query('delete from cluster_membership');
}

async function inOwnTransaction(url: string, work: (client: pg.Client) => Promise<void>): Promise<void> {
  const client = await connectForCopying(url);
  try {
    const { rows } = await client.query(
      `select from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'`,
    );
    if (rows.length > 0)
      throw new ServerCommandError(
        `Temporal's database ${new URL(url).pathname.slice(1)} is in use: stop Temporal, then restore.`,
      );
    await client.query('begin');
    await work(client);
    await client.query('commit');
  } finally {
    await client.end();
  }
}

/**
 * While it has this name, no process takes the schema for complete, and a restore is known to have begun. It
 * has its own name again when rows and files are there.
 */
const HIDDEN_MIGRATIONS = `${MIGRATION_TABLE}_of_restore`;

/** The schema of the backup's time, then its rows in one transaction. The caller migrates on from there. */
async function restoreRows(
  client: pg.Client,
  url: string,
  { folder, paused }: RestoreOptions,
  { database }: Manifest,
  say: Say,
): Promise<number> {
  const schema = (await client.query<{ name: string }>('select current_schema() as name')).rows[0]?.name;
  const name = quoted(schema ?? 'public');
  // Roles of api and worker keep theirs: migrate gives them the rights on the tables of the backup.
  const roles = (await applicationRoles((sql, values) => client.query(sql, values))).map(quoted);
  const grants = roles.map(
    (role) => `alter default privileges in schema ${name} grant insert on tables to ${role}`,
  );
  await client.query(
    [`drop schema if exists ${name} cascade`, `create schema ${name}`, ...grants].join('; '),
  );
  await migrate(url, { only: database.migrations });
  await client.query(`alter table ${MIGRATION_TABLE} rename to ${HIDDEN_MIGRATIONS}`);
  await client.query('begin');
  await client.query(`alter table ${HIDDEN_MIGRATIONS} rename to ${MIGRATION_TABLE}`);
  const rows = await loadDatabase({ client, folder: join(folder, DATABASE_FOLDER), dump: database, say });
  for (const sql of AFTER_RESTORE) await client.query(sql);
  if (paused === true) await client.query(PAUSED_AFTER_RESTORE);
  await client.query(`alter table ${MIGRATION_TABLE} rename to ${HIDDEN_MIGRATIONS}`);
  await client.query('commit');
  return rows;
}

async function restoreFiles(
  { files: store }: Installation,
  folder: string,
  { files }: Manifest,
  say: Say,
): Promise<void> {
  if (!files.included) return;
  say('Files …');
  const list = join(folder, DATABASE_FOLDER, FILE_LIST);
  await putContents(
    { store, list, folder: join(folder, FILES_FOLDER), check: () => undefined },
    files.missing,
  );
  if (files.store_id !== null) await store.writeMark(files.store_id);
}

function sayWhatFollows(
  { dataDir }: Installation,
  { files, temporal }: Manifest,
  keys: RestoreKeys,
  say: Say,
): void {
  if (keys.from === 'backup' && dataDir === null)
    say(`Before you start, set ENCRYPTION_KEYS to what ${KEYS_FILE} of the backup has.`);
  if (temporal.kind === 'none')
    say(
      'Temporal was not restored. Runs that it does not know end with an error soon after the start; retry ' +
        'them (cadenza run retry).',
    );
  if (!files.included) say('Files were not restored. The file store must be the one of the backup.');
  if (files.missing.length > 0) say(`The backup lacks the contents of ${files.missing.length} files.`);
  say('Restored. Users log in with the passwords, and see the sessions, of the time of the backup.');
}
