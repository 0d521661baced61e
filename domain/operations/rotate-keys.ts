/**
 * Re-encrypts data at rest with the current key, in batches that commit separately: an interrupted rotation
 * can be repeated and continues with the rest. It locks the rows that it changes, so it can run during live
 * traffic and concurrently with itself.
 */
import { v7 as uuidv7 } from 'uuid';
import { UNDER_WAY_STATUSES } from '../../contracts/run-events.ts';
import type { EntityManager } from '../../db/orm.ts';
import { arrayLiteral, isOneOf } from '../../db/sql.ts';
import { keepStored, readStored, type BigPayload } from '../files/payload-store.ts';
import { FileContentMissing, type FileStore } from '../files/ports.ts';
import { opened, type Encryption } from '../secrets/encryption.ts';
import { field, SEALED, type Key, type SealedColumn } from '../secrets/sealed-columns.ts';

export interface RotationDeps {
  fork: () => EntityManager;
  encryption: Encryption;
  /** The id of the first key of ENCRYPTION_KEYS. */
  keyId: string;
  files: FileStore;
  /** Re-encrypts a stored value with the current key. */
  reseal: (digest: string, stored: BigPayload) => BigPayload;
}

export interface Rotated {
  done: number;
  /** Values that no key of ENCRYPTION_KEYS decrypts, or whose content is missing. */
  failed: string[];
}

const SEALED_BATCH = 200;
/** Each payload can have 16 MiB. */
const PAYLOAD_BATCH = 4;
const RUN_BATCH = 200;

/** All columns that `encryption.ts` has encrypted. */
export async function rotateSealed(deps: RotationDeps): Promise<Rotated> {
  const all: Rotated = { done: 0, failed: [] };
  for (const column of SEALED) {
    let after: Key | null = null;
    for (;;) {
      const batch: Batch = await rotateBatch(deps, column, after);
      all.done += batch.done;
      all.failed.push(...batch.failed);
      after = batch.last;
      if (after === null) break;
    }
  }
  return all;
}

interface Batch extends Rotated {
  /** Where the next batch continues; null after the last. */
  last: Key | null;
}

/** Goes in the order of the primary key, and waits for locked rows so that none is skipped. */
async function rotateBatch(
  { fork, encryption, keyId }: RotationDeps,
  sealed: SealedColumn,
  after: Key | null,
): Promise<Batch> {
  const { table, column, key, context } = sealed;
  const columns = key.map((name) => `${name}::text`).join(', ');
  const from = after === null ? '' : `and (${columns}) > (${key.map(() => '?').join(', ')})`;
  return fork().transactional(async (em) => {
    const rows = await em.execute<Key[]>(
      `select ${columns}, ${column} as sealed from ${table}
        where split_part(${column}, '.', 2) <> ? ${from}
        order by ${columns} limit ${SEALED_BATCH} for update`,
      [keyId, ...(after === null ? [] : key.map((name) => field(after, name)))],
    );
    const batch: Batch = {
      done: 0,
      failed: [],
      last: rows.length < SEALED_BATCH ? null : (rows.at(-1) ?? null),
    };
    for (const row of rows) {
      const where = key.map((name) => field(row, name));
      const plain = opened(encryption, field(row, 'sealed'), context(row));
      if (plain === null) batch.failed.push(`${table} ${where.join(' ')}`);
      else {
        await em.execute(
          `update ${table} set ${column} = ? where ${key.map((name) => `${name}::text = ?`).join(' and ')}`,
          [encryption.encrypt(plain, context(row)), ...where],
        );
        batch.done += 1;
      }
    }
    return batch;
  });
}

/**
 * Large values of runs. The new file exists before the row names it, and the old one is removed afterwards; a
 * file left over by a crash is removed by the sweep.
 */
export async function rotatePayloads(deps: RotationDeps): Promise<Rotated> {
  const all: Rotated = { done: 0, failed: [] };
  let after = '';
  for (;;) {
    const { rows, removable } = await rotatePayloadBatch(deps, after, all);
    for (const id of removable) await deps.files.remove(id);
    const last = rows.at(-1);
    if (last === undefined) return all;
    after = last;
  }
}

interface PayloadRow {
  digest: string;
  data: Buffer | null;
  file_id: string | null;
  key_id: string | null;
}

async function rotatePayloadBatch(
  { fork, files, keyId, reseal }: RotationDeps,
  after: string,
  all: Rotated,
): Promise<{ rows: string[]; removable: string[] }> {
  return fork().transactional(async (em) => {
    const rows = await em.execute<PayloadRow[]>(
      `select digest, data, file_id, key_id from temporal_payload
        where digest > ? and key_id is distinct from ? order by digest limit ${PAYLOAD_BATCH} for update`,
      [after, keyId],
    );
    const removable: string[] = [];
    for (const { digest, data, file_id: fileId, key_id: oldKey } of rows) {
      const stored = fileId === null ? data : await orNull(readStored(files, fileId));
      const sealed = stored && resealed(reseal, digest, { data: stored, keyId: oldKey });
      if (!sealed) all.failed.push(`temporal_payload ${digest}`);
      else if (fileId === null)
        await em.execute(`update temporal_payload set data = ?, key_id = ? where digest = ?`, [
          Buffer.from(sealed.data),
          keyId,
          digest,
        ]);
      else {
        await em.execute(`update temporal_payload set file_id = ?, key_id = ? where digest = ?`, [
          await keepStored(files, sealed.data),
          keyId,
          digest,
        ]);
        removable.push(fileId);
      }
      if (sealed) all.done += 1;
    }
    return { rows: rows.map(({ digest }) => digest), removable };
  });
}

function resealed(reseal: RotationDeps['reseal'], digest: string, stored: BigPayload): BigPayload | null {
  try {
    return reseal(digest, stored);
  } catch {
    return null;
  }
}

async function orNull<T>(work: Promise<T>): Promise<T | null> {
  return work.catch((error: unknown) => {
    if (error instanceof FileContentMissing) return null;
    throw error;
  });
}

/**
 * Asks the next active runs that were not asked before to continue in a new execution. @returns the ids of
 * their signals; none at the end
 */
export async function askToRenew(em: EntityManager, keyId: string): Promise<string[]> {
  const ids = Array.from({ length: RUN_BATCH }, () => uuidv7());
  const rows = await em.execute<{ id: string }[]>(
    `with asked as (
       select r.id, row_number() over (order by r.id) as n from run r
        where ${isOneOf('r.status', UNDER_WAY_STATUSES)}
          and not exists (select 1 from run_signal s
                           where s.run_id = r.id and s.kind = 'renew' and s.payload ->> 'key' = ?)
        order by r.id limit ${RUN_BATCH})
     insert into run_signal (id, run_id, kind, payload)
     select (?::uuid[])[asked.n], asked.id, 'renew', json_build_object('key', ?::text)
       from asked returning id`,
    [keyId, arrayLiteral(ids), keyId],
  );
  return rows.map(({ id }) => id);
}

/** When the first rotation to this key began. Executions from before may still need one of the other keys. */
export async function rotationStart(
  em: EntityManager,
  keyId: string,
  keyIds: readonly string[],
): Promise<Date> {
  await em.execute(`insert into encryption_key (id) select unnest(?::text[]) on conflict do nothing`, [
    arrayLiteral(keyIds),
  ]);
  const [row] = await em.execute<{ at: string | Date }[]>(
    `update encryption_key set rotation_started_at = coalesce(rotation_started_at, clock_timestamp())
      where id = ? returning rotation_started_at as at`,
    [keyId],
  );
  if (!row) throw new Error('the current key is not recorded');
  return new Date(row.at);
}

/** Records that no open execution needs the other keys any more. @returns since when, by key */
export async function noteRunsMoved(
  em: EntityManager,
  keyId: string,
): Promise<{ id: string; since: Date }[]> {
  const rows = await em.execute<{ id: string; since: string | Date }[]>(
    `update encryption_key set runs_moved_at = coalesce(runs_moved_at, clock_timestamp())
      where id <> ? returning id, runs_moved_at as since`,
    [keyId],
  );
  return rows
    .map(({ id, since }) => ({ id, since: new Date(since) }))
    .toSorted((a, b) => a.id.localeCompare(b.id));
}
