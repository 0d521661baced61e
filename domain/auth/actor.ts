import { ROLES, type Role } from '../../contracts/roles.ts';

/** Membership of a team. */
export interface TeamRole {
  id: string;
  role: Role;
}

const TEAMS = `(
  select coalesce(json_agg(json_build_object('id', m.team_id, 'role', m.role)), '[]')
    from team_member m where m.user_id = u.id)`;

/** SQL: the teams of the user `u`, as JSON. */
export const TEAMS_OF_USER = `${TEAMS} as teams`;

/** SQL: the roles of the user `u`; a viewer's while the condition says that a second factor is awaited. */
export function rolesUnless(awaited: string): string {
  return `case when ${awaited} then array['viewer'] else u.roles end as roles`;
}

/** SQL: `rolesUnless`, the groups, the teams (none while it is awaited), and whether it is. */
export function rightsUnless(awaited: string): string {
  return `${rolesUnless(awaited)}, u.groups,
    case when ${awaited} then '[]'::json else ${TEAMS} end as teams, ${awaited} as awaits`;
}

/** The authenticated caller. Roles and groups are read from the user's row for this request. */
export interface Actor {
  id: string;
  username: string;
  roles: Role[];
  groups: string[];
  /** What a token may do of what the roles allow; null or absent: everything. */
  scopes?: readonly string[] | null;
  /** The caller has shown a personal access token. */
  accessToken?: true;
  /** Absent people whose deputy the caller is, where it was asked for (absences.ts). */
  deputyFor?: AbsentPerson[];
  /** The teams of the user, with the role in each. */
  teams?: TeamRole[];
  /** The user's own role does not suffice for the request: only what teams hold counts. */
  teamsOnly?: boolean;
  /** Of a token that may read the audit log: the teams that the user administers, whatever else it may do. */
  auditedTeams?: readonly string[];
  /** The session, token or client waits for a second factor: it starts nothing. */
  awaitsSecondFactor?: boolean;
  /** Set if an OAuth client acts for the user. */
  client?: {
    /** The user has roles that the client may not use. */
    limited: boolean;
    /** The user allowed it to decide human tasks through tools (scope `hitl:decide`). */
    mayDecide: boolean;
  };
}

export interface AbsentPerson extends Actor {
  /** The beginning of the absence, RFC 3339. */
  since: string;
}

/** The caller of an endpoint without authentication: owns nothing and may do nothing. */
export const anonymous: Actor = {
  id: '00000000-0000-0000-0000-000000000000',
  username: '',
  roles: [],
  groups: [],
};

/** Roles are cumulative: a builder may do everything that an approver may. */
export function hasRole(actor: Pick<Actor, 'roles'>, role: Role): boolean {
  const needed = ROLES.indexOf(role);
  return actor.roles.some((own) => ROLES.indexOf(own) >= needed);
}

/** The roles of a session that may use no role above `limit`; null for no limit. */
export function limitRoles(roles: Role[], limit: Role | null): Role[] {
  if (limit === null) return roles;
  const highest = Math.max(...roles.map((role) => ROLES.indexOf(role)), -1);
  const role = ROLES[Math.min(highest, ROLES.indexOf(limit))];
  return role === undefined ? [] : [role];
}

/** Roles in teams have the same limit. */
function limitTeams(teams: readonly TeamRole[], limit: Role | null): TeamRole[] {
  return teams.flatMap(({ id, role }) => {
    const [limited] = limitRoles([role], limit);
    return limited === undefined ? [] : [{ id, role: limited }];
  });
}

/** The caller of a session: `limit` is that of an OAuth client, null for all others. */
export function actorOfSession(user: Actor, limit: Role | null, mayDecide = false): Actor {
  if (limit === null) return user;
  const roles = limitRoles(user.roles, limit);
  const limited = user.roles.some((role) => !hasRole({ roles }, role));
  const teams = limitTeams(user.teams ?? [], limit);
  return { ...user, roles, teams, client: { limited, mayDecide } };
}

/**
 * A caller with some scopes only; null for all. Without the scope `admin` it has no rights of an
 * administrator, not even to see more, but for the audit log of teams that the user administers.
 */
export function scopedActor(user: Actor, scopes: readonly string[] | null): Actor {
  if (scopes === null) return user;
  const roles = scopes.includes('admin') ? user.roles : limitRoles(user.roles, 'builder');
  return {
    ...user,
    roles,
    teams: scopes.includes('admin') ? (user.teams ?? []) : limitTeams(user.teams ?? [], 'builder'),
    scopes,
    ...(scopes.includes('audit:read') && { auditedTeams: administeredBy(user) }),
    ...(user.client && { client: { ...user.client, mayDecide: scopes.includes('hitl:decide') } }),
  };
}

function administeredBy({ teams = [] }: Actor): string[] {
  return teams.filter(({ role }) => role === 'admin').map(({ id }) => id);
}

/** The id of a user that a filter names; `me` is the actor. */
export function userIdOf(actor: Pick<Actor, 'id'>, person: string): string {
  return person === 'me' ? actor.id : person;
}

export function isAdmin(actor: Pick<Actor, 'roles'>): boolean {
  return hasRole(actor, 'admin');
}
