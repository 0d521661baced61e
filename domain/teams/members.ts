/** The members of teams. Each change tells every api, which forgets the callers that it knew. */
import { ROLES, type Role } from '../../contracts/roles.ts';
import type { EntityManager } from '../../db/orm.ts';
import type { KeysetPage } from '../../db/sql.ts';
import { hasRole, isAdmin, type Actor } from '../auth/actor.ts';
import { conflict, invalid, notFound, type AppError } from '../errors.ts';
import { handOver, lockTeamsOf } from './hand-over.ts';

/**
 * A member is read with all their teams at each request. It bounds those where they have a role of their own,
 * and for itself those where groups give one.
 */
export const MAX_TEAMS_OF_USER = 100;
/** With a role of their own; those of groups are bounded by the groups. */
export const MAX_MEMBERS = 1_000;

export interface Member {
  team_id: string;
  user_id: string;
  username: string;
  display_name: string | null;
  /** The highest of their own and those of their groups. */
  role: Role;
  /** Null: only groups give one. */
  own_role: Role | null;
  /** Groups of theirs that give a role in the team. */
  groups: { group: string; role: Role }[];
  added_by: string;
  added_at: Date;
}

/** SQL: the role that the member `m` has without groups. */
export const OWN_ROLE = 'case when m.group_role is null then m.role else m.own_role end';
/** SQL: the admins of teams who can act as such, as the members `m`. */
export const ACTIVE_ADMINS = `team_member m join user_account u
  on u.id = m.user_id and m.role = 'admin' and u.status = 'active'`;
const GROUPS_OF_MEMBER = `case when m.group_role is null then '[]'::json else (
  select coalesce(json_agg(json_build_object('group', g.group_name, 'role', g.role) order by g.group_name),
                  '[]')
    from team_group g where g.team_id = m.team_id and g.group_name = any(u.groups)) end`;
const MEMBERS = `select m.team_id, m.user_id, u.username, u.display_name, m.role, ${OWN_ROLE} as own_role,
         ${GROUPS_OF_MEMBER} as groups, m.added_by, m.added_at
  from team_member m join user_account u on u.id = m.user_id`;

/** By the time when they were added. */
export function listMembers(em: EntityManager, teamId: string, page: KeysetPage): Promise<Member[]> {
  return em.execute<Member[]>(
    `${MEMBERS} where m.team_id = ? and (?::uuid is null or m.user_id > ?::uuid) order by m.user_id limit ?`,
    [teamId, page.after ?? null, page.after ?? null, page.limit],
  );
}

/** The membership stays until the transaction ends. @throws 404 for somebody who is no member */
export async function getMember(em: EntityManager, teamId: string, userId: string): Promise<Member> {
  const [member] = await em.execute<Member[]>(
    `${MEMBERS} where m.team_id = ? and m.user_id = ? for update of m`,
    [teamId, userId],
  );
  if (!member) throw notFound('member');
  return member;
}

/**
 * Adds a member, or changes the role of one: their own, which groups can only raise. The team is locked.
 * @returns whether they are new
 */
export async function putMember(
  em: EntityManager,
  actor: Actor,
  teamId: string,
  { user_id: userId, role }: { user_id: string; role: Role },
): Promise<boolean> {
  const known = await countForMember(em, teamId, userId);
  if (!known)
    throw invalid([{ pointer: '/user_id', code: 'unknown_user', message: 'is not an active user' }]);
  const { role: before, own_role: own, group_role: byGroups, teams, members } = known;
  if (byGroups !== null && !hasRole({ roles: [role] }, byGroups))
    throw await givenByGroup(em, teamId, userId);
  if (own === null && teams >= MAX_TEAMS_OF_USER)
    throw conflict('too_many_teams', `A user is a member of at most ${MAX_TEAMS_OF_USER} teams.`);
  if (own === null && members >= MAX_MEMBERS)
    throw conflict('too_many_members', `A team has at most ${MAX_MEMBERS} members.`);
  if (before === 'admin' && role !== 'admin') await refuseLastAdmin(em, actor, teamId, userId);
  await em.execute(
    `insert into team_member as m (team_id, user_id, role, added_by) values (?, ?, ?, ?)
     on conflict (team_id, user_id) do update
       set role = excluded.role, own_role = case when m.group_role is not null then excluded.role end`,
    [teamId, userId, role, actor.id],
  );
  return before === null;
}

interface CountedMember {
  /** Null if they are no member. */
  role: Role | null;
  own_role: Role | null;
  group_role: Role | null;
  /** In how many they have a role of their own. */
  teams: number;
  /** How many have one in the team. */
  members: number;
}

/** Of an active user, who is locked. */
async function countForMember(
  em: EntityManager,
  teamId: string,
  userId: string,
): Promise<CountedMember | undefined> {
  const own = '(m.group_role is null or m.own_role is not null)';
  const [user] = await em.execute<CountedMember[]>(
    `select m.role, ${OWN_ROLE} as own_role, m.group_role,
            (select count(*)::int from team_member m where m.user_id = u.id and ${own}) as teams,
            (select count(*)::int from team_member m where m.team_id = ? and ${own}) as members
       from user_account u left join team_member m on m.team_id = ? and m.user_id = u.id
      where u.id = ? and u.status = 'active' for update of u`,
    [teamId, teamId, userId],
  );
  return user;
}

/**
 * Ends the membership, and with it every right to what the team holds. What the member made for the team gets
 * another owner: who removes them, else an admin of the team. Who also has a role by a group keeps that. The
 * team is locked. @throws 409 for the last admin, and for somebody who is a member by groups alone
 */
export async function removeMember(
  em: EntityManager,
  actor: Actor,
  teamId: string,
  userId: string,
): Promise<void> {
  const member = await getMember(em, teamId, userId);
  if (member.own_role === null) throw await givenByGroup(em, teamId, userId);
  if (member.groups.length > 0) {
    await endOwnRole(em, actor, member);
    return;
  }
  if (member.role === 'admin') await refuseLastAdmin(em, actor, teamId, userId);
  await em.execute('delete from team_member where team_id = ? and user_id = ?', [teamId, userId]);
  const heir = await heirOf(em, actor, teamId, userId);
  await handOver(em, [{ team_id: teamId, user_id: userId, heir_id: heir }]);
}

/** The role that groups give is left. */
async function endOwnRole(em: EntityManager, actor: Actor, member: Member): Promise<void> {
  const { team_id: teamId, user_id: userId, groups } = member;
  const stays = groups.some(({ role }) => role === 'admin');
  if (member.role === 'admin' && !stays) await refuseLastAdmin(em, actor, teamId, userId);
  await em.execute(
    'update team_member set role = group_role, own_role = null where team_id = ? and user_id = ?',
    [teamId, userId],
  );
}

/** What is not to be taken by hand, with the group that gives it. */
async function givenByGroup(em: EntityManager, teamId: string, userId: string): Promise<AppError> {
  const { username, groups } = await getMember(em, teamId, userId);
  const highest = groups.toSorted(
    ({ role: left }, { role: right }) => ROLES.indexOf(right) - ROLES.indexOf(left),
  );
  const [{ group, role } = { group: '', role: '' }] = highest;
  return conflict(
    'role_of_group',
    `The group ${group} gives ${username} the role ${role} in the team: change who is in the group, or ` +
      'what it gives in the team.',
    { group },
  );
}

/**
 * Ends all memberships of somebody whose account ends, and hands over what they made for any team.
 * @returns the number of memberships
 */
export async function leaveAllTeams(em: EntityManager, actor: Actor, userId: string): Promise<number> {
  const teams = await lockTeamsOf(em, userId);
  const left = await em.execute<object[]>('delete from team_member where user_id = ? returning 1', [userId]);
  for (const { id } of teams) {
    const heir = await heirOf(em, actor, id, userId);
    await handOver(em, [{ team_id: id, user_id: userId, heir_id: heir }]);
  }
  return left.length;
}

async function heirOf(em: EntityManager, actor: Actor, teamId: string, userId: string): Promise<string> {
  const [admin] = await em.execute<{ user_id: string }[]>(
    `select m.user_id from ${ACTIVE_ADMINS} where m.team_id = ?
      order by m.user_id = ? desc, m.added_at limit 1`,
    [teamId, actor.id],
  );
  if (admin) return admin.user_id;
  if (actor.id !== userId) return actor.id;
  throw conflict('last_team_admin', 'The team has no other admin who could take over what you own in it.');
}

/** Administrators of the platform may leave a team without an admin. */
async function refuseLastAdmin(
  em: EntityManager,
  actor: Actor,
  teamId: string,
  userId: string,
): Promise<void> {
  if (!isAdmin(actor)) await refuseTeamWithoutAdmin(em, teamId, userId);
}

/** @throws 409 if the team has no admin who is active, without the one who shall go */
export async function refuseTeamWithoutAdmin(
  em: EntityManager,
  teamId: string,
  without: string | null = null,
): Promise<void> {
  const others = await em.execute(
    `select from ${ACTIVE_ADMINS} where m.team_id = ? and m.user_id is distinct from ?::uuid limit 1`,
    [teamId, without],
  );
  if (others.length === 0) throw conflict('last_team_admin', 'This is the last admin of the team.');
}
