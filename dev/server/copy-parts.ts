/** Copies Temporal, PostgreSQL and the file store into the folder of a backup, in this order. */
import { createReadStream, createWriteStream, existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { backup as copySqlite, DatabaseSync } from 'node:sqlite';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';

import type { HeldPause } from '../../domain/operations/write-pause.ts';
import { dumpDatabase } from './database-dump.ts';
import { LISTED_CONTENTS, saveContents } from './file-contents.ts';
import type { Installation } from './installation.ts';
import {
  CONTENT_SUMS,
  DATABASE_FOLDER,
  FILE_LIST,
  FILES_FOLDER,
  TEMPORAL_FILE,
  temporalFolder,
  type Manifest,
} from './manifest.ts';
import { sumOf } from './sums.ts';

export interface CopyOptions {
  folder: string;
  withoutFiles?: boolean | undefined;
  /** URLs of Temporal's own databases, if they are on PostgreSQL; default: of the settings. */
  temporalDatabases?: readonly string[] | undefined;
  /** Ends it early, between two of its steps. */
  signal?: AbortSignal | undefined;
}

type Parts = Pick<Manifest, 'database' | 'temporal' | 'files'>;

/**
 * Temporal first: what happens after its copy is only repeated, but what Temporal knows and the database
 * does not would be lost. The files last: a row has its content before it is committed.
 */
export async function copyParts(
  installation: Installation,
  options: CopyOptions,
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
      files: {
        included: false,
        count: 0,
        bytes: 0,
        missing: [],
        store_id: storeId,
        sums_sha256: null,
      },
    };
  say('Files …');
  const list = join(folder, DATABASE_FOLDER, FILE_LIST);
  const copy = { store, list, folder: join(folder, FILES_FOLDER), check };
  const copied = await saveContents(copy, join(folder, CONTENT_SUMS));
  return { database, temporal, files: { included: true, ...copied, store_id: storeId } };
}

async function copyTemporal(
  { env, dataDir }: Installation,
  { folder, temporalDatabases = env.TEMPORAL_DATABASE_URLS }: CopyOptions,
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
  return { kind: 'sqlite', sha256: (await sumOf(packed)).sha256 };
}
