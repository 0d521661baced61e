/**
 * Large payloads of Temporal histories, keyed by the digest of their content. The row registers a payload;
 * its bytes are in the file store or in the row.
 */
import { v7 as uuidv7 } from 'uuid';
import type { EntityManager } from '../../db/orm.ts';
import { FileContentMissing, FileStoreUnavailable, type FileStore } from './ports.ts';

export interface PayloadStoreOptions {
  fork: () => EntityManager;
  files: FileStore;
  /** Whether new payloads go to the file store. Existing ones are read from wherever they are. */
  inFiles: boolean;
}

export interface BigPayload {
  data: Uint8Array;
  /** The key that sealed it; null for payloads stored before key ids were recorded. */
  keyId: string | null;
}

export interface BigPayloads {
  /**
   * The payload is durable when this returns, so a reference to it may be written. An existing payload is
   * kept, and its time of use renewed.
   */
  put(digest: string, payload: BigPayload): Promise<void>;
  /** Null if there is none. @throws FileStoreUnavailable if the content is missing or the store is down */
  get(digest: string): Promise<BigPayload | null>;
}

interface PayloadRow {
  data: Buffer | null;
  file_id: string | null;
  key_id: string | null;
}

export function createPayloadStore({ fork, files, inFiles }: PayloadStoreOptions): BigPayloads {
  return {
    put: (digest, payload) =>
      inFiles ? putFile(fork(), files, digest, payload) : putRow(fork(), digest, payload),
    async get(digest) {
      for (let again = false; ; again = true) {
        const [row] = await fork().execute<PayloadRow[]>(
          `select data, file_id, key_id from temporal_payload where digest = ?`,
          [digest],
        );
        if (!row) return null;
        if (row.file_id === null) return row.data && { data: row.data, keyId: row.key_id };
        try {
          return { data: await readStored(files, row.file_id), keyId: row.key_id };
        } catch (error) {
          // The value may have been re-encrypted into a new file between the reads of row and file.
          if (again || !(error instanceof FileContentMissing)) throw unavailable(error);
        }
      }
    },
  };
}

async function putRow(em: EntityManager, digest: string, { data, keyId }: BigPayload): Promise<void> {
  await em.execute(
    `insert into temporal_payload (digest, data, key_id) values (?, ?, ?)
     on conflict (digest) do update set used_at = clock_timestamp()`,
    [digest, Buffer.from(data), keyId],
  );
}

async function putFile(
  em: EntityManager,
  files: FileStore,
  digest: string,
  { data, keyId }: BigPayload,
): Promise<void> {
  const known = await em.execute<object[]>(
    `update temporal_payload set used_at = clock_timestamp() where digest = ? returning 1`,
    [digest],
  );
  if (known.length > 0) return;
  const id = await keepStored(files, data);
  const [row] = await em.execute<{ file_id: string | null }[]>(
    `insert into temporal_payload (digest, file_id, key_id) values (?, ?, ?)
     on conflict (digest) do update set used_at = clock_timestamp() returning file_id`,
    [digest, id, keyId],
  );
  // Another process stored it first. If this process dies here, the sweep removes the file.
  if (row?.file_id !== id) await files.remove(id);
}

/** @returns the id of the new file. @throws FileStoreUnavailable */
export async function keepStored(files: FileStore, data: Uint8Array): Promise<string> {
  const id = uuidv7();
  try {
    const received = await files.receive(id, once(data), { maxBytes: data.length });
    await received.keep().catch(async (error: unknown) => {
      await received.discard();
      throw error;
    });
    return id;
  } catch (error) {
    // Any cause (a full disk, a service outage) is temporary; the caller retries.
    throw error instanceof FileStoreUnavailable
      ? error
      : new FileStoreUnavailable('a large value cannot be stored', { cause: error });
  }
}

/** @throws FileContentMissing, FileStoreUnavailable */
export async function readStored(files: FileStore, id: string): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of await files.open(id)) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

function unavailable(error: unknown): unknown {
  if (!(error instanceof FileContentMissing)) return error;
  return new FileStoreUnavailable(
    'A large value of a run is not in the file store of this process: ' +
      'api and worker need the same FILES_DIR or bucket, or FILES_LARGE_VALUES=false',
    { cause: error },
  );
}

async function* once(data: Uint8Array): AsyncGenerator<Uint8Array> {
  yield data;
}
