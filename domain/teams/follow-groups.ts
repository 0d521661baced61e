/**
 * Memberships by groups. `team_member` has everybody whom a group gives a role in a team, so whatever asks
 * for members sees them: whoever changes the groups of accounts, or those of teams, calls `followGroups` in
 * the same transaction (docs/adr/0073-groups-in-teams.md).
 */
import { ROLES, type Role } from '../../contracts/roles.ts';
import type { EntityManager } from '../../db/orm.ts';
import { arrayLiteral } from '../../db/sql.ts';
import type { AuditChange } from '../audit/write.ts';
import { handOver, lockTeamsOf } from './hand-over.ts';
import { ACTIVE_ADMINS, MAX_TEAMS_OF_USER, OWN_ROLE } from './members.ts';

/** Accounts whose memberships one statement follows. */
export const BATCH = 1_000;
/** Of one person, in the audit log. */
const MAX_SHOWN_TEAMS = 20;

/** A role in a team that groups gave before, and the one that they give now; null for none. */
export interface FollowedRole {
  user_id: string;
  team_id: string;
  team_name: string;
  before: Role | null;
  after: Role | null;
}

/** Which groups give roles stays as it is until the transaction ends, for whoever changes who is in them. */
export async function holdTeamGroups(em: EntityManager): Promise<void> {
  await em.execute(`select pg_advisory_xact_lock_shared(hashtextextended('groups of teams', 0))`);
}

/**
 * Who is in which group stays as it is until the transaction ends. Call it before any row is locked.
 *
 * The first lock is a turnstile: of all who want the second one, only the one who has passed waits for it or
 * has it, until its transaction ends. PostgreSQL serves those who wait for a lock in the order in which they
 * came. So a log-in, which takes the second lock only (`holdTeamGroups`), waits for one such transaction at
 * most, however many processes work through the queue of a large group; and the next of these waits for the
 * log-ins that have come before it, so neither side starves.
 */
export async function lockTeamGroups(em: EntityManager): Promise<void> {
  await em.execute(`select pg_advisory_xact_lock(hashtextextended('changes of groups of teams', 0))`);
  await em.execute(`select pg_advisory_xact_lock(hashtextextended('groups of teams', 0))`);
}

/** For whoever locks the account for a change of its groups: teams and their groups come first. */
export async function holdMemberships(em: EntityManager, userId: string): Promise<void> {
  await holdTeamGroups(em);
  await lockTeamsOf(em, userId);
}

/**
 * Gives people the memberships that their groups give now, and ends those that they gave before. The groups
 * of teams are held or locked. @returns what has changed
 */
export async function followGroups(em: EntityManager, userIds: readonly string[]): Promise<FollowedRole[]> {
  const all: FollowedRole[] = [];
  for (let from = 0; from < userIds.length; from += BATCH)
    all.push(...(await followBatch(em, userIds.slice(from, from + BATCH))));
  return all;
}

/** For the audit log: the roles in teams that groups gave before, and those that they give now. */
export function changeOfTeams(followed: readonly FollowedRole[]): { teams?: AuditChange } {
  if (followed.length === 0) return {};
  const shown = (which: 'before' | 'after'): string[] =>
    followed
      .flatMap((one) => (one[which] === null ? [] : [`${one.team_name}: ${one[which]}`]))
      .slice(0, MAX_SHOWN_TEAMS);
  return { teams: { old: shown('before'), new: shown('after') } };
}

const ALL_ROLES = `'{${ROLES.join(',')}}'::text[]`;
const rank = (role: string): string => `array_position(${ALL_ROLES}, ${role})`;

/**
 * What groups give to each person: of the first hundred teams, so that whoever reads somebody's teams has a
 * bound.
 */
const GIVEN = `
  select t.user_id, t.team_id, (${ALL_ROLES})[t.place] as role, t.added_by
    from (select u.id as user_id, g.team_id, max(${rank('g.role')}) as place,
                 (array_agg(g.added_by order by ${rank('g.role')} desc, g.group_name))[1] as added_by,
                 row_number() over (partition by u.id order by g.team_id) as n
            from user_account u cross join lateral unnest(u.groups) o join team_group g on g.group_name = o
           where u.id = any(?::uuid[])
           group by u.id, g.team_id) t
   where t.n <= ${MAX_TEAMS_OF_USER}`;

interface Change extends FollowedRole {
  added_by: string | null;
}

/** Of at most a thousand people. */
export async function followBatch(em: EntityManager, userIds: readonly string[]): Promise<FollowedRole[]> {
  const people = arrayLiteral(userIds);
  const changes = await em.execute<Change[]>(
    `with given as (${GIVEN}),
          present as (select user_id, team_id, group_role from team_member
                       where user_id = any(?::uuid[]) and group_role is not null)
     select user_id, team_id, (select t.name from team t where t.id = team_id) as team_name,
            p.group_role as before, g.role as after, g.added_by
       from given g full join present p using (user_id, team_id)
      where p.group_role is distinct from g.role
      order by user_id, team_id`,
    [people, people],
  );
  await join(
    em,
    changes.filter(({ after }) => after !== null),
  );
  await leave(
    em,
    changes.filter(({ after }) => after === null),
  );
  return changes;
}

/** Their own role stays beside that of the groups. */
async function join(em: EntityManager, changes: readonly Change[]): Promise<void> {
  if (changes.length === 0) return;
  await em.execute(
    `insert into team_member as m (team_id, user_id, role, group_role, added_by)
     select c.team_id, c.user_id, c.after, c.after, c.added_by
       from json_to_recordset(?::json) as c (team_id uuid, user_id uuid, after text, added_by uuid)
      order by c.team_id, c.user_id
     on conflict (team_id, user_id) do update
       set own_role = ${OWN_ROLE}, group_role = excluded.group_role,
           role = (${ALL_ROLES})[greatest(${rank(`(${OWN_ROLE})`)}, ${rank('excluded.group_role')})]`,
    [JSON.stringify(changes)],
  );
}

async function leave(em: EntityManager, changes: readonly Change[]): Promise<void> {
  if (changes.length === 0) return;
  const pairs = [
    arrayLiteral(changes.map((change) => change.team_id)),
    arrayLiteral(changes.map((change) => change.user_id)),
  ];
  const those = `unnest(?::uuid[], ?::uuid[]) as c (team_id, user_id)
    where m.team_id = c.team_id and m.user_id = c.user_id and m.group_role is not null`;
  await em.execute(
    `update team_member m set role = m.own_role, own_role = null, group_role = null
       from ${those} and m.own_role is not null`,
    pairs,
  );
  const left = await em.execute<{ team_id: string; user_id: string }[]>(
    `delete from team_member m using ${those} and m.own_role is null returning m.team_id, m.user_id`,
    pairs,
  );
  if (left.length === 0) return;
  const heirs = await heirsOf(em, [...new Set(left.map((one) => one.team_id))]);
  await handOver(
    em,
    left.flatMap((one) => {
      const heir = heirs.get(one.team_id);
      return heir === undefined ? [] : [{ ...one, heir_id: heir }];
    }),
  );
}

/** Nobody removes them, so an admin of the team takes over, else an administrator: one is always active. */
async function heirsOf(em: EntityManager, teamIds: readonly string[]): Promise<Map<string, string>> {
  // The heir is a member until the end of the transaction.
  const rows = await em.execute<{ team_id: string; heir_id: string }[]>(
    `select t.id as team_id, coalesce(
       (select m.user_id from ${ACTIVE_ADMINS}
         where m.team_id = t.id
         order by m.added_at, m.user_id limit 1 for share of m),
       (select u.id from user_account u
         where u.roles && '{admin}' and u.status = 'active' order by u.id limit 1)) as heir_id
     from unnest(?::uuid[]) as t (id)`,
    [arrayLiteral(teamIds)],
  );
  return new Map(rows.map((row) => [row.team_id, row.heir_id]));
}
