/** `cadenza server backup`: everything of an installation in one folder, while it runs (docs/adr/0059). */
import { existsSync, readFileSync } from 'node:fs';
import { copyFile, mkdir, readdir, rm, rmdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';

import { counted } from '../../contracts/counted.ts';
import { recordedBackup, type Timetable } from '../../domain/operations/backups.ts';
import { readInstallationId } from '../../domain/operations/installation.ts';
import { whilePaused } from '../../domain/operations/write-pause.ts';
import { checkValues } from '../../domain/secrets/key-check.ts';
import { neededKeys } from '../../domain/secrets/key-use.ts';
import { markUnfinished, nameAt, removeMark, removeOld, type Keeping } from './backup-series.ts';
import { copyParts, type CopyOptions } from './copy-parts.ts';
import { keysText, ServerCommandError, withInstallation, type Installation } from './installation.ts';
import { KEYS_FILE, writeManifest, type Manifest } from './manifest.ts';
import { readParts, rowsIn } from './verify-backup.ts';

/** `folder` is that of the backup; with `keep` or `keepDays`, of a series of them. */
export interface BackupOptions extends CopyOptions, Keeping {
  withKeys?: boolean | undefined;
  /** Only if it is due. */
  timetable?: Timetable | undefined;
}

export interface BackupResult {
  folder: string;
  rows: number;
  files: number;
  /** Of the contents of files, and of everything. */
  bytes: number;
  total_bytes: number;
  temporal: Manifest['temporal']['kind'];
  keys_included: boolean;
  keys_needed: string[];
  /** Names of earlier backups of the series that were not to be kept. */
  removed: string[];
}

type Say = (line: string) => void;

/**
 * @returns null only if it is not due
 * @throws ServerCommandError, BackupRuns, WritesPaused, PauseLost, and errors of the stores
 */
export async function backUp(given: BackupOptions, say: Say): Promise<BackupResult | null> {
  const options = { ...given, folder: resolve(given.folder) };
  checkKeeping(options);
  await (isSeries(options) ? mkdir(options.folder, PRIVATE) : makeEmptyFolder(options.folder));
  return withInstallation('running', (installation) => backUpRecorded(installation, options, say));
}

const PRIVATE = { recursive: true, mode: 0o700 } as const;
const isSeries = ({ keep, keepDays }: Keeping): boolean => keep !== undefined || keepDays !== undefined;

function checkKeeping({ keep, keepDays }: Keeping): void {
  if (keep === 0) throw new ServerCommandError('--keep must be 1 at least: the newest backup is kept.');
  if (keepDays === 0) throw new ServerCommandError('--keep-days must be 1 at least.');
}

async function removeUnfinished(folder: string, inSeries: boolean): Promise<void> {
  await emptyFolder(folder);
  if (inSeries) await rmdir(folder);
}

/** One at a time, in the list of backups of the database. */
export async function backUpRecorded(
  installation: Installation,
  options: BackupOptions,
  say: Say,
): Promise<BackupResult | null> {
  const { fork } = installation;
  const inSeries = isSeries(options);
  const name = nameAt(new Date());
  const folder = inSeries ? join(options.folder, name) : options.folder;
  const work = async (): Promise<BackupResult> => {
    await makeEmptyFolder(folder);
    try {
      return await backUpOpened(installation, { ...options, folder }, say);
    } catch (error) {
      // What is there is worth nothing without its manifest.
      await removeUnfinished(folder, inSeries).catch((reason: unknown) =>
        say(`It was left: ${String(reason)}`),
      );
      throw error;
    }
  };
  const { timetable } = options;
  const isListed = await checkMigrated(installation);
  const done = isListed ? await recordedBackup(fork, { place: folder, timetable }, work) : await work();
  if (done === null || !inSeries) return done;
  return { ...done, removed: await removeOthers(installation, options, name, say) };
}

async function removeOthers(
  { fork }: Installation,
  { folder: place, keep, keepDays }: BackupOptions,
  newest: string,
  say: Say,
): Promise<string[]> {
  try {
    const installationId = await readInstallationId(fork());
    say('Removing what need not be kept …');
    return await removeOld(place, { installationId, newest, keep, keepDays });
  } catch (error) {
    // The new backup is complete all the same.
    say(`Earlier backups could not be removed: ${error instanceof Error ? error.message : String(error)}`);
    return [];
  }
}

/** @param options `folder` is empty */
export async function backUpOpened(
  installation: Installation,
  options: BackupOptions,
  say: Say,
): Promise<BackupResult> {
  const { fork, env, dataDir } = installation;
  const { folder } = options;
  await checkMigrated(installation);
  const keys = options.withKeys === true ? keysText(dataDir) : undefined;
  if (options.withKeys === true && keys === undefined)
    throw new ServerCommandError('There are no ENCRYPTION_KEYS in the settings to put into the backup.');
  const installationId = await readInstallationId(fork());
  await markUnfinished(folder, installationId);
  say('Writes pause until the backup is taken; reading goes on.');
  const parts = await whilePaused(fork, 'a backup is being taken', (pause) =>
    copyParts(installation, options, pause, say),
  );
  if (keys !== undefined) await keepKeys(folder, keys, dataDir);
  const needed = await neededKeys(fork());
  const manifest = {
    created_at: new Date().toISOString(),
    installation_id: installationId,
    version: ownVersion(),
    ...parts,
    keys: { needed, included: keys !== undefined, check_values: await checkValues(fork()) },
  };
  say('Writes go on. Reading the backup again …');
  const check = (): void => options.signal?.throwIfAborted();
  const totalBytes = await readParts(folder, parts, { toDisk: true, check });
  await writeManifest(folder, manifest);
  await removeMark(folder);
  sayWhatIsMissing(
    manifest,
    env.ENCRYPTION_KEYS.map(({ id }) => id),
    say,
  );
  return {
    folder,
    rows: rowsIn(parts),
    files: parts.files.count,
    bytes: parts.files.bytes,
    total_bytes: totalBytes,
    temporal: parts.temporal.kind,
    keys_included: keys !== undefined,
    keys_needed: needed,
    removed: [],
  };
}

/** Of files that are missing, so many are named. */
const MAX_NAMED = 100;

async function keepKeys(folder: string, keys: string, dataDir: string | null): Promise<void> {
  await writeFile(join(folder, KEYS_FILE), `${keys}\n`, { mode: 0o600, flush: true });
  const password = dataDir === null ? null : join(dataDir, 'admin-password');
  if (password !== null && existsSync(password)) await copyFile(password, join(folder, 'admin-password'));
}

function sayWhatIsMissing(
  { files, temporal, keys }: Pick<Manifest, 'files' | 'temporal' | 'keys'>,
  keyIds: readonly string[],
  say: Say,
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
    say(
      `The file store lacks the contents of ${counted(files.missing.length, 'file')}, or has them damaged: ` +
        files.missing.slice(0, MAX_NAMED).join(', '),
    );
}

/** @returns whether the schema has the list of backups, which earlier releases did not have */
async function checkMigrated({ fork }: Installation): Promise<boolean> {
  const [row] = await fork().execute<{ ready: boolean; listed: boolean }[]>(
    `select to_regclass('write_pause') is not null as ready, to_regclass('backup') is not null as listed`,
  );
  if (row?.ready !== true)
    throw new ServerCommandError(
      'The database has the schema of an older release, or none. Use the release that wrote it, or migrate ' +
        'first: npm run migrate',
    );
  return row.listed;
}

async function makeEmptyFolder(folder: string): Promise<void> {
  await mkdir(folder, PRIVATE);
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
