/**
 * Tries to open some of what is encrypted. Before check values were recorded, another key under the id of the
 * right one could encrypt values that no key opens now.
 */
import type { EncryptionKey } from '../../config/env-types.ts';
import type { EntityManager } from '../../db/orm.ts';
import { arrayLiteral } from '../../db/sql.ts';
import type { BigPayload } from '../files/payload-store.ts';
import { createEncryption, opened } from './encryption.ts';
import { field, SEALED, type Key, type SealedColumn } from './sealed-columns.ts';

/** Values of each column, the newest ones: what is in use, whatever the size of the table. */
export const SAMPLE = 20;
/** Of one large value of a run; larger ones are left out. */
const MAX_PAYLOAD_BYTES = 1_048_576;

export interface SealedSample {
  table: string;
  column: string;
  tried: number;
  /** Primary keys of those that no key opens, the newest first. */
  unopened: string[];
}

export interface SampleDeps {
  em: EntityManager;
  keys: readonly EncryptionKey[];
  /** Re-encrypts a large value of a run. Throws if no key opens it. */
  reseal: (digest: string, stored: BigPayload) => unknown;
}

/** Columns without values are left out. Values under an id that is not among the keys are not tried. */
export async function trySealed({ em, keys, reseal }: SampleDeps): Promise<SealedSample[]> {
  const encryption = createEncryption(keys);
  const ids = arrayLiteral(keys.map(({ id }) => id));
  const samples: SealedSample[] = [];
  for (const sealed of SEALED) {
    const { table, column, key, context } = sealed;
    const rows = await newest(em, sealed, ids);
    const unopened = rows.filter((row) => opened(encryption, field(row, 'sealed'), context(row)) === null);
    const named = unopened.map((row) => key.map((name) => field(row, name)).join(' '));
    samples.push({ table, column, tried: rows.length, unopened: named });
  }
  samples.push(await tryPayloads(em, ids, reseal));
  return samples.filter(({ tried }) => tried > 0);
}

function newest(em: EntityManager, { table, column, key, age }: SealedColumn, ids: string): Promise<Key[]> {
  const columns = key.map((name) => `${name}::text`).join(', ');
  return em.execute<Key[]>(
    `select ${columns}, ${column} as sealed from ${table}
      where split_part(${column}, '.', 2) = any(?::text[]) order by ${age} desc limit ${SAMPLE}`,
    [ids],
  );
}

/** Those that are in the database; what is in the file store may be far away. */
async function tryPayloads(
  em: EntityManager,
  ids: string,
  reseal: SampleDeps['reseal'],
): Promise<SealedSample> {
  const rows = await em.execute<{ digest: string; data: Buffer; key_id: string }[]>(
    `select digest, data, key_id from temporal_payload
      where data is not null and key_id = any(?::text[]) and octet_length(data) <= ${MAX_PAYLOAD_BYTES}
      order by used_at desc limit ${SAMPLE}`,
    [ids],
  );
  const unopened = rows.filter(({ digest, data, key_id: keyId }) => {
    try {
      reseal(digest, { data, keyId });
      return false;
    } catch {
      return true;
    }
  });
  return {
    table: 'temporal_payload',
    column: 'data',
    tried: rows.length,
    unopened: unopened.map(({ digest }) => digest),
  };
}
