/** The platform's files for a call: with the rights, and in the name, of who owns the run. */
import { linkFiles, usesFile } from '../domain/files/run-files.ts';
import { maxFileBytes, readFile, storeFile } from '../domain/files/service.ts';
import { AppError } from '../domain/errors.ts';
import { fault } from '../contracts/fault.ts';
import type { CallFiles } from '../domain/ports.ts';
import type { ActivityDeps } from './deps.ts';

/** What is sent along in one message. */
const MAX_SENT_BYTES = 16 * 1024 * 1024;

export function callFiles(deps: ActivityDeps, runId: string): CallFiles {
  const owner = async (): Promise<string> => {
    const [run] = await deps.orm.em.fork().execute<{ owner_id: string }[]>(`select owner_id from run where id = ?`, [runId]);
    if (!run) throw new Error('the run is gone');
    return run.owner_id;
  };
  return {
    async store(bytes, { name, media_type }) {
      if (bytes.length > maxFileBytes) throw fault('communication', 'A file of the answer is too large', { status: 502 });
      const file = await storeFile(deps.orm.em.fork(), deps.files, once(bytes), { owner_id: await owner(), run_id: runId, name, media_type });
      return { file_id: file.id, name: file.name, media_type: file.media_type, size: file.size, sha256: file.sha256 };
    },
    async read(fileId) {
      const file = /^[0-9a-f-]{36}$/i.test(fileId) ? await orNull(readFile(deps.orm.em.fork(), fileId)) : null;
      if (!file) return null;
      await linkFiles(deps.orm.em.fork(), { id: runId, owner_id: await owner() }, [file.id]);
      if (!(await usesFile(deps.orm.em.fork(), runId, file.id))) return null;
      if (file.size > MAX_SENT_BYTES) throw fault('validation', `The file ${file.name} is too large to be sent along (${MAX_SENT_BYTES} bytes)`);
      const chunks: Buffer[] = [];
      for await (const chunk of await deps.files.open(file.id)) chunks.push(chunk as Buffer);
      return { bytes: Buffer.concat(chunks), name: file.name, media_type: file.media_type };
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
