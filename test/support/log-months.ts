import { monthPartition, monthStartMs } from '../../db/log-partitions.ts';
import type { EntityManager } from '../../db/orm.ts';

/**
 * Gives the log partitions of so many months before a time, as a system has them that has run for so long.
 */
export async function makeMonthsBefore(em: EntityManager, endMs: number, months: number): Promise<void> {
  for (let ago = 1; ago <= months; ago++) {
    const { name, from, to } = monthPartition(monthStartMs(endMs, -ago));
    await em.execute('select make_log_partition(?, ?, ?, 0)', [name, from, to]);
  }
}
