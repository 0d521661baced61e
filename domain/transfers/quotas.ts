/** Quotas of a user who takes over what somebody else has: of what is really handed over, of nothing else. */
import type { EntityManager } from '../../db/orm.ts';
import { checkLiveRuns, checkQuota, holdQuota } from '../quotas/check.ts';
import { COUNTED, follows, OTHER_USED, usedSql, type CountedQuota } from '../quotas/counted.ts';
import type { QuotaEnv } from '../quotas/settings.ts';

type Uses = Record<CountedQuota | 'live_runs', number>;

// Safe: these are its keys.
const COUNTED_QUOTAS = Object.keys(COUNTED) as CountedQuota[];

/** Nobody adds to what follows in batches until the transaction ends: later additions find the transfer. */
export async function holdQuotas(em: EntityManager, userId: string): Promise<void> {
  for (const quota of COUNTED_QUOTAS.filter(follows)) await holdQuota(em, quota, [userId]);
}

/** What the user has of each, to be compared with what the user has afterwards. */
export async function usesOf(em: EntityManager, userId: string): Promise<Uses> {
  const counts = COUNTED_QUOTAS.map((quota) => `${usedSql(quota, 'u.id')} as ${quota}`);
  const [row] = await em.execute<Record<string, string>[]>(
    `select ${counts.join(', ')}, ${OTHER_USED.live_runs('r.owner_id = u.id')} as live_runs
       from (select ?::uuid as id) u`,
    [userId],
  );
  const of = (quota: keyof Uses): [string, number] => [quota, Number(row?.[quota] ?? 0)];
  // Safe: the keys are those of the list.
  return Object.fromEntries([...COUNTED_QUOTAS, 'live_runs' as const].map(of)) as Uses;
}

/**
 * Call once all that is handed over counts for the new owner, who may get more than the quotas allow only if
 * an administrator raises them first. Of what the user has no more than before, nothing is checked: who is
 * above a limit that was lowered keeps what there is. @throws 409
 */
export async function checkTransferred(
  em: EntityManager,
  limits: QuotaEnv,
  userId: string,
  before: Uses,
): Promise<void> {
  const after = await usesOf(em, userId);
  if (after.live_runs > before.live_runs) await checkLiveRuns(em, limits, userId);
  for (const quota of COUNTED_QUOTAS) {
    if (after[quota] <= before[quota]) continue;
    // Only secrets are copied; of the others the platform has as many as before.
    await checkQuota(em, limits, quota, userId, { isMoved: quota !== 'secrets' });
  }
}
