/** Checks the chain of seals, and the entries against it. */
import type { EntityManager } from '../../db/orm.ts';
import { isAbout, removalsAfter, type Removal } from './removals.ts';
import {
  ceilingOf,
  FIRST_HASH,
  hashOfLines,
  hashOfSeal,
  LINE,
  SEAL_COLUMNS,
  type Seal,
  type SealHead,
} from './seal.ts';

/** What one call checks at most; `next` says where to go on. */
const MAX_SEALS = 200;
const MAX_ENTRIES = 20_000;
const MAX_PROBLEMS = 100;

interface AuditProblem {
  /** The number of a seal. */
  seal: string;
  code:
    | 'broken_chain'
    | 'changed_seal'
    | 'changed_entries'
    | 'missing_entries'
    | 'missing_seal'
    | 'changed_removal'
    | 'early_removal'
    | 'other_head';
  message: string;
}

export interface Verification {
  ok: boolean;
  /** Seals and entries that this call has checked. */
  seals: number;
  entries: number;
  /** Seals whose entries were removed after their time, as a note in a chain of its own says. */
  removed: number;
  /** The least days after which a removal took place; null without one. */
  removed_after_days: number | null;
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
  const removals = await removalsAfter(em, after, MAX_SEALS + 1);
  const problems: AuditProblem[] = [];
  if (after > 0n && before === undefined) problems.push(problem(String(after), 'missing_seal'));
  const checked: Seal[] = [];
  const ceilings = new Map<string, string>();
  let [previous, entries, removed] = [before, 0, 0];
  for (const seal of todo) {
    if (entries >= MAX_ENTRIES) break;
    checked.push(seal);
    const expectedNo = BigInt(previous?.no ?? after) + 1n;
    problems.push(...chainProblems(seal, expectedNo, previous), ...headProblems(seal, expected));
    problems.push(...noteProblems(seal, removals));
    const ceiling = ceilings.get(seal.floor_id) ?? (await ceilingOf(em, seal));
    ceilings.set(seal.floor_id, ceiling);
    const lines = await linesOf(em, seal, ceiling);
    const note = removals.find(({ removal, fits }) => fits && isAbout(removal, seal))?.removal;
    if (note === undefined) problems.push(...entryProblems(seal, lines));
    else problems.push(...removalProblems(seal, note, lines));
    removed += note === undefined ? 0 : 1;
    entries += lines.length;
    previous = seal;
  }
  const isDone = checked.length === todo.length && seals.length <= MAX_SEALS;
  problems.push(...missingHeads(expected, after, { checked, isDone }));
  if (isDone) problems.push(...missingSeals(removals, BigInt(previous?.no ?? '0')));
  const days = removals.filter(({ fits }) => fits).map(({ removal }) => removal.days);
  return {
    ok: problems.length === 0,
    seals: checked.length,
    entries,
    removed,
    removed_after_days: removed === 0 ? null : Math.min(...days),
    unsealed: await countUnsealed(em),
    head: isDone && previous ? { no: previous.no, hash: previous.hash.toString('hex') } : null,
    problems: problems.slice(0, MAX_PROBLEMS),
    next: isDone ? null : (checked.at(-1)?.no ?? null),
  };
}

function chainProblems(seal: Seal, expectedNo: bigint, previous: Seal | undefined): AuditProblem[] {
  const { hash, ...rest } = seal;
  if (BigInt(seal.no) !== expectedNo) return [problem(String(expectedNo), 'missing_seal')];
  return [
    ...(seal.previous_hash.equals(previous?.hash ?? FIRST_HASH) ? [] : [problem(seal.no, 'broken_chain')]),
    ...(hashOfSeal(rest).equals(hash) ? [] : [problem(seal.no, 'changed_seal')]),
  ];
}

function headProblems(seal: Seal, expected: readonly SealHead[]): AuditProblem[] {
  const noted = expected.find(({ no }) => no === seal.no);
  return noted === undefined || noted.hash === seal.hash.toString('hex')
    ? []
    : [problem(seal.no, 'other_head')];
}

/** Noted heads that are none of the seals where they belong: no removal of entries takes a seal away. */
function missingHeads(
  expected: readonly SealHead[],
  after: bigint,
  { checked, isDone }: { checked: readonly Seal[]; isDone: boolean },
): AuditProblem[] {
  const last = BigInt(checked.at(-1)?.no ?? after);
  const isHere = (no: bigint): boolean => (after === 0n || no > after) && (isDone || no <= last);
  return expected
    .filter(({ no }) => isHere(BigInt(no)) && !checked.some((seal) => seal.no === no))
    .map(({ no }) => problem(no, 'missing_seal'));
}

type CheckedRemoval = Awaited<ReturnType<typeof removalsAfter>>[number];

/** Of notes that end with this seal. */
function noteProblems(seal: Seal, removals: readonly CheckedRemoval[]): AuditProblem[] {
  return removals
    .filter(({ removal }) => removal.last_seal === seal.no)
    .filter(({ removal, fits }) => !fits || !removal.seal_hash.equals(seal.hash))
    .map(() => problem(seal.no, 'changed_removal'));
}

/** Of notes that go beyond the newest seal. */
function missingSeals(removals: readonly CheckedRemoval[], newest: bigint): AuditProblem[] {
  return removals
    .filter(({ removal }) => BigInt(removal.last_seal) > newest)
    .map(({ removal }) => problem(removal.last_seal, 'changed_removal'));
}

function removalProblems(seal: Seal, removal: Removal, lines: readonly string[]): AuditProblem[] {
  return [
    // Both are times of the same form, in UTC.
    ...(seal.newest_at < removal.older_than ? [] : [problem(seal.no, 'early_removal')]),
    ...(lines.length === 0 ? [] : [problem(seal.no, 'changed_entries')]),
  ];
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
  changed_removal: 'ends a removal of entries whose note was changed or forged',
  early_removal: 'lacks entries that were removed before their time',
  other_head: 'has another hash than the one that was noted',
};

function problem(seal: string, code: AuditProblem['code']): AuditProblem {
  return { seal, code, message: `Seal ${seal} ${MESSAGES[code]}.` };
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
