/** Continues transfers in batches, each a transaction that also says how far it came. */
import type { EntityManager } from '../../db/orm.ts';
import { auditFinished, moveBatch, nextTransfer } from './batches.ts';

/**
 * Works until there is nothing left or the time is over. Several processes may call it: each transfer is
 * one's at a time. @returns whether there is more
 */
export async function continueTransfers(fork: () => EntityManager, budgetMs: number): Promise<boolean> {
  const deadline = performance.now() + budgetMs;
  while (performance.now() < deadline) if (!(await attempt(fork))) return false;
  return true;
}

/** One that fails is tried again after the others. @returns whether there was one */
async function attempt(fork: () => EntityManager): Promise<boolean> {
  let from: string | null = null;
  try {
    return await fork().transactional(async (em) => {
      const row = await nextTransfer(em);
      if (row === null) return false;
      from = row.from_id;
      const next = await moveBatch(em, row);
      if (next.finished_at !== null) await auditFinished(em, next);
      return true;
    });
  } catch (error) {
    await fork().execute('update transfer set tried_at = clock_timestamp() where from_id = ?', [from]);
    throw error;
  }
}
