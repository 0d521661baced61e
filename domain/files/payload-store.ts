/** Big payloads of Temporal histories, by the digest of their content: the row says that one exists, its bytes are in the file store or in the row. */
import { v7 as uuidv7 } from 'uuid';
import type { EntityManager } from '../../db/orm.ts';
import { FileContentMissing, FileStoreUnavailable, type FileStore } from './ports.ts';

export interface PayloadStoreOptions {
  fork: () => EntityManager;
  files: FileStore;
  /** Whether new ones go to the file store. What is there is read wherever it is. */
  inFiles: boolean;
}

export interface BigPayloads {
  /** Durable when it returns: a reference to it may be written. What is there already stays, its time renewed. */
  put(digest: string, data: Uint8Array): Promise<void>;
  /** Null if there is none. Throws where there should be one. */
  get(digest: string): Promise<Uint8Array | null>;
}

export function createPayloadStore({ fork, files, inFiles }: PayloadStoreOptions): BigPayloads {
  return {
    put: (digest, data) => (inFiles ? putFile(fork(), files, digest, data) : putRow(fork(), digest, data)),
    async get(digest) {
      const [row] = await fork().execute<{ data: Buffer | null; file_id: string | null }[]>(`select data, file_id from temporal_payload where digest = ?`, [digest]);
      if (!row) return null;
      return row.file_id === null ? row.data : readFile(files, row.file_id);
    },
  };
}

async function putRow(em: EntityManager, digest: string, data: Uint8Array): Promise<void> {
  await em.execute(`insert into temporal_payload (digest, data) values (?, ?) on conflict (digest) do update set used_at = clock_timestamp()`, [digest, Buffer.from(data)]);
}

async function putFile(em: EntityManager, files: FileStore, digest: string, data: Uint8Array): Promise<void> {
  const known = await em.execute<object[]>(`update temporal_payload set used_at = clock_timestamp() where digest = ? returning 1`, [digest]);
  if (known.length > 0) return;
  const id = uuidv7();
  try {
    const received = await files.receive(id, once(data), { maxBytes: data.length });
    await received.keep().catch(async (error: unknown) => {
      await received.discard();
      throw error;
    });
  } catch (error) {
    // Whatever it is (a full disk, a service that is away): it passes, and who needs the value tries again.
    throw error instanceof FileStoreUnavailable ? error : new FileStoreUnavailable('a large value cannot be stored', { cause: error });
  }
  const [row] = await em.execute<{ file_id: string | null }[]>(
    `insert into temporal_payload (digest, file_id) values (?, ?) on conflict (digest) do update set used_at = clock_timestamp() returning file_id`,
    [digest, id],
  );
  // Another process was faster. If this one dies here, the sweep finds what no row knows.
  if (row?.file_id !== id) await files.remove(id);
}

async function readFile(files: FileStore, id: string): Promise<Uint8Array> {
  try {
    const chunks: Buffer[] = [];
    for await (const chunk of await files.open(id)) chunks.push(chunk as Buffer);
    return Buffer.concat(chunks);
  } catch (error) {
    if (!(error instanceof FileContentMissing)) throw error;
    throw new Error('A large value of a run is not in the file store of this process: api and worker need the same FILES_DIR or bucket, or FILES_LARGE_VALUES=false', { cause: error });
  }
}

async function* once(data: Uint8Array): AsyncGenerator<Uint8Array> {
  yield data;
}
