/** The file store on a local folder: `incoming/` holds what is being received, a file under its id is whole. */
import { createHash } from 'node:crypto';
import { access, constants, mkdir, open, readdir, rename, rm, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { v7 as uuidv7 } from 'uuid';

import { FileContentMissing, FileTooLarge, type FileStore } from './ports.ts';

const INCOMING = 'incoming';
const SWEEP_BATCH = 500;
const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** All processes that serve or sweep files need the same folder. It is made when first written to. */
export function createLocalFileStore(folder: string): FileStore {
  const incoming = join(folder, INCOMING);
  // The end of a UUIDv7 is random: files spread evenly over 256 folders.
  const shardOf = (id: string): string => join(folder, checked(id).slice(-2));
  const pathOf = (id: string): string => join(shardOf(id), id);

  return {
    async receive(id, source, { maxBytes }) {
      await mkdir(incoming, { recursive: true, mode: 0o700 });
      // A name of its own, so that two attempts at one id never write to one file.
      const part = join(incoming, `${checked(id)}.${uuidv7()}`);
      const discard = () => rm(part, { force: true });
      try {
        const written = await write(part, source, maxBytes);
        return { ...written, discard, keep: () => place(part, shardOf(id), pathOf(id)) };
      } catch (error) {
        await discard();
        throw error;
      }
    },
    async open(id, range) {
      const handle = await open(pathOf(id), 'r').catch((error: unknown) => {
        throw isMissing(error) ? new FileContentMissing(`the content of file ${id} is gone`, { cause: error }) : error;
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
    remove: (id) => rm(pathOf(id), { force: true }),
    async sweep({ before, known }) {
      let removed = 0;
      for await (const path of olderFiles(incoming, before)) removed += await removeFile(path);
      for (const shard of await namesIn(folder)) {
        if (!/^[0-9a-f]{2}$/.test(shard)) continue;
        const ids = (await namesIn(join(folder, shard))).filter((name) => ID.test(name));
        for (let at = 0; at < ids.length; at += SWEEP_BATCH) {
          const batch = ids.slice(at, at + SWEEP_BATCH);
          const belonging = await known(batch);
          for (const id of batch) {
            if (!belonging.has(id) && (await isOlder(pathOf(id), before))) removed += await removeFile(pathOf(id));
          }
        }
      }
      return removed;
    },
  };
}

async function write(path: string, source: AsyncIterable<Uint8Array>, maxBytes: number): Promise<{ size: number; sha256: string }> {
  const hash = createHash('sha256');
  const handle = await open(path, 'wx', 0o600);
  let size = 0;
  try {
    for await (const chunk of source) {
      size += chunk.length;
      if (size > maxBytes) throw new FileTooLarge(`larger than ${maxBytes} bytes`);
      hash.update(chunk);
      await handle.writeFile(chunk);
    }
    await handle.sync();
  } finally {
    await handle.close();
  }
  return { size, sha256: hash.digest('hex') };
}

/** The rename shows all of the file or none; the folders are synced so that it outlives a power cut. */
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

/** By the last write: an upload that still goes on is young. */
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

/** Ids become paths: nothing else may. */
function checked(id: string): string {
  if (!ID.test(id)) throw new Error(`"${id}" is not the id of a file`);
  return id;
}
