import type { EntityManager } from '../../db/orm.ts';

/** Rows deleted by one statement at most, so that no statement holds locks for long. */
const BATCH = 5_000;

/**
 * Deletes expired rows: `Idempotency-Key` records, failed log-ins outside the window, ended sessions with
 * their refresh tokens. Every API process may call it. @returns the number of deleted rows
 */
export async function removeExpired(em: EntityManager): Promise<number> {
  const tables = [
    ['idempotency_record', 'expires_at < now()'],
    ['login_attempt', `at < now() - interval '1 hour'`],
    ['address_request_count', `minute < now() - interval '1 hour'`],
    // Kept for 30 days after expiry, so that operators can see why a client stopped working.
    ['auth_client', `expires_at < now() - interval '30 days'`],
    ['access_token', `expires_at < now() - interval '30 days'`],
    ['scim_token', `expires_at < now() - interval '30 days'`],
    ['worker_token', `expires_at < now() - interval '30 days'`],
    ['worker_seen', `seen_at < now() - interval '1 day'`],
    // Kept for an hour, so that a late poll learns that its code has expired.
    ['device_request', `expires_at < now() - interval '1 hour'`],
    ['account_notice', `at < now() - interval '7 days'`],
    ['password_request', `at < now() - interval '1 day'`],
    ['auth_challenge', `expires_at < now() - interval '1 hour'`],
    ['oauth_code', `expires_at < now() - interval '1 day'`],
    // Never approved within a day, or idle: without a session, and not approved for 90 days.
    [
      'oauth_client',
      `created_at < now() - interval '1 day' and not from_settings
         and coalesce(approved_at < now() - interval '90 days', true)
         and not exists (select 1 from auth_session s
                          where s.oauth_client_id = oauth_client.id and s.revoked_at is null
                            and s.expires_at > now())`,
    ],
    ['api_copy', `expires_at < now() - interval '1 minute'`],
    ['second_factor_setting', `expires_at < now() - interval '1 hour'`],
    ['run_rate', `minute < now() - interval '1 hour'`],
    ['live_run_room', `granted_at < now() - interval '1 hour'`],
    ['request_count', `minute < now() - interval '1 hour'`],
    // A used refresh token is kept as long as its session, to detect reuse.
    ['auth_session', `expires_at < now() - interval '1 day'`],
  ] as const;
  let removed = 0;
  for (const [table, condition] of tables) {
    const rows = await em.execute<object[]>(
      `delete from ${table} where ctid = any(array(
         select ctid from ${table} where ${condition} limit ${BATCH} for update skip locked)) returning 1`,
    );
    removed += rows.length;
  }
  return removed;
}
