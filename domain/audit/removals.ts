/**
 * Notes of the entries that were removed after their time. The database writes them (`note_audit_removal`),
 * each with the hash of the one before, and refuses younger entries; here they are checked.
 */
import { createHash } from 'node:crypto';

import type { EntityManager } from '../../db/orm.ts';
import { FIRST_HASH, type Seal } from './seal.ts';

/** The shortest time that entries are kept, as in `prune_audit`. */
const MIN_DAYS = 30;

export interface Removal {
  no: string;
  /** The entries of the seals from this one to the last one were removed. */
  first_seal: string;
  last_seal: string;
  /** Of the last one. */
  seal_hash: Buffer;
  days: number;
  removed_at: string;
  /** All entries were older than this. */
  older_than: string;
  is_future: boolean;
  previous_hash: Buffer;
  hash: Buffer;
}

type HashedRemoval = Omit<Removal, 'hash' | 'older_than' | 'is_future'>;

const FORMAT = `'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'`;
const COLUMNS = `r.no::text as no, r.first_seal::text as first_seal, r.last_seal::text as last_seal,
  r.seal_hash, r.days, to_char(r.removed_at at time zone 'UTC', ${FORMAT}) as removed_at,
  to_char((r.removed_at - make_interval(days => r.days)) at time zone 'UTC', ${FORMAT}) as older_than,
  r.removed_at > clock_timestamp() as is_future, r.previous_hash, r.hash`;

/** As the function `hash_audit_removal` of the database. */
export function hashOfRemoval(removal: HashedRemoval): Buffer {
  const { no, first_seal, last_seal, seal_hash, days, removed_at, previous_hash } = removal;
  return createHash('sha256')
    .update(previous_hash)
    .update(seal_hash)
    .update([no, first_seal, last_seal, days, removed_at].join('|'))
    .digest();
}

/** The notes about seals after one, oldest first, and whether each follows the one before it. */
export async function removalsAfter(
  em: EntityManager,
  seal: bigint,
  limit: number,
): Promise<{ removal: Removal; fits: boolean }[]> {
  const read = (where: string, values: unknown[]): Promise<Removal[]> =>
    em.execute<Removal[]>(`select ${COLUMNS} from audit_removal r where ${where}`, values);
  const [former] = await read('r.last_seal <= ? order by r.no desc limit 1', [String(seal)]);
  const removals = await read('r.last_seal > ? order by r.no limit ?', [String(seal), limit]);
  let previous = former;
  return removals.map((removal) => {
    const fits = follows(removal, previous);
    previous = removal;
    return { removal, fits };
  });
}

function follows(removal: Removal, previous: Removal | undefined): boolean {
  return (
    BigInt(removal.no) === BigInt(previous?.no ?? '0') + 1n &&
    BigInt(removal.first_seal) === BigInt(previous?.last_seal ?? '0') + 1n &&
    BigInt(removal.first_seal) <= BigInt(removal.last_seal) &&
    removal.previous_hash.equals(previous?.hash ?? FIRST_HASH) &&
    removal.hash.equals(hashOfRemoval(removal)) &&
    removal.days >= MIN_DAYS &&
    !removal.is_future
  );
}

export function isAbout({ first_seal: first, last_seal: last }: Removal, { no }: Seal): boolean {
  return BigInt(first) <= BigInt(no) && BigInt(no) <= BigInt(last);
}

/** The newest note, for the log of the process. */
export async function newestRemoval(em: EntityManager): Promise<Removal | null> {
  const [row] = await em.execute<Removal[]>(
    `select ${COLUMNS} from audit_removal r order by r.no desc limit 1`,
  );
  return row ?? null;
}
