/** Quotas of a user who takes over what somebody else has: of what is really handed over, and of nothing else. */
import type { EntityManager } from '../../db/orm.ts';
import { checkLiveRuns, checkQuota } from '../quotas/check.ts';
import { usedSql } from '../quotas/counted.ts';
import type { QuotaEnv } from '../quotas/settings.ts';

/** The new owner may get more than they allow only if an administrator raises them first. */
const HANDED_OVER = [
  'stored_bytes',
  'files',
  'schedules',
  'secrets',
  'webhooks',
  'inbound_webhooks',
  'event_sources',
] as const;

type Uses = Record<(typeof HANDED_OVER)[number] | 'live_runs', number>;

/** What the user has of each, to be compared with what the user has afterwards. */
export async function usesOf(em: EntityManager, userId: string): Promise<Uses> {
  const counts = HANDED_OVER.map((quota) => `${usedSql(quota, 'u.id')} as ${quota}`);
  const [row] = await em.execute<Record<string, string>[]>(
    `select ${counts.join(', ')},
            (select count(*) from run r where r.owner_id = u.id and run_is_live(r.status)) as live_runs
       from (select ?::uuid as id) u`,
    [userId],
  );
  const of = (quota: keyof Uses): [string, number] => [quota, Number(row?.[quota] ?? 0)];
  // Safe: the keys are those of the list.
  return Object.fromEntries([...HANDED_OVER, 'live_runs' as const].map(of)) as Uses;
}

/**
 * Call after everything is handed over. Of what the user has no more than before, nothing is checked: who is
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
  for (const quota of HANDED_OVER) {
    if (after[quota] <= before[quota]) continue;
    // Only secrets are copied; of the others the platform has as many as before.
    await checkQuota(em, limits, quota, userId, { isMoved: quota !== 'secrets' });
  }
}
