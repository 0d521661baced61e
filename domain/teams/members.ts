/** The members of teams. Each change tells every api, which forgets the callers that it knew. */
import type { Role } from '../../contracts/roles.ts';
import type { EntityManager } from '../../db/orm.ts';
import type { KeysetPage } from '../../db/sql.ts';
import { isAdmin, type Actor } from '../auth/actor.ts';
import { conflict, forbidden, invalid, notFound } from '../errors.ts';
import { reindexSchedule } from '../schedules/listener.ts';

/** A member is read with all their teams at each request. */
export const MAX_TEAMS_OF_USER = 100;
export const MAX_MEMBERS = 1_000;
/** What a member makes for a team, by table; its workflows besides. */
const MADE_FOR_TEAMS = ['agent', 'file', 'delivery_target', 'inbound_hook', 'event_source'] as const;

export interface Member {
  team_id: string;
  user_id: string;
  username: string;
  display_name: string | null;
  role: Role;
  added_by: string;
  added_at: Date;
}

const MEMBERS = `select m.team_id, m.user_id, u.username, u.display_name, m.role, m.added_by, m.added_at
  from team_member m join user_account u on u.id = m.user_id`;

/** By the time when they were added. */
export function listMembers(em: EntityManager, teamId: string, page: KeysetPage): Promise<Member[]> {
  return em.execute<Member[]>(
    `${MEMBERS} where m.team_id = ? and (?::uuid is null or m.user_id > ?::uuid) order by m.user_id limit ?`,
    [teamId, page.after ?? null, page.after ?? null, page.limit],
  );
}

/** The team is locked. @throws 404 for somebody who is no member */
export async function getMember(em: EntityManager, teamId: string, userId: string): Promise<Member> {
  const [member] = await em.execute<Member[]>(`${MEMBERS} where m.team_id = ? and m.user_id = ?`, [
    teamId,
    userId,
  ]);
  if (!member) throw notFound('member');
  return member;
}

/** Adds a member, or changes the role of one. The team is locked. @returns whether they are new */
export async function putMember(
  em: EntityManager,
  actor: Actor,
  teamId: string,
  { user_id: userId, role }: { user_id: string; role: Role },
): Promise<boolean> {
  const [user] = await em.execute<{ role: Role | null; teams: number; members: number }[]>(
    `select (select m.role from team_member m where m.team_id = ? and m.user_id = u.id) as role,
            (select count(*)::int from team_member m where m.user_id = u.id) as teams,
            (select count(*)::int from team_member m where m.team_id = ?) as members
       from user_account u where u.id = ? and u.status = 'active' for update of u`,
    [teamId, teamId, userId],
  );
  if (!user) throw invalid([{ pointer: '/user_id', code: 'unknown_user', message: 'is not an active user' }]);
  const { role: before, teams, members } = user;
  if (before === null && teams >= MAX_TEAMS_OF_USER)
    throw conflict('too_many_teams', `A user is a member of at most ${MAX_TEAMS_OF_USER} teams.`);
  if (before === null && members >= MAX_MEMBERS)
    throw conflict('too_many_members', `A team has at most ${MAX_MEMBERS} members.`);
  if (before === 'admin' && role !== 'admin') await refuseLastAdmin(em, actor, teamId, userId);
  await em.execute(
    `insert into team_member (team_id, user_id, role, added_by) values (?, ?, ?, ?)
     on conflict (team_id, user_id) do update set role = excluded.role`,
    [teamId, userId, role, actor.id],
  );
  return before === null;
}

/**
 * Ends the membership, and with it every right to what the team holds. What the member made for the team gets
 * another owner: who removes them, else an admin of the team. The team is locked.
 */
export async function removeMember(
  em: EntityManager,
  actor: Actor,
  teamId: string,
  userId: string,
): Promise<void> {
  const member = await getMember(em, teamId, userId);
  if (member.role === 'admin') await refuseLastAdmin(em, actor, teamId, userId);
  await em.execute('delete from team_member where team_id = ? and user_id = ?', [teamId, userId]);
  await handOverInTeam(em, actor, teamId, userId);
}

/**
 * Ends all memberships of somebody whose account ends, and hands over what they made for any team.
 * @returns the number of memberships
 */
export async function leaveAllTeams(em: EntityManager, actor: Actor, userId: string): Promise<number> {
  const teams = await lockTeamsOf(em, userId);
  const left = await em.execute<object[]>('delete from team_member where user_id = ? returning 1', [userId]);
  for (const { id } of teams) await handOverInTeam(em, actor, id, userId);
  return left.length;
}

/**
 * Locks the teams of somebody, and those for which they made anything. Call it before the account is locked,
 * too: whoever makes something for a team holds the team first.
 */
export async function lockTeamsOf(em: EntityManager, userId: string): Promise<{ id: string }[]> {
  const made = [...MADE_FOR_TEAMS, 'workflow'].map(
    (table) => `union select team_id from ${table} where owner_id = ? and team_id is not null`,
  );
  return em.execute<{ id: string }[]>(
    `select id from team where id in (select team_id from team_member where user_id = ? ${made.join(' ')})
      order by id for update`,
    [userId, ...made.map(() => userId)],
  );
}

async function handOverInTeam(
  em: EntityManager,
  actor: Actor,
  teamId: string,
  userId: string,
): Promise<void> {
  const heir = await heirOf(em, actor, teamId, userId);
  for (const table of MADE_FOR_TEAMS)
    await em.execute(`update ${table} set owner_id = ? where team_id = ? and owner_id = ?`, [
      heir,
      teamId,
      userId,
    ]);
  const workflows = await em.execute<{ id: string }[]>(
    'update workflow set owner_id = ? where team_id = ? and owner_id = ? returning id',
    [heir, teamId, userId],
  );
  for (const { id } of workflows) await ownListeners(em, id);
}

/** The listeners of a workflow's schedule belong to its owner. */
export async function ownListeners(em: EntityManager, workflowId: string): Promise<void> {
  await em.execute(
    `update listener l set owner_id = w.owner_id from workflow w
      where w.id = ? and l.workflow_id = w.id and l.run_id is null`,
    [workflowId],
  );
  await reindexSchedule(em, workflowId);
}

async function heirOf(em: EntityManager, actor: Actor, teamId: string, userId: string): Promise<string> {
  const [admin] = await em.execute<{ user_id: string }[]>(
    `select user_id from team_member where team_id = ? and role = 'admin'
      order by user_id = ? desc, added_at limit 1`,
    [teamId, actor.id],
  );
  if (admin) return admin.user_id;
  if (actor.id !== userId) return actor.id;
  throw forbidden('The team has no other admin who could take over what you own in it.', 'last_team_admin');
}

/** Administrators of the platform may leave a team without an admin. */
async function refuseLastAdmin(
  em: EntityManager,
  actor: Actor,
  teamId: string,
  userId: string,
): Promise<void> {
  if (isAdmin(actor)) return;
  const others = await em.execute(
    `select from team_member where team_id = ? and role = 'admin' and user_id <> ? limit 1`,
    [teamId, userId],
  );
  if (others.length === 0) throw conflict('last_team_admin', 'This is the last admin of the team.');
}
