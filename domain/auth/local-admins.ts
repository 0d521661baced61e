/** One administrator with a password always remains, for the day on which no issuer answers. */
import type { EntityManager } from '../../db/orm.ts';
import { conflict } from '../errors.ts';

/** Whether a user is the only active administrator with a password. Locks the administrators' rows by id. */
export async function isLastLocalAdmin(em: EntityManager, userId: string): Promise<boolean> {
  const admins = await em.execute<{ id: string }[]>(
    `select id from user_account
      where 'admin' = any(roles) and status = 'active' and password_hash is not null
      order by id for update`,
  );
  return admins.length === 1 && admins[0]?.id === userId;
}

/** @throws 409 */
export async function refuseLastAdmin(em: EntityManager, userId: string): Promise<void> {
  if (await isLastLocalAdmin(em, userId))
    throw conflict('last_admin', 'This is the last active administrator with a password.');
}
