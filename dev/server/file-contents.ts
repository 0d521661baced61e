/** Contents of the file store, in and out of a backup. */
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';

import { isLowercaseUuid } from '../../contracts/uuid.ts';
import { FileContentMissing, type FileStore } from '../../domain/files/ports.ts';
import { inParallel } from '../../domain/in-parallel.ts';
import { ServerCommandError } from './installation.ts';

/**
 * The contents that rows name, with the sum of each, one line each. A backup copies no others. Large values
 * of runs are sealed, so they have no other sum.
 */
export const LISTED_CONTENTS = `
  select id || ' ' || sha256 from file
  union all select file_id || ' -' from temporal_payload where file_id is not null`;

const AT_ONCE = 8;
const BATCH = 500;
/** Of those that were missing, so many are named. */
const MAX_NAMED = 100;

export interface CopiedFiles {
  count: number;
  bytes: number;
  missing: string[];
}

export interface FileCopy {
  store: FileStore;
  /** As `dumpDatabase` writes a list. */
  list: string;
  folder: string;
  check: () => void;
}

/** Copies all listed contents out of the store. @throws errors of store and folder */
export async function saveContents({ store, list, folder, check }: FileCopy): Promise<CopiedFiles> {
  const copied: CopiedFiles = { count: 0, bytes: 0, missing: [] };
  for await (const contents of batchesIn(list)) {
    check();
    await inParallel(contents, AT_ONCE, async ({ id }) => {
      const path = placeOf(folder, id);
      await mkdir(join(folder, partOf(id)), { recursive: true, mode: 0o700 });
      try {
        const target = createWriteStream(path, { mode: 0o600 });
        await pipeline(await store.open(id), target);
        copied.count += 1;
        copied.bytes += target.bytesWritten;
      } catch (error) {
        if (!(error instanceof FileContentMissing)) throw error;
        await rm(path, { force: true });
        if (copied.missing.length < MAX_NAMED) copied.missing.push(id);
      }
    });
  }
  return copied;
}

/** Puts all contents of a backup into the store. A content that is there is replaced. */
export async function putContents(
  { store, list, folder, check }: FileCopy,
  missing: readonly string[],
): Promise<void> {
  for await (const contents of batchesIn(list)) {
    check();
    await inParallel(
      contents.filter(({ id }) => !missing.includes(id)),
      AT_ONCE,
      async ({ id, sha256 }) => {
        const source = createReadStream(placeOf(folder, id));
        const received = await store.receive(id, source, { maxBytes: Number.MAX_SAFE_INTEGER });
        if (sha256 !== '-' && received.sha256 !== sha256) {
          await received.discard();
          throw new ServerCommandError(`${placeOf(folder, id)} is damaged. Use another backup.`);
        }
        await received.keep();
      },
    );
  }
}

/** A folder holds few files, so that any file system copies it quickly. */
const partOf = (id: string): string => id.slice(-2);
const placeOf = (folder: string, id: string): string => join(folder, partOf(id), id);

interface Content {
  id: string;
  /** Lower-case hex, or `-`. */
  sha256: string;
}

async function* batchesIn(list: string): AsyncGenerator<Content[]> {
  let batch: Content[] = [];
  for await (const line of createInterface({ input: createReadStream(list).pipe(createGunzip()) })) {
    const [id = '', sha256 = '-'] = line.split(' ');
    // It becomes a path.
    if (!isLowercaseUuid(id)) throw new ServerCommandError(`${list} is damaged. Use another backup.`);
    batch.push({ id, sha256 });
    if (batch.length < BATCH) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}
