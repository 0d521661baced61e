/**
 * The file store in a local folder. `incoming/` holds partial uploads; a file named by its id is complete.
 */
import { createHash } from 'node:crypto';
import {
  access,
  constants,
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  unlink,
} from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { v7 as uuidv7 } from 'uuid';

import { isLowercaseUuid } from '../../contracts/uuid.ts';
import {
  FileContentMissing,
  FileStoreUnavailable,
  FileTooLarge,
  STORE_MARK,
  type FileStore,
} from '../../domain/files/ports.ts';

const INCOMING = 'incoming';
const SWEEP_BATCH = 500;

/** All processes that serve or sweep files need the same folder. It is created at the first write. */
export function createLocalFileStore(folder: string): FileStore {
  const incoming = join(folder, INCOMING);
  // The last digits of a UUIDv7 are random, so files spread evenly over 256 folders.
  const shardOf = (id: string): string => join(folder, checked(id).slice(-2));
  const pathOf = (id: string): string => join(shardOf(id), id);

  return {
    place: `the folder ${resolve(folder)}`,
    readMark: () =>
      stored(readFile(join(folder, STORE_MARK), 'utf8').then((text) => text.trim() || null, nullIfMissing)),
    writeMark: (mark) => stored(writeMark(folder, mark)),
    async receive(id, source, { maxBytes }) {
      await stored(mkdir(incoming, { recursive: true, mode: 0o700 }));
      // A unique name, so two attempts at one id never write to the same file.
      const part = join(incoming, `${checked(id)}.${uuidv7()}`);
      const discard = () => rm(part, { force: true });
      try {
        const written = await write(part, source, maxBytes);
        return { ...written, discard, keep: () => stored(place(part, shardOf(id), pathOf(id))) };
      } catch (error) {
        await discard();
        throw error;
      }
    },
    async open(id, range) {
      const handle = await open(pathOf(id), 'r').catch((error: unknown) => {
        throw isMissing(error)
          ? new FileContentMissing(`the content of file ${id} is gone`, { cause: error })
          : unavailable(error);
      });
      const stream: Readable = handle.createReadStream({ highWaterMark: 256 * 1024, ...range });
      return stream;
    },
    async ping() {
      try {
        await mkdir(incoming, { recursive: true, mode: 0o700 });
        await access(incoming, constants.W_OK);
        return true;
      } catch {
        return false;
      }
    },
    remove: (id) => stored(rm(pathOf(id), { force: true })),
    async sweep({ before, known }) {
      let removed = 0;
      for await (const path of olderFiles(incoming, before)) removed += await removeFile(path);
      for (const shard of await namesIn(folder)) {
        if (!/^[0-9a-f]{2}$/.test(shard)) continue;
        const ids = (await namesIn(join(folder, shard))).filter(isLowercaseUuid);
        for (let at = 0; at < ids.length; at += SWEEP_BATCH) {
          const batch = ids.slice(at, at + SWEEP_BATCH);
          const knownIds = await known(batch);
          for (const id of batch) {
            if (!knownIds.has(id) && (await isOlder(pathOf(id), before)))
              removed += await removeFile(pathOf(id));
          }
        }
      }
      return removed;
    },
  };
}

async function write(
  path: string,
  source: AsyncIterable<Uint8Array>,
  maxBytes: number,
): Promise<{ size: number; sha256: string }> {
  const hash = createHash('sha256');
  const handle = await stored(open(path, 'wx', 0o600));
  let size = 0;
  try {
    for await (const chunk of source) {
      size += chunk.length;
      if (size > maxBytes) throw new FileTooLarge(`larger than ${maxBytes} bytes`);
      hash.update(chunk);
      await stored(handle.writeFile(chunk));
    }
    await stored(handle.sync());
  } finally {
    await handle.close();
  }
  return { size, sha256: hash.digest('hex') };
}

async function writeMark(folder: string, mark: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const part = join(folder, `${STORE_MARK}.${uuidv7()}`);
  const handle = await open(part, 'wx', 0o600);
  try {
    await handle.writeFile(`${mark}\n`);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(part, join(folder, STORE_MARK));
  await syncFolder(folder);
}

/**
 * Errors of the disk (no space, no permission, not mounted) are failures of the store: they may be temporary,
 * and users cannot fix them.
 */
async function stored<T>(work: Promise<T>): Promise<T> {
  return work.catch((error: unknown) => {
    throw unavailable(error);
  });
}

function unavailable(error: unknown): FileStoreUnavailable {
  const code =
    typeof error === 'object' && error !== null && 'code' in error ? ` (${String(error.code)})` : '';
  return new FileStoreUnavailable(`the folder of the file store failed${code}`, { cause: error });
}

function nullIfMissing(error: unknown): null {
  if (isMissing(error)) return null;
  throw error;
}

/**
 * The rename makes the file visible completely or not at all; the folders are synced so that it survives a
 * power failure.
 */
async function place(part: string, shard: string, path: string): Promise<void> {
  await mkdir(shard, { recursive: true, mode: 0o700 });
  await rename(part, path);
  await syncFolder(shard);
  await syncFolder(join(shard, '..'));
}

async function syncFolder(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function* olderFiles(folder: string, before: Date): AsyncGenerator<string> {
  for (const name of await namesIn(folder)) {
    const path = join(folder, name);
    if (await isOlder(path, before)) yield path;
  }
}

/** By the last write, so an active upload does not count as old. */
async function isOlder(path: string, before: Date): Promise<boolean> {
  try {
    return (await stat(path)).mtimeMs < before.getTime();
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

async function removeFile(path: string): Promise<number> {
  try {
    await unlink(path);
    return 1;
  } catch (error) {
    if (isMissing(error)) return 0;
    throw error;
  }
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

function isMissing(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'code' in error && error.code === 'ENOENT';
}

/** Ids become paths, so nothing but an id is accepted. */
function checked(id: string): string {
  if (!isLowercaseUuid(id)) throw new Error(`"${id}" is not the id of a file`);
  return id;
}
