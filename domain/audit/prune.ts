/** Removes entries of the audit log after their time. The seals stay, so the chain can still be checked. */
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';

import type { EntityManager } from '../../db/orm.ts';
import { newestRemoval } from './removals.ts';
import { SYSTEM_ORIGIN, writeAudit } from './write.ts';

/** Of one transaction; `prune_audit` bounds its entries. */
const MAX_SEALS = 100;

/** What was removed, as the database has noted it. */
interface Pruned {
  entries: number;
  /** The entries of all seals up to this one are removed. */
  seal: string;
  days: number;
  /** The number and the hash of the note (docs/adr/0053-audit-chain.md). */
  no: string;
  hash: string;
}

interface Rounds {
  days: number;
  budgetMs: number;
  signal: AbortSignal;
  onBatch: (pruned: Pruned) => void;
}

/**
 * Removes one batch after the other, until nothing is old enough, the time is over, or the process stops.
 * After each it pauses for as long as the batch took, because others need the disk too.
 */
export async function pruneInBatches(
  fork: () => EntityManager,
  { days, budgetMs, signal, onBatch }: Rounds,
): Promise<void> {
  const deadline = performance.now() + budgetMs;
  while (!signal.aborted && performance.now() < deadline) {
    const begun = performance.now();
    const pruned = await pruneAudit(fork, days);
    if (pruned === null) return;
    onBatch(pruned);
    await sleep(performance.now() - begun);
  }
}

/**
 * Removes a batch: the entries of at most 100 seals, and about 4,000 entries. Notes that in the log. Only one
 * process does it at a time.
 * @param days at least 30
 * @returns null if nothing is old enough
 */
export async function pruneAudit(fork: () => EntityManager, days: number): Promise<Pruned | null> {
  return fork().transactional(async (em) => {
    const [lock] = await em.execute<{ taken: boolean }[]>(
      `select pg_try_advisory_xact_lock(hashtextextended('audit_prune', 0)) as taken`,
    );
    if (lock?.taken !== true) return null;
    const [row] = await em.execute<{ hash: Buffer; entries: string }[]>(
      `select hash, entries::text as entries from prune_audit(?, 0, ?)`,
      [days, MAX_SEALS],
    );
    if (row === undefined) return null;
    const note = await newestRemoval(em);
    if (note === null) throw new Error('the removal of entries of the audit log was not noted');
    const entries = Number(row.entries);
    const removal = { no: note.no, hash: note.hash.toString('hex') };
    await writeAudit(em, SYSTEM_ORIGIN, {
      action: 'audit_prune',
      objectType: 'audit_seal',
      objectId: note.last_seal,
      // Copies of the release before read the seal's hash and the days here.
      data: { hash: row.hash.toString('hex'), entries, days: note.days, removal },
    });
    return { entries, seal: note.last_seal, days: note.days, ...removal };
  });
}
