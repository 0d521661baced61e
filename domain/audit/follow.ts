/**
 * Reads the audit log oldest first, for programs that come back with their last place and must not miss or
 * double an entry. It gives what is sealed, in the order of the seals: no entry comes into a sealed range
 * later, however long its transaction was open (docs/adr/0053-audit-chain.md).
 */
import type { EntityManager } from '../../db/orm.ts';
import type { Actor } from '../auth/actor.ts';
import { AppError } from '../errors.ts';
import {
  ENTRY_COLUMNS,
  HELD_BY_TEAM,
  MOVED_TO_TEAM,
  visibleEntries,
  type AuditEntry,
  type AuditFilter,
} from './list.ts';
import { newestRemoval } from './removals.ts';
import { ceilingOf, SEAL_COLUMNS, type Seal } from './seal.ts';

/** What one call looks through at most: a seal of one large transaction has more entries. */
const MAX_SEALS = 2_000;
const MAX_ENTRIES = 10_000;
const DIGEST_BYTES = 8;
/** Below every id. */
const NO_ID = '0';

/**
 * A place in the log. All before it was read: the seals before `no`, and of that one the entries up to `tx`
 * and `id`. Its digest tells a seal of another log with the same number, such as after a restore.
 */
export type AuditPlace = [no: string, digest: string, tx: string, id: string];

type PlacedEntry = AuditEntry & { place: AuditPlace };

interface Followed {
  entries: PlacedEntry[];
  /** After all that was looked through, also without an entry; the same as before if nothing is new. */
  next: AuditPlace | null;
}

/**
 * The first entries after a place that the actor may see and the filter finds; null: from the oldest one.
 * @throws 410 if the entries after it were removed after their time, or if the log has no such place; 403,
 * 404 as `visibleEntries`
 */
export async function followAudit(
  em: EntityManager,
  actor: Actor,
  filter: AuditFilter,
  { after, limit }: { after: AuditPlace | null; limit: number },
): Promise<Followed> {
  const where = visibleEntries(actor, filter);
  if (filter.team_id !== undefined)
    where.add(`(${HELD_BY_TEAM} or ${MOVED_TO_TEAM})`, filter.team_id, filter.team_id);
  const last = after === null ? null : await sealAt(em, after);
  const isAtEnd = last === null || isEndOf(last, after);
  const seals = await nextSeals(em, last, isAtEnd);
  const [first] = seals;
  const newest = seals.at(-1);
  if (first === undefined || newest === undefined) {
    await refuseRemoved(em, last, isAtEnd);
    return { entries: [], next: after };
  }
  where.add('e.tx >= ?::xid8 and e.tx < ?::xid8', first.from_tx, newest.to_tx);
  where.add('e.id > ?::bigint and e.id <= ?::bigint', first.floor_id, await ceilingOf(em, first));
  if (after !== null && !isAtEnd) where.add('(e.tx, e.id) > (?::xid8, ?::bigint)', after[2], after[3]);
  const rows = await em.execute<(AuditEntry & { tx: string })[]>(
    `select ${ENTRY_COLUMNS}, e.tx::text as tx
       from audit_entry e left join user_account u on u.id = e.actor_id
      where ${where.sql} order by e.tx, e.id limit ?`,
    [...where.values, limit + 1],
  );
  // Afterwards, so that a removal between the two is not missed.
  await refuseRemoved(em, last, isAtEnd);
  const entries = placed(rows, seals).slice(0, limit);
  const isCut = rows.length > limit;
  return { entries, next: (isCut ? entries.at(-1)?.place : undefined) ?? endOf(newest) };
}

async function sealAt(em: EntityManager, [no, digest]: AuditPlace): Promise<Seal> {
  const [seal] = await em.execute<Seal[]>(`select ${SEAL_COLUMNS} from audit_seal s where s.no = ?`, [no]);
  if (seal !== undefined && digestOf(seal) === digest) return seal;
  throw new AppError(
    'gone',
    'no_such_place',
    'The audit log has no such place: it was restored from a backup, or the cursor is of another ' +
      'installation. Begin with after=0, and with "from" for what is missing.',
  );
}

/** Seals of one order of transactions (seal.ts), as many as one call looks through. */
async function nextSeals(em: EntityManager, last: Seal | null, isAtEnd: boolean): Promise<Seal[]> {
  const found = await em.execute<Seal[]>(
    `select ${SEAL_COLUMNS} from audit_seal s
      where s.no > greatest(?::bigint, (select r.last_seal from audit_removal r order by r.no desc limit 1))
      order by s.no limit ?`,
    [last?.no ?? '0', MAX_SEALS],
  );
  const all = isAtEnd || last === null ? found : [last, ...found];
  const seals: Seal[] = [];
  let entries = 0;
  for (const seal of all) {
    entries += seal.entries;
    if (seals[0] !== undefined && (entries > MAX_ENTRIES || seal.floor_id !== seals[0].floor_id)) break;
    seals.push(seal);
  }
  return seals;
}

async function refuseRemoved(em: EntityManager, last: Seal | null, isAtEnd: boolean): Promise<void> {
  if (last === null) return;
  const removed = BigInt((await newestRemoval(em))?.last_seal ?? '0');
  if (removed < BigInt(last.no) || (removed === BigInt(last.no) && isAtEnd)) return;
  throw new AppError(
    'gone',
    'entries_removed',
    'Entries after this cursor were removed after their time (AUDIT_RETENTION_DAYS). Begin with after=0: ' +
      'with the oldest that are kept.',
  );
}

/** Each with the place after it: at the end of its seal if nothing of that follows. */
function placed(rows: readonly (AuditEntry & { tx: string })[], seals: readonly Seal[]): PlacedEntry[] {
  let index = 0;
  const sealOf = (tx: string): Seal | undefined => {
    while (index < seals.length - 1 && BigInt(seals[index]?.to_tx ?? '0') <= BigInt(tx)) index += 1;
    return seals[index];
  };
  const found = rows.map(({ tx, ...entry }) => ({ tx, entry, seal: sealOf(tx) }));
  return found.flatMap(({ tx, entry, seal }, nth) => {
    if (seal === undefined) return [];
    const isLast = found[nth + 1]?.seal !== seal;
    return [{ ...entry, place: isLast ? endOf(seal) : [seal.no, digestOf(seal), tx, entry.id] }];
  });
}

/** All entries of the seal have lower transactions. */
function endOf(seal: Seal): AuditPlace {
  return [seal.no, digestOf(seal), seal.to_tx, NO_ID];
}

function isEndOf(seal: Seal, place: AuditPlace | null): boolean {
  return place !== null && BigInt(place[2]) >= BigInt(seal.to_tx);
}

function digestOf({ hash }: Seal): string {
  return hash.subarray(0, DIGEST_BYTES).toString('hex');
}
