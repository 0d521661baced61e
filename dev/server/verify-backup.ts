/** `cadenza server verify-backup`: reads all of a backup, and compares it with what it says of itself. */
import { join, resolve } from 'node:path';

import { inParallel } from '../../domain/in-parallel.ts';
import { batchesIn, CONTENTS_AT_ONCE, placeOf } from './file-contents.ts';
import { ServerCommandError } from './installation.ts';
import {
  CONTENT_SUMS,
  DATABASE_FOLDER,
  dumpedFiles,
  FILE_LIST,
  FILES_FOLDER,
  readManifest,
  refuseNewer,
  type Manifest,
} from './manifest.ts';
import { sumOf, type Sum } from './sums.ts';

interface VerifiedBackup {
  taken_at: string;
  /** Of Cadenza. */
  version: string;
  rows: number;
  files: number;
  /** Of all that was read. */
  bytes: number;
  temporal: Manifest['temporal']['kind'];
  keys_included: boolean;
  keys_needed: string[];
}

type Parts = Pick<Manifest, 'database' | 'temporal' | 'files'>;

interface Reading {
  /** Also makes sure that everything is on the disk. */
  toDisk?: boolean;
  /** Throws if it should not go on. */
  check?: () => void;
}

/** @throws ServerCommandError that names the first file that is damaged, or what else prevents a restore */
export async function verifyBackup(given: string, say: (line: string) => void): Promise<VerifiedBackup> {
  const folder = resolve(given);
  const manifest = await readManifest(folder);
  refuseNewer(manifest);
  say(`The backup is of ${manifest.created_at}. Checking its files …`);
  const bytes = await readParts(folder, manifest);
  return {
    taken_at: manifest.created_at,
    version: manifest.version,
    rows: rowsIn(manifest),
    files: manifest.files.count,
    bytes,
    temporal: manifest.temporal.kind,
    keys_included: manifest.keys.included,
    keys_needed: manifest.keys.needed,
  };
}

export const rowsIn = ({ database }: Pick<Manifest, 'database'>): number =>
  database.tables.reduce((sum, { rows }) => sum + rows, 0);

/** @returns the bytes of all files @throws ServerCommandError */
export async function readParts(folder: string, parts: Parts, reading: Reading = {}): Promise<number> {
  const dumps = await readDumps(folder, parts, reading);
  return dumps + (await readContents(folder, parts.files, reading));
}

/**
 * Compares the files of databases with their sums, so that nothing is replaced by half a backup. Contents of
 * the file store are compared as a restore reads them.
 * @returns their bytes @throws ServerCommandError
 */
export async function readDumps(
  folder: string,
  parts: Pick<Parts, 'database' | 'temporal'>,
  { toDisk = false, check }: Reading = {},
): Promise<number> {
  let bytes = 0;
  for (const { path, sha256 } of dumpedFiles(parts)) {
    check?.();
    bytes += await readChecked(join(folder, path), sha256, toDisk);
  }
  return bytes;
}

/** Backups of earlier releases have no sums of large values of runs: these only have to be there. */
async function readContents(
  folder: string,
  { included, count, missing, sums_sha256: sums }: Parts['files'],
  { toDisk = false, check }: Reading = {},
): Promise<number> {
  if (!included) return 0;
  const listed = join(folder, DATABASE_FOLDER, FILE_LIST);
  const list = sums === null ? listed : join(folder, CONTENT_SUMS);
  let bytes = sums === null ? 0 : await readChecked(list, sums, toDisk);
  bytes += (await sumOrNull(listed, toDisk))?.bytes ?? 0;
  const lacking = new Set(missing);
  let found = 0;
  for await (const contents of batchesIn(list)) {
    check?.();
    const there = contents.filter(({ id }) => !lacking.has(id));
    found += there.length;
    await inParallel(there, CONTENTS_AT_ONCE, async ({ id, sha256 }) => {
      const path = placeOf(join(folder, FILES_FOLDER), id);
      bytes += await readChecked(path, sha256 === '-' ? null : sha256, toDisk);
    });
  }
  if (found !== count)
    throw new ServerCommandError(`${list} names ${found} files, and the backup has ${count}.`);
  return bytes;
}

/** @param sha256 null if it is not known */
async function readChecked(path: string, sha256: string | null, toDisk: boolean): Promise<number> {
  const found = await sumOrNull(path, toDisk);
  if (found === null || (sha256 !== null && found.sha256 !== sha256))
    throw new ServerCommandError(`${path} is ${found === null ? 'missing' : 'damaged'}. Use another backup.`);
  return found.bytes;
}

const sumOrNull = (path: string, toDisk: boolean): Promise<Sum | null> =>
  sumOf(path, { toDisk }).catch(() => null);
