/** Removes entries of the audit log after their time. The seals stay, so the chain can still be checked. */
import type { EntityManager } from '../../db/orm.ts';
import { PRUNE_ACTION, prunedThrough } from './verify.ts';
import { SYSTEM_ORIGIN, writeAudit } from './write.ts';

const MAX_SEALS = 100;

/**
 * Removes the entries of at most 100 seals, and notes that in the log. Only one process does it at a time.
 * @param days at least 30
 * @returns the number of removed entries
 */
export async function pruneAudit(fork: () => EntityManager, days: number): Promise<number> {
  return fork().transactional(async (em) => {
    const [lock] = await em.execute<{ taken: boolean }[]>(
      `select pg_try_advisory_xact_lock(hashtextextended('audit_prune', 0)) as taken`,
    );
    if (lock?.taken !== true) return 0;
    const [row] = await em.execute<{ seal: string; hash: Buffer; entries: string }[]>(
      `select seal::text as seal, hash, entries::text as entries from prune_audit(?, ?, ?)`,
      [days, String(await prunedThrough(em)), MAX_SEALS],
    );
    if (row === undefined) return 0;
    const entries = Number(row.entries);
    await writeAudit(em, SYSTEM_ORIGIN, {
      action: PRUNE_ACTION,
      objectType: 'audit_seal',
      objectId: row.seal,
      data: { hash: row.hash.toString('hex'), entries, days },
    });
    return entries;
  });
}
