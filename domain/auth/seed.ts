/** Creates the first administrator of a new installation. */
import { randomBytes } from 'node:crypto';

import type { EntityManager, Orm } from '../../db/orm.ts';
import { createUser } from './users.ts';

export interface Credentials {
  username: string;
  password: string;
}

/**
 * Creates the administrator if there are no users, with a generated password unless one is given. Null if
 * there are users already. Several processes may call it at once; one of them creates the user.
 */
export async function seedAdmin(
  orm: Orm,
  wanted: { username: string; password?: string | undefined },
): Promise<Credentials | null> {
  return orm.em.fork().transactional(async (em) => {
    await em.execute(`select pg_advisory_xact_lock(hashtextextended('seed_admin', 0))`);
    if (await hasUsers(em)) return null;
    const { username } = wanted;
    const password = wanted.password ?? randomBytes(18).toString('base64url');
    await createUser(em, {
      username,
      email: `${username}@localhost.localdomain`,
      password,
      display_name: 'Administrator',
      roles: ['admin'],
    });
    return { username, password };
  });
}

/** False until the first administrator is created; until then nobody can log in. */
export async function hasUsers(em: EntityManager): Promise<boolean> {
  return (await em.execute<object[]>('select 1 from user_account limit 1')).length > 0;
}
