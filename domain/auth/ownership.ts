/**
 * Whose an object is, and what its owner, a team and others may do with it: the one place that decides
 * (docs/teams.md). An object is held by its team, else by its owner. Deny by default.
 */
import type { Role } from '../../contracts/roles.ts';
import { arrayLiteral, Conditions } from '../../db/sql.ts';
import { hasRole, isAdmin, userIdOf, type Actor } from './actor.ts';

export interface Held {
  owner_id: string;
  team_id: string | null | undefined;
}

export interface Owned extends Held {
  visibility: 'private' | 'public';
}

/** Part of an actor that rights depend on. */
type Who = Pick<Actor, 'id' | 'roles' | 'teams' | 'teamsOnly'>;

/** Whose secrets an object reads, and whose objects it uses. */
export function holderOf({ owner_id: owner, team_id: team }: Held): string {
  return team ?? owner;
}

/** Whether the actor has this role, or a higher one, in the team. */
export function hasTeamRole(
  { teams = [] }: Pick<Actor, 'teams'>,
  teamId: string | null | undefined,
  role: Role,
): boolean {
  return teams.some((team) => team.id === teamId && hasRole({ roles: [team.role] }, role));
}

/** Whether the actor has the role in any team. */
export function hasRoleInSomeTeam({ teams = [] }: Pick<Actor, 'teams'>, role: Role): boolean {
  return teams.some((team) => hasRole({ roles: [team.role] }, role));
}

/** A caller whose own role does not suffice: acts with the rights in teams only. */
function byTeamsOnly(actor: Actor): Actor {
  return { ...actor, teamsOnly: true };
}

/** The actor for an action that needs a role: their own rights count only if they have it. */
export function acting(actor: Actor, role: Role): Actor {
  return hasRole(actor, role) ? actor : byTeamsOnly(actor);
}

/** Everybody sees what is public, members what their team holds, owners what is theirs, admins all. */
export function maySee(actor: Who, object: Owned): boolean {
  return object.visibility === 'public' || isHolder(actor, object, 'viewer') || isAdmin(actor);
}

/** Owners, builders of the team, and admins. */
export function mayChange(actor: Who, object: Held): boolean {
  return isHolder(actor, object, 'builder') || isAdmin(actor);
}

/** Whether the actor may use it as a builder: start it, call it. */
export function mayUse(actor: Who, object: Owned): boolean {
  return mayChange(actor, object) || (object.visibility === 'public' && actor.teamsOnly !== true);
}

/** Whether the actor may give it to another holder: its owner, admins of its team, and admins. */
export function mayMove(actor: Who, object: Held): boolean {
  return isHolder(actor, object, 'admin') || isAdmin(actor);
}

/** Whether the actor may publish it in the marketplace: in their own name, or in that of a team. */
export function mayPublish(actor: Who, object: Held): boolean {
  return isHolder(actor, object, 'builder');
}

/** What is a person's own needs no role in a team, but the role of its owner that the action needs. */
function isHolder(actor: Who, object: Held, role: Role): boolean {
  if (object.team_id) return hasTeamRole(actor, object.team_id, role);
  return object.owner_id === actor.id && (role === 'viewer' || actor.teamsOnly !== true);
}

/** A condition of SQL with the values of its `?`. */
export interface Condition {
  sql: string;
  values: unknown[];
}

/** The holders whose objects the actor sees: the actor, and their teams from this role on. */
export function holdersOf(actor: Pick<Actor, 'id' | 'teams'>, role: Role = 'viewer'): string[] {
  return [actor.id, ...teamsWith(actor, role)];
}

/** Narrows a list to what a person owns, which `me` may be, or a team holds. */
export interface HolderFilter {
  owner_id?: string | undefined;
  team_id?: string | undefined;
}

/**
 * Whose objects a list for builders shows, of the table with this alias: the actor's own and those of their
 * teams; to administrators those of all.
 */
export function listedBy(actor: Actor, alias: string, filter: HolderFilter): Conditions {
  const { owner_id: owner, team_id: team } = filter;
  const where = new Conditions();
  if (!isAdmin(actor))
    where.add(`${alias}.holder_id = any(?::uuid[])`, arrayLiteral(holdersOf(actor, 'builder')));
  if (team !== undefined) where.add(`${alias}.team_id = ?::uuid`, team);
  if (owner !== undefined) where.add(`${alias}.owner_id = ?::uuid`, userIdOf(actor, owner));
  return where;
}

/** The ids of the teams in which the actor has the role. */
export function teamsWith({ teams = [] }: Pick<Actor, 'teams'>, role: Role): string[] {
  return teams.filter((team) => hasRole({ roles: [team.role] }, role)).map(({ id }) => id);
}

/** SQL of `maySee` for the table with this alias; `maySee` with the role builder is `mayUse`. */
export function seenBy(actor: Actor, alias: string, role: Role = 'viewer'): Condition {
  if (isAdmin(actor)) return { sql: 'true', values: [] };
  return {
    sql: `(${alias}.holder_id = any(?::uuid[]) or ${alias}.visibility = 'public')`,
    values: [arrayLiteral(holdersOf(actor, role))],
  };
}

/**
 * SQL: whether the object of this alias may be used with the rights of a principal, a user or a team, whose
 * id is the value of its one `?`, or the given expression. Without what administrators may.
 */
export function usableBy(alias: string, principal = '?::uuid'): string {
  return `(${alias}.holder_id = any(rights_held(${principal})) or ${alias}.visibility = 'public')`;
}
