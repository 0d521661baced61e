import type { EntityManager } from '../../db/orm.ts';

/** So many rows at most go in one statement, so that none holds locks for long. */
const batch = 5_000;

/**
 * Removes what no longer means anything: answers kept for `Idempotency-Key` after 24 h, failed log-ins outside of the window,
 * ended sessions with their refresh tokens. Every copy of the API may call it. @returns how many rows went.
 */
export async function removeExpired(em: EntityManager): Promise<number> {
  const tables = [
    ['idempotency_record', 'expires_at < now()'],
    ['login_attempt', `at < now() - interval '1 hour'`],
    ['request_count', `minute < now() - interval '1 hour'`],
    // A used refresh token is kept as long as its session, so that its reuse is noticed.
    ['auth_session', `expires_at < now() - interval '1 day'`],
  ] as const;
  let removed = 0;
  for (const [table, condition] of tables) {
    const rows = await em.execute<object[]>(
      `delete from ${table} where ctid = any(array(select ctid from ${table} where ${condition} limit ${batch} for update skip locked)) returning 1`,
    );
    removed += rows.length;
  }
  return removed;
}
