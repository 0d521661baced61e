/** The platform's files for a call: with the rights, and in the name, of who owns the run. */
import { fault } from '../contracts/fault.ts';
import type { StoredFile } from '../db/entities/stored-file.ts';
import { AppError } from '../domain/errors.ts';
import { linkFiles, readableFiles } from '../domain/files/run-files.ts';
import { maxFileBytes, readFile, storeFile } from '../domain/files/service.ts';
import type { CallFiles } from '../domain/ports.ts';
import type { ActivityDeps } from './deps.ts';

/** What is sent along in one message. */
const MAX_SENT_BYTES = 16 * 1024 * 1024;
/** A link outlives its call: what began to work with it may still fetch. */
const LINK_MARGIN_S = 3_600;

export function callFiles(deps: ActivityDeps, runId: string, timeoutMs: number): CallFiles {
  const fork = () => deps.orm.em.fork();
  const owner = async (): Promise<string> => {
    const [run] = await fork().execute<{ owner_id: string }[]>(`select owner_id from run where id = ?`, [runId]);
    if (!run) throw new Error('the run is gone');
    return run.owner_id;
  };
  const readable = async (fileId: string): Promise<StoredFile | null> => {
    const file = /^[0-9a-f-]{36}$/i.test(fileId) ? await orNull(readFile(fork(), fileId)) : null;
    if (!file) return null;
    const run = { id: runId, owner_id: await owner() };
    if ((await readableFiles(fork(), run, [file.id])).length === 0) return null;
    await linkFiles(fork(), run, [file.id]);
    return file;
  };
  let sent = 0;
  return {
    async store(content, { name, media_type }) {
      try {
        const source = content instanceof Uint8Array ? once(content) : content;
        const file = await storeFile(fork(), deps.files, source, { owner_id: await owner(), run_id: runId, name, media_type });
        return { file_id: file.id, name: file.name, media_type: file.media_type, size: file.size, sha256: file.sha256 };
      } catch (error) {
        if (error instanceof AppError && error.kind === 'too_large') throw fault('communication', `A file of the answer is larger than ${maxFileBytes} bytes`, { status: 502 });
        throw error;
      }
    },
    async read(fileId) {
      const file = await readable(fileId);
      if (!file) return null;
      sent += file.size;
      if (sent > MAX_SENT_BYTES) throw fault('validation', `The file ${file.name} is too large to be sent along (${MAX_SENT_BYTES} bytes in all)`);
      const chunks: Buffer[] = [];
      for await (const chunk of await deps.files.open(file.id)) chunks.push(chunk as Buffer);
      return { bytes: Buffer.concat(chunks), name: file.name, media_type: file.media_type };
    },
    async open(fileId) {
      const file = await readable(fileId);
      return file && { name: file.name, media_type: file.media_type, size: file.size, chunks: () => deps.files.open(file.id) };
    },
    async link(fileId) {
      const file = await readable(fileId);
      return file && deps.fileLink(file.id, Math.ceil(timeoutMs / 1000) + LINK_MARGIN_S);
    },
  };
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

async function orNull<T>(found: Promise<T>): Promise<T | null> {
  try {
    return await found;
  } catch (error) {
    if (error instanceof AppError) return null;
    throw error;
  }
}
