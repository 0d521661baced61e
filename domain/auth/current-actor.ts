import type { EntityManager } from '../../db/orm.ts';
import type { Actor, Role } from './actor.ts';

/** A user as they are now, for what lasts longer than a request; null if they are no longer active. */
export async function currentActor(em: EntityManager, id: string): Promise<Actor | null> {
  const [row] = await em.execute<{ username: string; roles: Role[]; groups: string[] }[]>(
    `select username, to_json(roles) as roles, to_json(groups) as groups from user_account where id = ? and status = 'active'`,
    [id],
  );
  return row ? { id, ...row } : null;
}
