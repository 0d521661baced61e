/** What users may do by their issuers: roles by the issuer that made the account, groups by all of them. */
import { arrayLiteral } from '../../db/sql.ts';
import type { EntityManager } from '../../db/orm.ts';
import { ROLES, type Role } from '../../contracts/roles.ts';
import { writeAudit, type AuditOrigin } from '../audit/write.ts';
import { isLastLocalAdmin } from '../auth/local-admins.ts';
import { limitSessions } from '../auth/second-factor.ts';
import { endAllSessions } from '../auth/sessions.ts';
import { auditFollowed, FollowedTeams } from '../teams/audit-followed.ts';
import { changeOfTeams, followGroups, type FollowedRole } from '../teams/follow-groups.ts';
import { rolesOf } from './claims.ts';
import type { Issuer } from './issuers.ts';

/** Entries of one change at most; what is above is written in parts. */
const MAX_ENTRIES = 500;
const USERS_IN_PART = 100;

interface Access {
  roles: Role[];
  groups: string[];
}

interface Settled {
  userId: string;
  before: Access;
  after: Access;
  /** Roles in teams that the groups have given, changed or taken. */
  teams: FollowedRole[];
}

/** Users that one statement settles. */
const BATCH = 1_000;

/**
 * Gives users the groups of all issuers beside the local ones, the memberships that follow from groups, and
 * the roles if the issuer made the account. The last local administrator stays one. A user without any role
 * loses all sessions; a new role that needs a second factor takes effect in those that have seen one. The
 * groups of teams are held.
 */
export async function settleAccess(
  em: EntityManager,
  userIds: readonly string[],
  issuer: Issuer,
  secondFactorRoles: readonly Role[],
): Promise<Settled[]> {
  const settled: Settled[] = [];
  for (let from = 0; from < userIds.length; from += BATCH)
    settled.push(...(await settleBatch(em, userIds.slice(from, from + BATCH), issuer, secondFactorRoles)));
  return settled;
}

interface UserRow extends Access {
  id: string;
  /** The issuer made the account. */
  managed: boolean;
  claim_roles: Role[];
  scim_groups: string[];
  has_password: boolean;
}

async function settleBatch(
  em: EntityManager,
  userIds: readonly string[],
  issuer: Issuer,
  secondFactorRoles: readonly Role[],
): Promise<Settled[]> {
  const users = await lockUsers(em, userIds, issuer);
  if (users.length < userIds.length) throw new Error('a user has no identity of the issuer');
  const composed = await composeGroups(em, userIds);
  const teams = Map.groupBy(await followGroups(em, userIds), ({ user_id: id }) => id);
  const roles = await settleRoles(em, users, issuer, secondFactorRoles);
  return users.map((user) => ({
    userId: user.id,
    before: { roles: user.roles, groups: user.groups },
    after: { roles: roles.get(user.id) ?? user.roles, groups: composed.get(user.id) ?? user.groups },
    teams: teams.get(user.id) ?? [],
  }));
}

/** No more than a change needs: a member who acts refers to the account, and holds what may have to end. */
async function lockUsers(em: EntityManager, userIds: readonly string[], issuer: Issuer): Promise<UserRow[]> {
  return em.execute<UserRow[]>(
    `select u.id, to_json(u.roles) as roles, to_json(u.groups) as groups,
            u.issuer_id is not distinct from ?::uuid as managed, u.password_hash is not null as has_password,
            to_json(i.claim_roles) as claim_roles,
            to_json(array(select g.name from identity_group g
                            join identity_group_member m on m.group_id = g.id
                           where m.user_id = u.id and g.issuer_id = i.issuer_id)) as scim_groups
       from user_account u join user_identity i on i.user_id = u.id and i.issuer_id = ?
      where u.id = any(?::uuid[]) order by u.id for no key update of u`,
    [issuer.id, issuer.id, arrayLiteral(userIds)],
  );
}

/** @returns the roles of those whose roles have changed */
async function settleRoles(
  em: EntityManager,
  users: readonly UserRow[],
  issuer: Issuer,
  secondFactorRoles: readonly Role[],
): Promise<Map<string, Role[]>> {
  const changed = new Map<string, Role[]>();
  for (const user of users) {
    const given = user.managed ? givenRoles(user, issuer) : user.roles;
    if (isSame(given, user.roles)) continue;
    const losesAdmin = user.roles.includes('admin') && !given.includes('admin');
    // Those before have lost the role when the next one is asked.
    if (losesAdmin && user.has_password) await writeRoles(em, [...changed]);
    const keepsAdmin = losesAdmin && user.has_password && (await isLastLocalAdmin(em, user.id));
    changed.set(user.id, keepsAdmin ? [...given, 'admin'] : given);
  }
  await writeRoles(em, [...changed]);
  const withoutRole = [...changed].filter(([, roles]) => roles.length === 0);
  await endAllSessions(
    em,
    withoutRole.map(([id]) => id),
  );
  await limitSessions(em, [...changed.keys()], secondFactorRoles);
  return changed;
}

function givenRoles({ claim_roles: byClaims, scim_groups: groups }: UserRow, { mapping }: Issuer): Role[] {
  const byGroups = rolesOf(mapping, {}, groups);
  const mapped = ROLES.filter((role) => byClaims.includes(role) || byGroups.includes(role));
  return mapped.length > 0 ? mapped : mapping.default_roles;
}

async function writeRoles(em: EntityManager, changed: readonly (readonly [string, Role[]])[]): Promise<void> {
  if (changed.length === 0) return;
  await em.execute(
    `update user_account u set roles = array(select json_array_elements_text(c.roles)),
            updated_at = clock_timestamp()
       from json_to_recordset(?::json) as c (id uuid, roles json)
      where u.id = c.id`,
    [JSON.stringify(changed.map(([id, roles]) => ({ id, roles })))],
  );
}

/**
 * Writes whose roles, groups or teams have changed, of very many users only who they are; and each team whose
 * members have.
 */
export async function auditAccess(
  em: EntityManager,
  origin: AuditOrigin,
  issuer: Issuer,
  settled: readonly Settled[],
): Promise<void> {
  const changed = settled.filter(
    ({ before, after, teams }) =>
      teams.length > 0 || !isSame(before.roles, after.roles) || !isSame(before.groups, after.groups),
  );
  const followed = new FollowedTeams(changed.flatMap(({ teams }) => teams));
  await auditFollowed(em, origin, followed, { issuer: issuer.name });
  const common = { action: ISSUER_ACCESS, objectType: 'user' };
  if (changed.length > MAX_ENTRIES) {
    for (let from = 0; from < changed.length; from += USERS_IN_PART) {
      const users = changed.slice(from, from + USERS_IN_PART).map(({ userId }) => userId);
      await writeAudit(em, origin, { ...common, data: { issuer: issuer.name, users } });
    }
    return;
  }
  for (const { userId, before, after, teams } of changed) {
    const changes = {
      ...(isSame(before.roles, after.roles) ? {} : { roles: { old: before.roles, new: after.roles } }),
      ...(isSame(before.groups, after.groups) ? {} : { groups: shownChange(before.groups, after.groups) }),
      ...changeOfTeams(teams),
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

/**
 * A group is an issuer's if it begins with the issuer's name and a colon. @returns the groups of those whose
 * groups have changed
 */
export async function composeGroups(
  em: EntityManager,
  userIds: readonly string[],
): Promise<Map<string, string[]>> {
  const changed = await em.execute<{ id: string; groups: string[] }[]>(
    `with given as (
       select u.id, array(
         select g from unnest(u.groups) g
          where not exists (select from identity_issuer r
                             where r.name = split_part(g, ':', 1) and g like '%:%')
         union
         select r.name || ':' || g
           from user_identity i join identity_issuer r on r.id = i.issuer_id, unnest(i.claim_groups) g
          where i.user_id = u.id and i.removed_at is null
         union
         select r.name || ':' || g.name
           from identity_group_member m join identity_group g on g.id = m.group_id
           join identity_issuer r on r.id = g.issuer_id
          where m.user_id = u.id
         order by 1) as groups
         from user_account u where u.id = any(?::uuid[]))
     update user_account u set groups = given.groups, updated_at = clock_timestamp()
       from given
      where u.id = given.id and not (u.groups @> given.groups and u.groups <@ given.groups)
      returning u.id, to_json(u.groups) as groups`,
    [arrayLiteral(userIds)],
  );
  return new Map(changed.map(({ id, groups }) => [id, groups]));
}
