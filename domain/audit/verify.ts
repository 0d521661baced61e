/** Checks the chain of seals, and the entries against it. */
import type { EntityManager } from '../../db/orm.ts';
import { FIRST_HASH, hashOfLines, hashOfSeal, LINE, SEAL_COLUMNS, type Seal, type SealHead } from './seal.ts';

/** What one call checks at most; `next` says where to go on. */
const MAX_SEALS = 200;
const MAX_ENTRIES = 20_000;
const MAX_PROBLEMS = 100;
/** `action` of the entry that the removal of old entries writes. */
export const PRUNE_ACTION = 'audit_prune';

interface AuditProblem {
  /** The number of a seal. */
  seal: string;
  code:
    'broken_chain' | 'changed_seal' | 'changed_entries' | 'missing_entries' | 'missing_seal' | 'other_head';
  message: string;
}

export interface Verification {
  ok: boolean;
  /** Seals and entries that this call has checked. */
  seals: number;
  entries: number;
  /** Seals whose entries were removed after their time; only their place in the chain is checked. */
  removed: number;
  /** Committed entries that wait for the sealer. */
  unsealed: number;
  head: SealHead | null;
  problems: AuditProblem[];
  /** Check on after this seal; null if all are checked. */
  next: string | null;
}

/**
 * @param after the number of the seal to go on after
 * @param expected heads that were noted elsewhere; those of seals that this call checks are compared
 */
export async function verifyAudit(
  em: EntityManager,
  { after, expected }: { after: bigint; expected: readonly SealHead[] },
): Promise<Verification> {
  const seals = await em.execute<Seal[]>(
    `select ${SEAL_COLUMNS} from audit_seal s where s.no >= ? order by s.no limit ?`,
    [String(after), MAX_SEALS + 1],
  );
  const before = after === 0n ? undefined : seals.find(({ no }) => BigInt(no) === after);
  const todo = seals.filter(({ no }) => BigInt(no) > after).slice(0, MAX_SEALS);
  const pruned = await prunedThrough(em);
  const problems: AuditProblem[] = [];
  let [previous, entries, removed, checked] = [before?.hash ?? FIRST_HASH, 0, 0, 0];
  const ceilings = new Map<string, string>();
  let expectedNo = after + 1n;
  if (after > 0n && before === undefined) problems.push(problem(String(after), 'missing_seal'));
  for (const seal of todo) {
    if (entries >= MAX_ENTRIES) break;
    checked += 1;
    problems.push(...chainProblems(seal, expectedNo, previous), ...headProblems(seal, expected));
    if (BigInt(seal.no) <= pruned) removed += 1;
    else {
      const ceiling = ceilings.get(seal.floor_id) ?? (await ceilingOf(em, seal));
      ceilings.set(seal.floor_id, ceiling);
      const lines = await linesOf(em, seal, ceiling);
      entries += lines.length;
      problems.push(...entryProblems(seal, lines));
    }
    previous = seal.hash;
    expectedNo = BigInt(seal.no) + 1n;
  }
  const last = todo[checked - 1];
  const isDone = checked === todo.length && seals.length <= MAX_SEALS;
  const head = isDone ? (last ?? before) : undefined;
  if (isDone) problems.push(...missingHeads(expected, BigInt(head?.no ?? '0')));
  return {
    ok: problems.length === 0,
    seals: checked,
    entries,
    removed,
    unsealed: await countUnsealed(em),
    head: head === undefined ? null : { no: head.no, hash: head.hash.toString('hex') },
    problems: problems.slice(0, MAX_PROBLEMS),
    next: isDone ? null : (last?.no ?? null),
  };
}

function chainProblems(seal: Seal, expectedNo: bigint, previous: Buffer): AuditProblem[] {
  const { hash, ...rest } = seal;
  if (BigInt(seal.no) !== expectedNo) return [problem(String(expectedNo), 'missing_seal')];
  return [
    ...(seal.previous_hash.equals(previous) ? [] : [problem(seal.no, 'broken_chain')]),
    ...(hashOfSeal(rest).equals(hash) ? [] : [problem(seal.no, 'changed_seal')]),
  ];
}

function headProblems(seal: Seal, expected: readonly SealHead[]): AuditProblem[] {
  const noted = expected.find(({ no }) => no === seal.no);
  return noted === undefined || noted.hash === seal.hash.toString('hex')
    ? []
    : [problem(seal.no, 'other_head')];
}

function missingHeads(expected: readonly SealHead[], newest: bigint): AuditProblem[] {
  return expected.filter(({ no }) => BigInt(no) > newest).map(({ no }) => problem(no, 'missing_seal'));
}

function entryProblems(seal: Seal, lines: readonly string[]): AuditProblem[] {
  if (lines.length < seal.entries) return [problem(seal.no, 'missing_entries')];
  return hashOfLines(lines).equals(seal.entries_hash) ? [] : [problem(seal.no, 'changed_entries')];
}

const MESSAGES: Record<AuditProblem['code'], string> = {
  broken_chain: 'does not follow the seal before it',
  changed_seal: 'was changed',
  changed_entries: 'has entries that were changed, or added',
  missing_entries: 'lacks entries',
  missing_seal: 'is missing',
  other_head: 'has another hash than the one that was noted',
};

function problem(seal: string, code: AuditProblem['code']): AuditProblem {
  return { seal, code, message: `Seal ${seal} ${MESSAGES[code]}.` };
}

const NO_CEILING = '9223372036854775807';

/**
 * The highest id that an entry of a seal may have. After a restore on another server (seal.ts), entries with
 * higher ids have the numbers of former transactions again.
 */
async function ceilingOf(em: EntityManager, { floor_id: floor }: Seal): Promise<string> {
  const [row] = await em.execute<{ ceiling: string | null }[]>(
    `select case when (select floor_id from audit_seal order by no desc limit 1) > ?
                 then (select min(floor_id) from audit_seal where floor_id > ?) end::text as ceiling`,
    [floor, floor],
  );
  return row?.ceiling ?? NO_CEILING;
}

async function linesOf(em: EntityManager, seal: Seal, ceiling: string): Promise<string[]> {
  const rows = await em.execute<{ line: string }[]>(
    `select ${LINE} as line from audit_entry e
      where e.tx >= ?::xid8 and e.tx < ?::xid8 and e.id > ?::bigint and e.id <= ?::bigint
      order by e.tx, e.id limit ?`,
    [seal.from_tx, seal.to_tx, seal.floor_id, ceiling, seal.entries + 1],
  );
  return rows.map(({ line }) => line);
}

/** The last seal whose entries were removed after their time, as the log itself says. */
export async function prunedThrough(em: EntityManager): Promise<bigint> {
  const [row] = await em.execute<{ through: string | null }[]>(
    `select object_id as through from audit_entry where action = ? order by at desc, id desc limit 1`,
    [PRUNE_ACTION],
  );
  return BigInt(row?.through ?? '0');
}

async function countUnsealed(em: EntityManager): Promise<number> {
  const [row] = await em.execute<{ count: number }[]>(
    `select count(*)::int as count
       from (select 1 from audit_entry e,
                    (select coalesce(max(s.no), 0) as no from audit_seal s) newest
                    left join audit_seal l on l.no = newest.no
              where l.no is null or (e.tx >= l.to_tx and e.id > l.floor_id) limit 100000) open`,
  );
  return row?.count ?? 0;
}
