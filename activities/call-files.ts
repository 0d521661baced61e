/** The platform's files for a call, read and stored with the rights of the run's owner. */
import { fault } from '../contracts/fault.ts';
import type { FileContentMissing, FileStoreUnavailable } from '../domain/files/ports.ts';
import type { CallFiles } from '../domain/ports.ts';
import type { ActivityDeps } from './deps.ts';
import { FilesOfRun } from './files-of-run.ts';

/** The most bytes that one message may contain. */
const MAX_SENT_BYTES = 16 * 1024 * 1024;
/** Links outlive their call, because the counterpart may still use them afterwards. */
const LINK_MARGIN_SECONDS = 3_600;

export interface FilesOfCall extends CallFiles {
  /** The last failure of the file store, even if an adapter or library has wrapped or replaced it. */
  storeFailure(): FileStoreUnavailable | FileContentMissing | null;
}

/** As `CallFiles` has it. */
export async function openFile(files: FilesOfRun, fileId: string): ReturnType<CallFiles['open']> {
  const file = await files.find(fileId);
  if (!file) return null;
  const { id, name, media_type, size } = file;
  return { name, media_type, size, chunks: async () => files.chunksOf(id) };
}

export function callFiles(deps: ActivityDeps, runId: string, timeoutMs: number): FilesOfCall {
  const files = new FilesOfRun(deps, runId);
  let sentBytes = 0;
  return {
    storeFailure: () => files.storeFailure,
    store: (content, file) => files.store(content, file),
    async read(fileId) {
      const file = await files.find(fileId);
      if (!file) return null;
      sentBytes += file.size;
      if (sentBytes > MAX_SENT_BYTES)
        throw fault(
          'validation',
          `The file ${file.name} is too large to be sent along (${MAX_SENT_BYTES} bytes in all)`,
        );
      const chunks: Buffer[] = [];
      for await (const chunk of files.chunksOf(file.id)) chunks.push(Buffer.from(chunk));
      return { bytes: Buffer.concat(chunks), name: file.name, media_type: file.media_type };
    },
    open: (fileId) => openFile(files, fileId),
    discard: (fileId) => files.discard(fileId),
    async link(fileId) {
      const file = await files.find(fileId);
      return file && deps.fileLink(file.id, Math.ceil(timeoutMs / 1000) + LINK_MARGIN_SECONDS);
    },
  };
}
