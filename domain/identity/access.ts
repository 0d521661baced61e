/** What users may do by their issuers: roles by the issuer that made the account, groups by all of them. */
import { arrayLiteral } from '../../db/sql.ts';
import type { EntityManager } from '../../db/orm.ts';
import type { Role } from '../../contracts/roles.ts';
import { isLastLocalAdmin } from '../auth/local-admins.ts';
import { endAllSessions } from '../auth/sessions.ts';
import type { Issuer } from './issuers.ts';

/**
 * Gives a user the groups of all issuers beside the local ones, and the roles if the issuer made the account.
 * The last local administrator stays one. A user without any role loses all sessions.
 * @returns the roles
 */
export async function settleAccess(em: EntityManager, userId: string, issuer: Issuer): Promise<Role[]> {
  const [user] = await em.execute<{ roles: Role[]; managed: boolean; claim_roles: Role[] }[]>(
    `select to_json(u.roles) as roles, u.issuer_id is not distinct from ?::uuid as managed,
            to_json(i.claim_roles) as claim_roles
       from user_account u join user_identity i on i.user_id = u.id and i.issuer_id = ?
      where u.id = ? for update of u`,
    [issuer.id, issuer.id, userId],
  );
  if (!user) return [];
  await composeGroups(em, userId);
  if (!user.managed) return user.roles;
  const given = user.claim_roles.length > 0 ? user.claim_roles : issuer.mapping.default_roles;
  const keepsAdmin = !given.includes('admin') && (await isLastLocalAdmin(em, userId));
  const roles: Role[] = keepsAdmin ? [...given, 'admin'] : given;
  await em.execute(
    `update user_account set roles = ?::text[], updated_at = clock_timestamp()
      where id = ? and roles is distinct from ?::text[]`,
    [arrayLiteral(roles), userId, arrayLiteral(roles)],
  );
  if (roles.length === 0 && user.roles.length > 0) await endAllSessions(em, userId);
  return roles;
}

/** A group is an issuer's if it begins with the issuer's name and a colon. */
export async function composeGroups(em: EntityManager, userId: string): Promise<void> {
  await em.execute(
    `with given as (
       select array(
         select g from user_account u, unnest(u.groups) g
          where u.id = ? and not exists (select 1 from identity_issuer r where g like r.name || ':%')
         union
         select r.name || ':' || g
           from user_identity i join identity_issuer r on r.id = i.issuer_id, unnest(i.claim_groups) g
          where i.user_id = ?
         order by 1) as groups)
     update user_account u set groups = given.groups, updated_at = clock_timestamp()
       from given
      where u.id = ? and not (u.groups @> given.groups and u.groups <@ given.groups)`,
    [userId, userId, userId],
  );
}
