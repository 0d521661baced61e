/** Giving objects to teams: new ones, and those that move. */
import type { EntityManager } from '../../db/orm.ts';
import type { Role } from '../../contracts/roles.ts';
import type { AuditChange } from '../audit/write.ts';
import { hasRole, isAdmin, type Actor } from '../auth/actor.ts';
import { hasTeamRole, mayMove, type Held } from '../auth/ownership.ts';
import { conflict, forbidden, invalid, notFound, type AppError } from '../errors.ts';
import { boundSecretsOf } from '../registry/definition-secrets.ts';
import type { Encryption } from '../secrets/encryption.ts';
import { putSecret, resolveSecret } from '../secrets/service.ts';
import type { Handed } from '../secrets/unbind.ts';
import { placeholderNames } from '../../contracts/placeholders.ts';
import { ownListeners } from './hand-over.ts';
import { moveHistory } from './move-history.ts';

/**
 * The team that a new object is for; null for the actor's own. The membership cannot end before the
 * transaction does. @throws 422 for a team that the actor does not know, 403 without the role in it
 */
export async function teamFor(
  em: EntityManager,
  actor: Actor,
  teamId: string | null | undefined,
  role: Role = 'builder',
): Promise<string | null> {
  if (teamId === null || teamId === undefined) {
    if (actor.teamsOnly) throw forbidden(`This requires the role ${role}, or a team.`, 'role_required');
    return null;
  }
  const known = isAdmin(actor) || hasTeamRole(actor, teamId, 'viewer');
  const found = known
    ? await em.execute('select from team where id = ? and ended_at is null for key share', [teamId])
    : [];
  if (found.length === 0)
    throw invalid([{ pointer: '/team_id', code: 'unknown_team', message: 'is not one of your teams' }]);
  if (!isAdmin(actor)) await requireMembership(em, actor, teamId, role);
  return teamId;
}

/**
 * Holds the membership until the transaction ends, so that its end and what it allows have an order.
 * @throws 403, 404 for somebody who is not a member any more
 */
export async function requireMembership(
  em: EntityManager,
  actor: Pick<Actor, 'id'>,
  teamId: string,
  role: Role,
): Promise<void> {
  const [member] = await em.execute<{ role: Role }[]>(
    'select role from team_member where team_id = ? and user_id = ? for share',
    [teamId, actor.id],
  );
  if (!member) throw notFound('team');
  if (!hasRole({ roles: [member.role] }, role))
    throw forbidden(`This requires the role ${role} in the team.`, 'role_required');
}

export type Movable = Held & { id: string };

/**
 * Whether the object may bind what the new holder has under the names that it reads: only if its author, who
 * is nobody but its owner, moves it into a team whose secrets they may use anyway.
 */
export function bindsByName(actor: Actor, object: Held, team: string | null): boolean {
  return team !== null && !object.team_id && object.owner_id === actor.id;
}

/** Whether the actor may give the object to the team. @returns its id @throws 403, 422 */
export async function checkMove(
  em: EntityManager,
  actor: Actor,
  object: Movable,
  teamId: string | null,
): Promise<string | null> {
  if (!mayMove(actor, object))
    throw forbidden('Only its owner, admins of its team and administrators may move it.', 'role_required');
  const team = await teamFor(em, actor, teamId);
  if (object.team_id && !isAdmin(actor)) await requireMembership(em, actor, object.team_id, 'admin');
  return team;
}

/** Where an object goes. */
export interface Destination {
  /** Null: to a person. */
  team: string | null;
  /** The person, if an administrator has named one; else it is the actor. */
  owner?: string | undefined;
}

/**
 * Where a request moves the object to, by its `team_id` and `owner_id`; null if it stays where it is. Only
 * administrators give it to another person, because that person gets its secrets. `role`: what the person
 * needs to make one. @throws 403, 422
 */
export async function destinationOf(
  em: EntityManager,
  actor: Actor,
  object: Held,
  { team_id: team, owner_id: owner }: { team_id?: string | null | undefined; owner_id?: string | undefined },
  role: Role = 'builder',
): Promise<Destination | null> {
  // A whole record that is sent back names the owner that it has.
  const leavesTeam = team === null && Boolean(object.team_id) && isAdmin(actor);
  if (owner === undefined || (owner === object.owner_id && !leavesTeam))
    return team === undefined || team === (object.team_id ?? null) ? null : { team };
  if (!isAdmin(actor)) throw forbidden('Only administrators give this to another person.', 'role_required');
  if (team !== undefined && team !== null) {
    const message = 'is for a move to a person, and team_id for one to a team';
    throw invalid([{ pointer: '/owner_id', code: 'team_and_owner', message }]);
  }
  const [person] = await em.execute<{ roles: Role[] }[]>(
    `select to_json(roles) as roles from user_account where id = ? and status = 'active' for key share`,
    [owner],
  );
  if (!person) throw refusedOwner('unknown_user', 'is not an active user');
  if (!hasRole(person, role)) throw refusedOwner('cannot_own', `needs the role ${role} for it`);
  return { team: null, owner };
}

function refusedOwner(code: string, message: string): AppError {
  return invalid([{ pointer: '/owner_id', code, message }]);
}

type Moved = { owner_id: string; team_id: string | null; holder_id: string };
type MovableTable = 'agent' | 'workflow' | 'file' | 'delivery_target' | 'inbound_hook' | 'event_source';

/**
 * Gives an object, whose row is locked, to a team or a person, together with its history. A member of the new
 * team stays its owner. @throws 403 for those who may not move it, 422 for an unknown team
 */
export async function moveObject(
  em: EntityManager,
  actor: Actor,
  table: MovableTable,
  object: Movable,
  { team, owner }: Destination,
): Promise<Moved> {
  return giveTo(em, actor, table, object, await checkMove(em, actor, object, team), { owner });
}

/** `moveObject` after `checkMove`, which has given the team. `source` is a column that changes with it. */
export async function giveTo(
  em: EntityManager,
  actor: Actor,
  table: MovableTable,
  object: Movable,
  team: string | null,
  { owner: named, ...more }: { owner?: string | undefined; source?: string } = {},
): Promise<Moved> {
  const [kept] =
    team === null
      ? []
      : await em.execute('select from team_member where team_id = ? and user_id = ?', [
          team,
          object.owner_id,
        ]);
  const owner = kept === undefined ? (named ?? actor.id) : object.owner_id;
  const changed = { team_id: team, owner_id: owner, ...more };
  const columns = Object.keys(changed).map((column) => `${column} = ?`);
  await em.execute(`update ${table} set ${columns.join(', ')} where id = ?`, [
    ...Object.values(changed),
    object.id,
  ]);
  if (table === 'workflow') {
    await moveHistory(em, object.id);
    await ownListeners(em, object.id);
  }
  return { owner_id: owner, team_id: team, holder_id: team ?? owner };
}

/** For the audit log, of what was moved without the ORM, which sees changes itself. */
export function moveNote(before: Held, after: Held): { data: { changes: Record<string, AuditChange> } } {
  const team = { old: before.team_id ?? null, new: after.team_id ?? null };
  const owner = { old: before.owner_id, new: after.owner_id };
  return { data: { changes: { team_id: team, ...(owner.old === owner.new ? {} : { owner_id: owner }) } } };
}

/**
 * Copies the secrets that a moving object reads to its new holder. @returns those that the former one has
 * @throws 409 if the new one has others of these names: they would be sent to where their owner never wanted
 * them
 */
export async function copySecrets(
  em: EntityManager,
  encryption: Encryption,
  { from, to, names }: { from: string; to: string; names: Iterable<string> },
): Promise<Handed> {
  const taken: string[] = [];
  const handed: [string, string][] = [];
  for (const name of new Set(names)) {
    const value = await resolveSecret(em, encryption, from, name);
    if (value === null) continue;
    handed.push([name, name]);
    const other = await resolveSecret(em, encryption, to, name);
    if (other === null) await putSecret(em, encryption, to, { name, value });
    else if (other !== value) taken.push(name);
  }
  if (taken.length > 0)
    throw conflict('secret_names_taken', 'The new owner has other secrets of the same names.', {
      secrets: taken,
    });
  return Object.fromEntries(handed);
}

/** The names of the secrets that any version of an agent reads. */
export async function secretsOfAgent(em: EntityManager, id: string): Promise<Set<string>> {
  const rows = await em.execute<{ part: unknown }[]>(
    `select configuration as part from agent_version where agent_id = ?
     union all select json_build_array(configuration, authentication_config) from agent where id = ?`,
    [id, id],
  );
  return new Set(rows.flatMap(({ part }) => [...placeholderNames(part)]));
}

/** The names of the secrets that the current revision of a workflow reads, and those of runs that live. */
export async function secretsOfWorkflow(em: EntityManager, id: string): Promise<Set<string>> {
  const rows = await em.execute<{ definition: Record<string, unknown> }[]>(
    `select v.definition from workflow w join workflow_revision v on v.workflow_id = w.id
      where w.id = ? and v.valid and (v.revision = w.revision or v.revision = any(array(
              select distinct r.workflow_revision from run r where r.workflow_id = w.id
                 and r.finished_at is null)))`,
    [id],
  );
  return new Set(rows.flatMap(({ definition }) => boundSecretsOf(definition)));
}
