import { Context } from '@temporalio/activity';
import { fault } from '../contracts/fault.ts';
import { isUuid } from '../contracts/uuid.ts';
import type { StoredFile } from '../db/entities/stored-file.ts';
import { AppError } from '../domain/errors.ts';
import { FileContentMissing, FileStoreUnavailable } from '../domain/files/ports.ts';
import { linkFiles, readableFiles } from '../domain/files/run-files.ts';
import { addFile, MAX_FILE_BYTES, readFile, receiveFile, storeFile } from '../domain/files/service.ts';
import type { FileReference } from '../domain/ports.ts';
import type { ActivityDeps } from './deps.ts';

type EntityManager = ReturnType<ActivityDeps['orm']['em']['fork']>;

type FileDeps = Pick<ActivityDeps, 'orm' | 'files' | 'limits'>;

/** The files that a run may read or add, by the rights of its owner. */
export class FilesOfRun {
  readonly #deps: FileDeps;
  readonly #runId: string;
  /** The last failure of the file store. */
  storeFailure: FileStoreUnavailable | FileContentMissing | null = null;

  constructor(deps: FileDeps, runId: string) {
    this.#deps = deps;
    this.#runId = runId;
  }

  /** Links a readable file to the run; null for any other id. */
  async find(fileId: string): Promise<StoredFile | null> {
    const file = isUuid(fileId) ? await nullIfRefused(readFile(this.#fork(), fileId)) : null;
    if (!file) return null;
    const run = { id: this.#runId, owner_id: await this.#ownerId() };
    if ((await readableFiles(this.#fork(), run, [file.id])).length === 0) return null;
    await linkFiles(this.#fork(), run, [file.id]);
    return file;
  }

  async *chunksOf(fileId: string): AsyncGenerator<Uint8Array> {
    try {
      for await (const chunk of await this.#deps.files.open(fileId)) yield chunk as Buffer;
    } catch (error) {
      // Only the store is read here, so any error is the store's.
      throw this.#noteFailure(
        isStoreFailure(error) ? error : new FileStoreUnavailable('a file cannot be read', { cause: error }),
      );
    }
  }

  /** Stores a file under this id, unless it is there already. */
  async storeOnce(
    id: string,
    content: AsyncIterable<Uint8Array>,
    { name, media_type }: { name: string; media_type: string },
  ): Promise<FileReference> {
    const stored = await nullIfRefused(readFile(this.#fork(), id));
    if (stored) return referenceTo(stored);
    const upload = await receiveFile(this.#deps.files, content, { id }).catch((error: unknown) => {
      throw this.#noteFailure(error);
    });
    try {
      const file = { owner_id: await this.#ownerId(), run_id: this.#runId, name, media_type };
      return await this.#fork().transactional(async (em) => {
        // Another attempt of the same call waits for this one, and then finds the file.
        await em.execute('select pg_advisory_xact_lock(hashtextextended(?, 0))', [id]);
        const there = await nullIfRefused(readFile(em, id));
        return referenceTo(there ?? (await addFile(em, upload, file, this.#deps.limits.storage)));
      });
    } catch (error) {
      throw quotaFault(error);
    } finally {
      await upload.discard();
    }
  }

  async store(
    content: Uint8Array | AsyncIterable<Uint8Array>,
    { name, media_type }: { name: string; media_type: string },
  ): Promise<FileReference> {
    const source = content instanceof Uint8Array ? once(content) : content;
    try {
      const owned = { owner_id: await this.#ownerId(), run_id: this.#runId, name, media_type };
      const { files, limits } = this.#deps;
      const file = await storeFile(this.#fork(), files, source, owned, limits.storage);
      return referenceTo(file);
    } catch (error) {
      if (error instanceof AppError && error.kind === 'too_large')
        throw fault('communication', `A file of the answer is larger than ${MAX_FILE_BYTES} bytes`, {
          status: 502,
        });
      throw quotaFault(this.#noteFailure(error));
    }
  }

  /** Deletes a file that the platform has stored for this run; harmless for any other. */
  async discard(id: string): Promise<void> {
    const removed = await this.#fork().execute<{ id: string }[]>(
      `delete from file f using run_file r
        where f.id = ? and f.of_runs and r.file_id = f.id and r.run_id = ?
          and not exists (select from run_file o where o.file_id = f.id and o.run_id <> r.run_id)
        returning f.id`,
      [id, this.#runId],
    );
    if (removed.length > 0) await this.#deps.files.remove(id);
  }

  async #ownerId(): Promise<string> {
    const [run] = await this.#fork().execute<{ owner_id: string }[]>(
      `select owner_id from run where id = ?`,
      [this.#runId],
    );
    if (!run) throw new Error('the run is gone');
    return run.owner_id;
  }

  #noteFailure(error: unknown): unknown {
    if (isStoreFailure(error)) this.storeFailure = error;
    return error;
  }

  #fork(): EntityManager {
    return this.#deps.orm.em.fork();
  }
}

/** A quota that refuses a file is a fault of the task, which may catch it: a repeat would not help. */
export function quotaFault(error: unknown): unknown {
  const isQuota = error instanceof AppError && error.code === 'limit_reached';
  return isQuota ? fault('runtime', error.detail, { status: 507 }) : error;
}

function referenceTo({ id, name, media_type, size, sha256 }: StoredFile): FileReference {
  return { file_id: id, name, media_type, size, sha256 };
}

function isStoreFailure(error: unknown): error is FileStoreUnavailable | FileContentMissing {
  return error instanceof FileStoreUnavailable || error instanceof FileContentMissing;
}

/** About half a minute of retries, because another worker may see a file that this one does not. */
const LOST_AFTER_ATTEMPTS = 10;

/** Whether the content of a file is gone, and another attempt of the activity would not find it either. */
export function isLost(failure: unknown): failure is FileContentMissing {
  return failure instanceof FileContentMissing && Context.current().info.attempt >= LOST_AFTER_ATTEMPTS;
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

async function nullIfRefused<T>(found: Promise<T>): Promise<T | null> {
  try {
    return await found;
  } catch (error) {
    if (error instanceof AppError) return null;
    throw error;
  }
}
