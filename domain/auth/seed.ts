/** The first administrator, made when there is no user yet. */
import { randomBytes } from 'node:crypto';

import type { Orm } from '../../db/orm.ts';
import { createUser } from './users.ts';

export interface Credentials {
  username: string;
  password: string;
}

/**
 * Creates the administrator if there is no user at all, with a generated password if none is given. Null if there are users
 * already. Several copies may call it at once: one creates.
 */
export async function seedAdmin(orm: Orm, wanted: { username: string; password?: string | undefined }): Promise<Credentials | null> {
  return orm.em.fork().transactional(async (em) => {
    await em.execute(`select pg_advisory_xact_lock(hashtextextended('seed_admin', 0))`);
    const users = await em.execute<object[]>('select 1 from user_account limit 1');
    if (users.length > 0) {
      return null;
    }
    const { username } = wanted;
    const password = wanted.password ?? randomBytes(18).toString('base64url');
    await createUser(em, { username, email: `${username}@localhost.localdomain`, password, display_name: 'Administrator', roles: ['admin'] });
    return { username, password };
  });
}
