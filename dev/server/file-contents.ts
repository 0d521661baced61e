/** Contents of the file store, in and out of a backup. */
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pipeline as pipelineOf } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';

import { isLowercaseUuid } from '../../contracts/uuid.ts';
import { FileContentMissing, type FileStore } from '../../domain/files/ports.ts';
import { inParallel } from '../../domain/in-parallel.ts';
import { ServerCommandError } from './installation.ts';
import { hashing, type Sum } from './sums.ts';

/**
 * The contents that rows name, with the sum of each, one line each. A backup copies no others. Large values
 * of runs are sealed, so they have no other sum.
 */
export const LISTED_CONTENTS = `
  select id || ' ' || sha256 from file
  union all select file_id || ' -' from temporal_payload where file_id is not null`;

export const CONTENTS_AT_ONCE = 8;
const BATCH = 500;
/** A store that lacks more is not worth a backup. */
const MAX_MISSING = 10_000;

interface Copied {
  count: number;
  bytes: number;
  /** Ids of contents that the store lacks, or has with another sum than the database. */
  missing: string[];
}

export interface CopiedFiles extends Copied {
  /** Of the list of sums. */
  sums_sha256: string;
}

export interface FileCopy {
  store: FileStore;
  /** As `dumpDatabase` writes a list. */
  list: string;
  folder: string;
  check: () => void;
}

/**
 * Copies all listed contents out of the store.
 * @param sums where the list of their sums is written @throws errors of store and folder
 */
export async function saveContents(copy: FileCopy, sums: string): Promise<CopiedFiles> {
  const copied: Copied = { count: 0, bytes: 0, missing: [] };
  const hash = hashing();
  await pipeline(
    saveEach(copy, copied),
    createGzip({ level: 3 }),
    hash.stream,
    createWriteStream(sums, { mode: 0o600 }),
  );
  return { ...copied, sums_sha256: hash.sha256() };
}

async function* saveEach({ store, list, folder, check }: FileCopy, copied: Copied): AsyncGenerator<string> {
  for await (const contents of batchesIn(list)) {
    check();
    const lines: string[] = [];
    await inParallel(contents, CONTENTS_AT_ONCE, async (content) => {
      const saved = await save(store, content, folder);
      if (saved === null) return void copied.missing.push(content.id);
      copied.count += 1;
      copied.bytes += saved.bytes;
      lines.push(`${content.id} ${saved.sha256}\n`);
    });
    if (copied.missing.length > MAX_MISSING)
      throw new ServerCommandError(
        `The file store, ${store.place}, lacks more than ${MAX_MISSING} contents. Is it the right one?`,
      );
    yield lines.join('');
  }
}

/** @returns null if the store lacks it, or has it damaged */
async function save(store: FileStore, { id, sha256 }: Content, folder: string): Promise<Sum | null> {
  const path = placeOf(folder, id);
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  try {
    const hash = hashing();
    const target = createWriteStream(path, { mode: 0o600 });
    await pipeline(await store.open(id), hash.stream, target);
    const sum = { sha256: hash.sha256(), bytes: target.bytesWritten };
    if (sha256 === '-' || sha256 === sum.sha256) return sum;
  } catch (error) {
    if (!(error instanceof FileContentMissing)) throw error;
  }
  await rm(path, { force: true });
  return null;
}

/** Puts all contents of a backup into the store. A content that is there is replaced. */
export async function putContents(
  { store, list, folder, check }: FileCopy,
  missing: readonly string[],
): Promise<void> {
  const lacking = new Set(missing);
  for await (const contents of batchesIn(list)) {
    check();
    await inParallel(
      contents.filter(({ id }) => !lacking.has(id)),
      CONTENTS_AT_ONCE,
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
export const placeOf = (folder: string, id: string): string => join(folder, id.slice(-2), id);

interface Content {
  id: string;
  /** Lower-case hex, or `-`. */
  sha256: string;
}

/**
 * @param list as `dumpDatabase` writes it, or the list of sums
 * @throws ServerCommandError if it is damaged
 */
export async function* batchesIn(list: string): AsyncGenerator<Content[]> {
  const damaged = (cause?: unknown): ServerCommandError =>
    new ServerCommandError(`${list} is damaged. Use another backup.`, { cause });
  let batch: Content[] = [];
  for await (const line of linesIn(list, damaged)) {
    const [id = '', sha256 = '-'] = line.split(' ');
    // It becomes a path.
    if (!isLowercaseUuid(id)) throw damaged();
    batch.push({ id, sha256 });
    if (batch.length < BATCH) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

async function* linesIn(path: string, damaged: (cause: unknown) => Error): AsyncGenerator<string> {
  // Its errors come out of the loop.
  const text = pipelineOf(createReadStream(path), createGunzip(), () => undefined).setEncoding('utf8');
  let rest = '';
  try {
    for await (const chunk of text) {
      const lines = `${rest}${String(chunk)}`.split('\n');
      rest = lines.pop() ?? '';
      yield* lines;
    }
  } catch (error) {
    throw error instanceof ServerCommandError ? error : damaged(error);
  }
  if (rest !== '') yield rest;
}
