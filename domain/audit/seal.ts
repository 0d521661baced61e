/**
 * Seals the audit log: entries are written without hashes by any number of transactions at once, and one
 * sealer puts them in order afterwards. A seal holds the hash of a block of entries and of the seal before it
 * (docs/adr/0053-audit-chain.md).
 */
import { createHash } from 'node:crypto';

import type { EntityManager } from '../../db/orm.ts';

/** Entries of a seal at most, unless one transaction has more. */
const MAX_ENTRIES = 2_000;
/** Seals that one call makes at most; the next call goes on. */
const MAX_SEALS = 50;
export const FIRST_HASH = Buffer.alloc(32);

export interface Seal {
  no: string;
  from_tx: string;
  to_tx: string;
  floor_id: string;
  last_id: string;
  entries: number;
  newest_at: string;
  entries_hash: Buffer;
  previous_hash: Buffer;
  hash: Buffer;
}

export interface SealHead {
  no: string;
  /** Hexadecimal. */
  hash: string;
}

/** An entry as text, the same on every server; the hash of a block is that of its lines. */
export const LINE = `json_build_array(e.id::text, e.tx::text,
  to_char(e.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), e.actor_id, e.actor_name, e.action,
  e.outcome, e.object_type, e.object_id, e.credential, e.credential_id, e.via, e.address, e.user_agent,
  e.request_id, e.data::text)::text`;

export const SEAL_COLUMNS = `s.no::text as no, s.from_tx::text as from_tx, s.to_tx::text as to_tx,
  s.floor_id::text as floor_id, s.last_id::text as last_id, s.entries,
  to_char(s.newest_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as newest_at,
  s.entries_hash, s.previous_hash, s.hash`;

/** What decides which entries a seal is about, and what follows it. */
export function hashOfSeal(seal: Omit<Seal, 'hash'>): Buffer {
  const { no, from_tx, to_tx, floor_id, last_id, entries, newest_at, entries_hash, previous_hash } = seal;
  return createHash('sha256')
    .update(previous_hash)
    .update(JSON.stringify([no, from_tx, to_tx, floor_id, last_id, entries, newest_at]))
    .update(entries_hash)
    .digest();
}

export function hashOfLines(lines: readonly string[]): Buffer {
  const hash = createHash('sha256');
  for (const line of lines) hash.update(line).update('\n');
  return hash.digest();
}

/**
 * Seals what is committed and not sealed yet. Only one caller of all processes does it at a time; the others
 * do nothing. @returns the newest of the new seals; null if there is none
 */
export async function sealAudit(fork: () => EntityManager): Promise<SealHead | null> {
  let head: SealHead | null = null;
  for (let count = 0; count < MAX_SEALS; count += 1) {
    const sealed = await fork().transactional((em) => sealOnce(em));
    if (sealed === null) break;
    head = sealed.head;
    if (!sealed.isFull) break;
  }
  return head;
}

interface EntryRow {
  id: string;
  tx: string;
  at: string;
  line: string;
}

async function sealOnce(em: EntityManager): Promise<{ head: SealHead; isFull: boolean } | null> {
  const [lock] = await em.execute<{ taken: boolean }[]>(
    `select pg_try_advisory_xact_lock(hashtextextended('audit_seal', 0)) as taken`,
  );
  if (lock?.taken !== true) return null;
  const last = await lastSeal(em);
  const range = await nextRange(em, last);
  const rows = await readBlock(em, range);
  if (rows.length === 0) return null;
  const isFull = rows.length > MAX_ENTRIES;
  const block = isFull ? await wholeTransactions(em, range, rows) : rows;
  const newest = block.map(({ at }) => at).reduce((a, b) => (a > b ? a : b));
  const ids = block.map(({ id }) => BigInt(id));
  const seal: Omit<Seal, 'hash'> = {
    no: String(BigInt(last?.no ?? '0') + 1n),
    from_tx: range.from,
    // What is below is complete: no open transaction is older.
    to_tx: isFull ? String(BigInt(block.at(-1)?.tx ?? '0') + 1n) : range.horizon,
    floor_id: range.floor,
    last_id: String(ids.reduce((a, b) => (a > b ? a : b))),
    entries: block.length,
    newest_at: newest,
    entries_hash: hashOfLines(block.map(({ line }) => line)),
    previous_hash: last?.hash ?? FIRST_HASH,
  };
  const hash = hashOfSeal(seal);
  await insertSeal(em, { ...seal, hash });
  return { head: { no: seal.no, hash: hash.toString('hex') }, isFull };
}

/** How long the oldest entry has been waiting for a seal, in seconds; 0 if none waits. */
export async function unsealedSeconds(em: EntityManager): Promise<number> {
  const { from, newest, floor } = await nextRange(em, await lastSeal(em));
  const [row] = await em.execute<{ age: number }[]>(
    `select greatest(extract(epoch from clock_timestamp() - e.at), 0)::float8 as age
       from audit_entry e
      where e.tx >= ?::xid8 and e.tx < ?::xid8 and e.id > ?::bigint
      order by e.tx, e.id limit 1`,
    [from, newest, floor],
  );
  return row?.age ?? 0;
}

interface Range {
  from: string;
  /** What is below is complete. */
  horizon: string;
  /** Above all that was committed. */
  newest: string;
  floor: string;
}

/**
 * The transactions to seal next. A dump that is restored on another server starts with lower numbers of
 * transactions: then what was left of the former server is sealed first, and what came after it is told
 * apart by its ids, which go on.
 */
async function nextRange(em: EntityManager, last: Seal | null): Promise<Range> {
  const [now] = await em.execute<{ horizon: string; newest: string }[]>(
    `select oldest_open_transaction()::text as horizon,
            pg_snapshot_xmax(pg_current_snapshot())::text as newest`,
  );
  const { horizon = '0', newest = '0' } = now ?? {};
  if (last === null) return { from: '0', horizon, newest, floor: '0' };
  // The horizon alone may step back, when a transaction of another database on this server counts again.
  const isSameServer = BigInt(newest) >= BigInt(last.to_tx);
  if (isSameServer) return { from: last.to_tx, horizon, newest, floor: last.floor_id };
  if (await hasRemainder(em, last))
    return { from: last.to_tx, horizon: MAX_TX, newest: MAX_TX, floor: last.floor_id };
  return { from: '0', horizon, newest, floor: await newestSealedId(em) };
}

/** Whether entries of the former server are left. */
async function hasRemainder(em: EntityManager, { to_tx: to, floor_id: floor }: Seal): Promise<boolean> {
  const [row] = await em.execute<{ found: boolean }[]>(
    'select exists (select 1 from audit_entry e where e.tx >= ?::xid8 and e.id > ?::bigint) as found',
    [to, floor],
  );
  return row?.found === true;
}

/** Ids do not follow the order of transactions, so the last seal need not have it. */
async function newestSealedId(em: EntityManager): Promise<string> {
  const [row] = await em.execute<{ id: string }[]>(
    'select coalesce(max(last_id), 0)::text as id from audit_seal',
  );
  return row?.id ?? '0';
}

/** Above every number that a server gives. */
const MAX_TX = '9223372036854775807';

async function readBlock(
  em: EntityManager,
  { from, horizon, floor }: Range,
  limit: number | null = MAX_ENTRIES + 1,
): Promise<EntryRow[]> {
  return em.execute<EntryRow[]>(
    `select e.id::text as id, e.tx::text as tx,
            to_char(e.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as at, ${LINE} as line
       from audit_entry e
      where e.tx >= ?::xid8 and e.tx < ?::xid8 and e.id > ?::bigint
      order by e.tx, e.id limit ?`,
    [from, horizon, floor, limit],
  );
}

/** Without the last transaction, of which more entries may follow; a large one alone, as a whole. */
async function wholeTransactions(
  em: EntityManager,
  range: Range,
  rows: readonly EntryRow[],
): Promise<EntryRow[]> {
  const cut = rows.at(-1)?.tx ?? '0';
  const whole = rows.filter(({ tx }) => tx !== cut);
  if (whole.length > 0) return whole;
  return readBlock(em, { ...range, from: cut, horizon: String(BigInt(cut) + 1n) }, null);
}

async function insertSeal(em: EntityManager, seal: Seal): Promise<void> {
  await em.execute(
    `insert into audit_seal (no, from_tx, to_tx, floor_id, last_id, entries, newest_at, entries_hash,
                             previous_hash, hash)
     values (?, ?::xid8, ?::xid8, ?, ?, ?, ?::timestamptz, ?, ?, ?)`,
    [
      seal.no,
      seal.from_tx,
      seal.to_tx,
      seal.floor_id,
      seal.last_id,
      seal.entries,
      seal.newest_at,
      seal.entries_hash,
      seal.previous_hash,
      seal.hash,
    ],
  );
}

async function lastSeal(em: EntityManager): Promise<Seal | null> {
  const [row] = await em.execute<Seal[]>(
    `select ${SEAL_COLUMNS} from audit_seal s order by s.no desc limit 1`,
  );
  return row ?? null;
}

const NO_CEILING = '9223372036854775807';

/**
 * The highest id that an entry of a seal may have. After a restore on another server (seal.ts), entries with
 * higher ids have the numbers of former transactions again.
 */
export async function ceilingOf(em: EntityManager, { floor_id: floor }: Seal): Promise<string> {
  const [row] = await em.execute<{ ceiling: string | null }[]>(
    `select case when (select floor_id from audit_seal order by no desc limit 1) > ?
                 then (select min(floor_id) from audit_seal where floor_id > ?) end::text as ceiling`,
    [floor, floor],
  );
  return row?.ceiling ?? NO_CEILING;
}
