/** What users may do by their issuers: roles by the issuer that made the account, groups by all of them. */
import { arrayLiteral } from '../../db/sql.ts';
import type { EntityManager } from '../../db/orm.ts';
import { ROLES, type Role } from '../../contracts/roles.ts';
import { writeAudit, type AuditOrigin } from '../audit/write.ts';
import { isLastLocalAdmin } from '../auth/local-admins.ts';
import { limitSessions } from '../auth/second-factor.ts';
import { endAllSessions } from '../auth/sessions.ts';
import { rolesOf } from './claims.ts';
import type { Issuer } from './issuers.ts';

/** Entries of one change at most; what is above is written in parts. */
const MAX_ENTRIES = 500;
const USERS_IN_PART = 100;

interface Access {
  roles: Role[];
  groups: string[];
}

export interface Settled {
  userId: string;
  before: Access;
  after: Access;
}

/**
 * Gives a user the groups of all issuers beside the local ones, and the roles if the issuer made the account.
 * The last local administrator stays one. A user without any role loses all sessions; a new role that needs a
 * second factor takes effect in those that have seen one.
 */
export async function settleAccess(
  em: EntityManager,
  userId: string,
  issuer: Issuer,
  secondFactorRoles: readonly Role[],
): Promise<Settled> {
  const [user] = await em.execute<
    (Access & { managed: boolean; claim_roles: Role[]; scim_groups: string[] })[]
  >(
    `select to_json(u.roles) as roles, to_json(u.groups) as groups,
            u.issuer_id is not distinct from ?::uuid as managed,
            to_json(i.claim_roles) as claim_roles,
            to_json(array(select g.name from identity_group g
                            join identity_group_member m on m.group_id = g.id
                           where m.user_id = u.id and g.issuer_id = i.issuer_id)) as scim_groups
       from user_account u join user_identity i on i.user_id = u.id and i.issuer_id = ?
      where u.id = ? for update of u`,
    [issuer.id, issuer.id, userId],
  );
  if (!user) throw new Error('the user has no identity of the issuer');
  const before = { roles: user.roles, groups: user.groups };
  const groups = (await composeGroups(em, userId)) ?? user.groups;
  if (!user.managed) return { userId, before, after: { roles: user.roles, groups } };
  const byGroups = rolesOf(issuer.mapping, {}, user.scim_groups);
  const mapped = ROLES.filter((role) => user.claim_roles.includes(role) || byGroups.includes(role));
  const given = mapped.length > 0 ? mapped : issuer.mapping.default_roles;
  const losesAdmin = user.roles.includes('admin') && !given.includes('admin');
  const keepsAdmin = losesAdmin && (await isLastLocalAdmin(em, userId));
  const roles: Role[] = keepsAdmin ? [...given, 'admin'] : given;
  await em.execute(
    `update user_account set roles = ?::text[], updated_at = clock_timestamp()
      where id = ? and roles is distinct from ?::text[]`,
    [arrayLiteral(roles), userId, arrayLiteral(roles)],
  );
  if (roles.length === 0 && user.roles.length > 0) await endAllSessions(em, userId);
  if (roles.some((role) => !user.roles.includes(role))) await limitSessions(em, userId, secondFactorRoles);
  return { userId, before, after: { roles, groups } };
}

/** Writes whose roles or groups have changed; of very many users only who they are. */
export async function auditAccess(
  em: EntityManager,
  origin: AuditOrigin,
  issuer: Issuer,
  settled: readonly Settled[],
): Promise<void> {
  const changed = settled.filter(
    ({ before, after }) => !isSame(before.roles, after.roles) || !isSame(before.groups, after.groups),
  );
  const common = { action: ISSUER_ACCESS, objectType: 'user' };
  if (changed.length > MAX_ENTRIES) {
    for (let from = 0; from < changed.length; from += USERS_IN_PART) {
      const users = changed.slice(from, from + USERS_IN_PART).map(({ userId }) => userId);
      await writeAudit(em, origin, { ...common, data: { issuer: issuer.name, users } });
    }
    return;
  }
  for (const { userId, before, after } of changed) {
    const changes = {
      ...(isSame(before.roles, after.roles) ? {} : { roles: { old: before.roles, new: after.roles } }),
      ...(isSame(before.groups, after.groups) ? {} : { groups: shownChange(before.groups, after.groups) }),
    };
    await writeAudit(em, origin, { ...common, objectId: userId, data: { issuer: issuer.name, changes } });
  }
}

/** `action` in the audit log. */
const ISSUER_ACCESS = 'issuer_change_access';
const MAX_SHOWN = 20;

/** The groups that went and came. */
function shownChange(before: readonly string[], after: readonly string[]): { old: string[]; new: string[] } {
  const [left, right] = [new Set(before), new Set(after)];
  return {
    old: before.filter((group) => !right.has(group)).slice(0, MAX_SHOWN),
    new: after.filter((group) => !left.has(group)).slice(0, MAX_SHOWN),
  };
}

function isSame(left: readonly string[], right: readonly string[]): boolean {
  return left.length === right.length && left.every((one) => right.includes(one));
}

/** A group is an issuer's if it begins with the issuer's name and a colon. @returns what has changed */
export async function composeGroups(em: EntityManager, userId: string): Promise<string[] | null> {
  const [changed] = await em.execute<{ groups: string[] }[]>(
    `with given as (
       select array(
         select g from user_account u, unnest(u.groups) g
          where u.id = ? and not exists (select 1 from identity_issuer r where g like r.name || ':%')
         union
         select r.name || ':' || g
           from user_identity i join identity_issuer r on r.id = i.issuer_id, unnest(i.claim_groups) g
          where i.user_id = ? and i.removed_at is null
         union
         select r.name || ':' || g.name
           from identity_group_member m join identity_group g on g.id = m.group_id
           join identity_issuer r on r.id = g.issuer_id
          where m.user_id = ?
         order by 1) as groups)
     update user_account u set groups = given.groups, updated_at = clock_timestamp()
       from given
      where u.id = ? and not (u.groups @> given.groups and u.groups <@ given.groups)
      returning to_json(u.groups) as groups`,
    [userId, userId, userId, userId],
  );
  return changed?.groups ?? null;
}
