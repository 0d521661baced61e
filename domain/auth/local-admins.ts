/** One administrator with a password always remains, for the day on which no issuer answers. */
import type { EntityManager } from '../../db/orm.ts';
import { conflict, type AppError } from '../errors.ts';

/**
 * Whether a user is the only active administrator with a password. Who asks in order to remove one holds a
 * lock until its commit, so of two administrators who remove each other at once the second sees what the
 * first has done.
 */
export async function isLastLocalAdmin(
  em: EntityManager,
  userId: string,
  { lock = true }: { lock?: boolean } = {},
): Promise<boolean> {
  if (lock) await em.execute(`select pg_advisory_xact_lock(hashtextextended('local administrators', 0))`);
  const admins = await em.execute<{ id: string }[]>(
    `select id from user_account
      where 'admin' = any(roles) and status = 'active' and password_hash is not null limit 2`,
  );
  return admins.length === 1 && admins[0]?.id === userId;
}

/** @throws 409 */
export async function refuseLastAdmin(em: EntityManager, userId: string): Promise<void> {
  if (await isLastLocalAdmin(em, userId)) throw lastAdmin();
}

/** The database says so too, where nobody has asked before (`keep_one_administrator`). */
export function lastAdmin(): AppError {
  return conflict('last_admin', 'This is the last active administrator with a password.');
}
