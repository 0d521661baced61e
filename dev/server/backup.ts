/** `cadenza server backup`: everything of an installation in one folder, while it runs (docs/adr/0059). */
import { createReadStream, createWriteStream, existsSync, readFileSync } from 'node:fs';
import { copyFile, mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { backup as copySqlite, DatabaseSync } from 'node:sqlite';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';

import { whilePaused, type HeldPause } from '../../domain/operations/write-pause.ts';
import { checkValues } from '../../domain/secrets/key-check.ts';
import { neededKeys } from '../../domain/secrets/key-use.ts';
import { dumpDatabase } from './database-dump.ts';
import { LISTED_CONTENTS, saveContents } from './file-contents.ts';
import { keysText, ServerCommandError, withInstallation, type Installation } from './installation.ts';
import {
  DATABASE_FOLDER,
  FILE_LIST,
  FILES_FOLDER,
  KEYS_FILE,
  sumOf,
  TEMPORAL_FILE,
  temporalFolder,
  writeManifest,
  type Manifest,
} from './manifest.ts';

export interface BackupOptions {
  folder: string;
  withKeys?: boolean | undefined;
  withoutFiles?: boolean | undefined;
  /** URLs of Temporal's own databases, if they are on PostgreSQL; default: of the settings. */
  temporalDatabases?: readonly string[] | undefined;
  /** Ends it early, between two of its steps. */
  signal?: AbortSignal;
}

export interface BackupResult {
  folder: string;
  rows: number;
  files: number;
  bytes: number;
  temporal: Manifest['temporal']['kind'];
  keys_included: boolean;
  keys_needed: string[];
}

/** @throws ServerCommandError, WritesPaused, PauseLost, and errors of the stores */
export async function backUp(options: BackupOptions, say: (line: string) => void): Promise<BackupResult> {
  const folder = resolve(options.folder);
  await makeEmptyFolder(folder);
  return withInstallation('running', async (installation) => {
    try {
      return await backUpOpened(installation, { ...options, folder }, say);
    } catch (error) {
      // What is there is worth nothing without its manifest.
      await emptyFolder(folder);
      throw error;
    }
  });
}

export async function backUpOpened(
  installation: Installation,
  options: BackupOptions,
  say: (line: string) => void,
): Promise<BackupResult> {
  const { fork, env, dataDir } = installation;
  const { folder } = options;
  await checkMigrated(installation);
  const keys = options.withKeys === true ? keysText(dataDir) : undefined;
  if (options.withKeys === true && keys === undefined)
    throw new ServerCommandError('There are no ENCRYPTION_KEYS in the settings to put into the backup.');
  say('Writes pause until the backup is taken; reading goes on.');
  const parts = await whilePaused(fork, 'a backup is being taken', (pause) =>
    copyParts(installation, options, pause, say),
  );
  if (keys !== undefined) await keepKeys(folder, keys, dataDir);
  const needed = await neededKeys(fork());
  const manifest = {
    created_at: new Date().toISOString(),
    version: ownVersion(),
    ...parts,
    keys: { needed, included: keys !== undefined, check_values: await checkValues(fork()) },
  };
  await writeManifest(folder, manifest);
  sayWhatIsMissing(
    manifest,
    env.ENCRYPTION_KEYS.map(({ id }) => id),
    say,
  );
  return {
    folder,
    rows: parts.database.tables.reduce((sum, { rows }) => sum + rows, 0),
    files: parts.files.count,
    bytes: parts.files.bytes,
    temporal: parts.temporal.kind,
    keys_included: keys !== undefined,
    keys_needed: needed,
  };
}

type Parts = Pick<Manifest, 'database' | 'temporal' | 'files'>;

/**
 * Temporal first: what happens after its copy is only repeated, but what Temporal knows and the database
 * does not would be lost. The files last: a row has its content before it is committed.
 */
async function copyParts(
  installation: Installation,
  options: BackupOptions,
  pause: HeldPause,
  say: (line: string) => void,
): Promise<Parts> {
  const { env, files: store } = installation;
  const { folder } = options;
  const check = (): void => {
    options.signal?.throwIfAborted();
    pause.check();
  };
  const temporal = await copyTemporal(installation, options, check, say);
  check();
  say('PostgreSQL …');
  const database = await dumpDatabase({
    url: env.DATABASE_URL,
    folder: join(folder, DATABASE_FOLDER),
    check,
    lists: { [FILE_LIST]: LISTED_CONTENTS },
  });
  const storeId = await store.readMark();
  if (options.withoutFiles === true)
    return {
      database,
      temporal,
      files: { included: false, count: 0, bytes: 0, missing: [], store_id: storeId },
    };
  say('Files …');
  const list = join(folder, DATABASE_FOLDER, FILE_LIST);
  const copied = await saveContents({ store, list, folder: join(folder, FILES_FOLDER), check });
  return { database, temporal, files: { included: true, ...copied, store_id: storeId } };
}

async function copyTemporal(
  { env, dataDir }: Installation,
  { folder, temporalDatabases = env.TEMPORAL_DATABASE_URLS }: BackupOptions,
  check: () => void,
  say: (line: string) => void,
): Promise<Manifest['temporal']> {
  if (temporalDatabases.length > 0) {
    const databases = [];
    for (const [index, url] of temporalDatabases.entries()) {
      say(`Temporal's database ${new URL(url).pathname.slice(1)} …`);
      databases.push(await dumpDatabase({ url, folder: join(folder, temporalFolder(index)), check }));
    }
    return { kind: 'databases', databases };
  }
  if (dataDir === null || env.TEMPORAL_ADDRESS !== undefined) return { kind: 'none' };
  const database = join(dataDir, 'temporal', 'temporal.db');
  if (!existsSync(database)) return { kind: 'none' };
  say('Temporal …');
  const plain = join(folder, 'temporal.db');
  const source = new DatabaseSync(database, { readOnly: true });
  try {
    // SQLite's own copy of a database that is in use.
    await copySqlite(source, plain);
  } finally {
    source.close();
  }
  const packed = join(folder, TEMPORAL_FILE);
  await pipeline(
    createReadStream(plain),
    createGzip({ level: 3 }),
    createWriteStream(packed, { mode: 0o600 }),
  );
  await rm(plain);
  return { kind: 'sqlite', sha256: await sumOf(packed) };
}

async function keepKeys(folder: string, keys: string, dataDir: string | null): Promise<void> {
  await writeFile(join(folder, KEYS_FILE), `${keys}\n`, { mode: 0o600, flush: true });
  const password = dataDir === null ? null : join(dataDir, 'admin-password');
  if (password !== null && existsSync(password)) await copyFile(password, join(folder, 'admin-password'));
}

function sayWhatIsMissing(
  { files, temporal, keys }: Pick<Manifest, 'files' | 'temporal' | 'keys'>,
  keyIds: readonly string[],
  say: (line: string) => void,
): void {
  if (!keys.included && keys.needed.length > 0)
    say(
      `This backup has no encryption keys. Without ${keys.needed.map((id) => `"${id}"`).join(', ')} of ` +
        'ENCRYPTION_KEYS nothing encrypted can be read: keep a copy of them in another place, or use ' +
        '--with-keys.',
    );
  const lost = keys.needed.filter((id) => !keyIds.includes(id));
  if (lost.length > 0)
    say(`The settings of this command lack keys that the database needs: ${lost.join(', ')}.`);
  if (temporal.kind === 'none')
    say(
      'This backup has no data of Temporal. Runs that have not ended can go on only if Temporal is ' +
        'restored to the same time, or earlier: name its databases with TEMPORAL_DATABASE_URLS.',
    );
  if (!files.included) say('This backup has no files: back up the file store by other means, after this.');
  if (files.missing.length > 0)
    say(`The file store lacks the contents of ${files.missing.length} files: ${files.missing.join(', ')}`);
}

async function checkMigrated({ fork }: Installation): Promise<void> {
  const [row] = await fork().execute<{ ready: boolean }[]>(
    `select to_regclass('write_pause') is not null as ready`,
  );
  if (row?.ready !== true)
    throw new ServerCommandError(
      'The database has the schema of an older release, or none. Use the release that wrote it, or migrate ' +
        'first: npm run migrate',
    );
}

async function makeEmptyFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  if ((await readdir(folder)).length > 0)
    throw new ServerCommandError(`${folder} is not empty. A backup needs a folder of its own.`);
}

async function emptyFolder(folder: string): Promise<void> {
  for (const name of await readdir(folder)) await rm(join(folder, name), { recursive: true, force: true });
}

export function ownVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  // The assertion holds: it is our own file.
  return (JSON.parse(text) as { version: string }).version;
}
