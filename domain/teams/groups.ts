/** Groups, of a directory or local ones, that give their people a role in a team. */
import { GROUP_SEPARATOR } from '../../contracts/identity.ts';
import { ROLES, type Role } from '../../contracts/roles.ts';
import type { EntityManager } from '../../db/orm.ts';
import { escapeLike, type KeysetPage } from '../../db/sql.ts';
import { isAdmin, type Actor } from '../auth/actor.ts';
import { conflict, invalid, notFound } from '../errors.ts';
import { isGroupName } from '../identity/claims.ts';
import type { FollowedTeams } from './audit-followed.ts';
import { refuseTeamWithoutAdmin } from './members.ts';
import { followMembersOf, followPeopleOf } from './people-of-groups.ts';

export const MAX_GROUPS_OF_TEAM = 50;

export interface TeamGroup {
  team_id: string;
  /** As in the groups of users: `<issuer>:<group>`, or the name of a local one. */
  group: string;
  role: Role;
  added_by: string;
  added_at: Date;
  /** Some of its people are still to be followed. */
  pending: boolean;
}

/** What a change of a team's group has done. */
interface GroupChange {
  /** The role that the group gave; null for a new group. */
  before: Role | null;
  /** How many people have another role by groups in the team than before; more may follow. */
  people: number;
  /** What has changed in other teams. */
  others: FollowedTeams;
}

const GROUPS = `select g.team_id, g.group_name as "group", g.role, g.added_by, g.added_at,
    exists (select from group_to_follow q where q.group_name = g.group_name) as pending
  from team_group g`;

/** By name. */
export function listTeamGroups(em: EntityManager, teamId: string, page: KeysetPage): Promise<TeamGroup[]> {
  return em.execute<TeamGroup[]>(
    `${GROUPS} where g.team_id = ? and (?::text is null or g.group_name > ?) order by g.group_name limit ?`,
    [teamId, page.after ?? null, page.after ?? null, page.limit],
  );
}

/** @throws 404 */
export async function getTeamGroup(em: EntityManager, teamId: string, group: string): Promise<TeamGroup> {
  const [found] = await em.execute<TeamGroup[]>(`${GROUPS} where g.team_id = ? and g.group_name = ?`, [
    teamId,
    group,
  ]);
  if (!found) throw notFound('group');
  return found;
}

/**
 * Gives the people of a group a role in the team, or another one than before. The groups of teams and the
 * team are locked. @throws 409, 422
 */
export async function putTeamGroup(
  em: EntityManager,
  actor: Actor,
  teamId: string,
  { group, role }: { group: string; role: Role },
): Promise<GroupChange> {
  const present = await em.execute<{ group_name: string; role: Role }[]>(
    'select group_name, role from team_group where team_id = ?',
    [teamId],
  );
  const before = present.find((one) => one.group_name === group)?.role ?? null;
  if (before === null) await checkName(em, group);
  if (before === null && present.length >= MAX_GROUPS_OF_TEAM)
    throw conflict('too_many_groups', `A team has at most ${MAX_GROUPS_OF_TEAM} groups.`);
  await em.execute(
    `insert into team_group (team_id, group_name, role, added_by) values (?, ?, ?, ?)
     on conflict (team_id, group_name) do update set role = excluded.role`,
    [teamId, group, role, actor.id],
  );
  const takes = before !== null && ROLES.indexOf(role) < ROLES.indexOf(before);
  const others = await (takes ? followMembersOf(em, [teamId], [group]) : followPeopleOf(em, [group]));
  if (before === 'admin' && !isAdmin(actor)) await refuseTeamWithoutAdmin(em, teamId);
  return { before, people: others.take(teamId), others };
}

/**
 * Takes back what a group gives in the team; its people keep their own roles and those of other groups. The
 * groups of teams and the team are locked. @throws 404, 409
 */
export async function removeTeamGroup(
  em: EntityManager,
  actor: Actor,
  teamId: string,
  group: string,
): Promise<GroupChange> {
  const { role } = await getTeamGroup(em, teamId, group);
  await em.execute('delete from team_group where team_id = ? and group_name = ?', [teamId, group]);
  const others = await followMembersOf(em, [teamId], [group]);
  if (role === 'admin' && !isAdmin(actor)) await refuseTeamWithoutAdmin(em, teamId);
  return { before: role, people: others.take(teamId), others };
}

/**
 * Takes the groups of an issuer that goes from all teams: another issuer of this name gives nothing. The
 * groups of teams are locked, and the accounts still have the groups. @returns how many there were
 */
export async function removeGroupsOfIssuer(
  em: EntityManager,
  issuerName: string,
): Promise<{ count: number; followed: FollowedTeams }> {
  const removed = await em.execute<{ team_id: string; group_name: string }[]>(
    'delete from team_group where group_name like ? returning team_id, group_name',
    [`${escapeLike(issuerName)}${GROUP_SEPARATOR}%`],
  );
  const followed = await followMembersOf(
    em,
    [...new Set(removed.map((row) => row.team_id))],
    [...new Set(removed.map((row) => row.group_name))],
  );
  return { count: removed.length, followed };
}

/** An issuer's name says whose the group is, so there has to be such an issuer. @throws 422 */
async function checkName(em: EntityManager, group: string): Promise<void> {
  const at = group.indexOf(GROUP_SEPARATOR);
  const refuse = (code: string, message: string) => invalid([{ pointer: '/group', code, message }]);
  if (!isGroupName(at < 0 ? group : group.slice(at + 1)))
    throw refuse('group_name', 'must have 1 to 100 visible characters, after the name of an issuer and “:”');
  if (at < 0) return;
  const issuer = group.slice(0, at);
  const known = await em.execute('select from identity_issuer where name = ?', [issuer]);
  if (known.length === 0) throw refuse('unknown_issuer', `begins with “${issuer}:”, which is no issuer`);
}
