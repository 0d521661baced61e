/** Teams: what they are called, and their end. `members.ts` has who belongs to them. */
import { v7 as uuidv7 } from 'uuid';

import type { EntityManager } from '../../db/orm.ts';
import { arrayLiteral, Conditions, containsPattern, type KeysetPage } from '../../db/sql.ts';
import { isAdmin, type Actor } from '../auth/actor.ts';
import { hasTeamRole, teamsWith } from '../auth/ownership.ts';
import { conflict, forbidden, notFound } from '../errors.ts';
import type { Quotas } from '../../contracts/quotas.ts';
import type { Role } from '../../contracts/roles.ts';
import type { FollowedTeams } from './audit-followed.ts';
import { endTeam } from './end.ts';
import { lockTeamGroups } from './follow-groups.ts';
import { requireMembership } from './holding.ts';

export interface Team {
  id: string;
  name: string;
  description: string | null;
  created_by: string;
  created_at: Date;
  updated_at: Date;
  /** Of the actor; null for administrators who are no members. */
  role: Role | null;
  members: number;
  quotas: Quotas | null;
}

/** What a team must no longer hold before it can be deleted, by table. */
const HOLDINGS = {
  agents: 'agent where team_id',
  workflows: 'workflow where archived_at is null and team_id',
  files: 'file where team_id',
  webhooks: 'delivery_target where team_id',
  inbound_webhooks: 'inbound_hook where team_id',
  event_sources: 'event_source where team_id',
  secrets: 'secret where owner_id',
} as const;

/** Groups may have any number of people. */
export const MAX_COUNTED_MEMBERS = 10_000;

const COLUMNS = `t.id, t.name, t.description, t.created_by, t.created_at, t.updated_at, t.quotas,
  (select m.role from team_member m where m.team_id = t.id and m.user_id = ?) as role,
  (select count(*)::int from (
     select from team_member m where m.team_id = t.id limit ${MAX_COUNTED_MEMBERS}) c) as members`;

export async function createTeam(
  em: EntityManager,
  actor: Actor,
  { name, description }: { name: string; description: string | null },
): Promise<string> {
  await refuseTaken(em, name);
  const id = uuidv7();
  await em.execute('insert into team (id, name, description, created_by) values (?, ?, ?, ?)', [
    id,
    name,
    description,
    actor.id,
  ]);
  return id;
}

/** Of the actor's teams; administrators see all. By name. */
export async function listTeams(
  em: EntityManager,
  actor: Actor,
  { q, mine = false }: { q?: string | undefined; mine?: boolean | undefined },
  page: KeysetPage,
): Promise<Team[]> {
  const where = new Conditions().add('t.ended_at is null');
  if (mine || !isAdmin(actor)) where.add('t.id = any(?::uuid[])', arrayLiteral(teamsWith(actor, 'viewer')));
  if (q !== undefined) where.add('t.name ilike ?', containsPattern(q));
  if (page.after !== undefined) where.add('lower(t.name) > lower(?)', page.after);
  return em.execute<Team[]>(
    `select ${COLUMNS} from team t where ${where.sql} order by lower(t.name) limit ?`,
    [actor.id, ...where.values, page.limit],
  );
}

/** @throws 404 for those who are neither members nor administrators */
export async function getTeam(em: EntityManager, actor: Actor, id: string): Promise<Team> {
  const [team] = await em.execute<Team[]>(
    `select ${COLUMNS} from team t where t.id = ? and t.ended_at is null`,
    [actor.id, id],
  );
  if (!team || !(hasTeamRole(actor, id, 'viewer') || isAdmin(actor))) throw notFound('team');
  return team;
}

/**
 * Locks the team, and then looks whether the actor is still its admin: a removed admin adds nobody, not even
 * by a request that has waited for the removal. @throws 404, or 403 for members who may not manage it
 */
export async function getTeamForChange(em: EntityManager, actor: Actor, id: string): Promise<Team> {
  await em.execute('select from team where id = ? for update', [id]);
  const team = await getTeam(em, actor, id);
  checkMayManage(actor, id);
  if (!isAdmin(actor)) await requireMembership(em, actor, id, 'admin');
  return team;
}

/** `getTeamForChange` for what changes who is a member by groups, which are locked, too. */
export async function getTeamForGroups(em: EntityManager, actor: Actor, id: string): Promise<Team> {
  // Nobody who may not change the team waits for the lock.
  await getTeam(em, actor, id);
  checkMayManage(actor, id);
  await lockTeamGroups(em);
  return getTeamForChange(em, actor, id);
}

/** @throws 403 */
function checkMayManage(actor: Actor, id: string): void {
  if (!mayManage(actor, id)) throw forbidden('Only admins of the team may change it.', 'role_required');
}

export function mayManage(actor: Actor, id: string): boolean {
  return hasTeamRole(actor, id, 'admin') || isAdmin(actor);
}

export async function updateTeam(
  em: EntityManager,
  team: Team,
  changes: {
    name?: string | undefined;
    description?: string | null | undefined;
    quotas?: Quotas | null | undefined;
  },
): Promise<void> {
  const { name = team.name, description = team.description, quotas = team.quotas } = changes;
  if (name.toLowerCase() !== team.name.toLowerCase()) await refuseTaken(em, name);
  await em.execute(
    `update team set name = ?, description = ?, quotas = ?::jsonb, updated_at = clock_timestamp()
      where id = ?`,
    [name, description, quotas === null ? null : JSON.stringify(quotas), team.id],
  );
}

/**
 * Runs keep their owners; archived workflows lose the team. @returns what groups have changed in other teams
 * @throws 409 while the team holds anything
 */
export async function deleteTeam(em: EntityManager, { id }: Team): Promise<FollowedTeams> {
  const holds = await holdingsOf(em, id);
  if (Object.values(holds).some((count) => count > 0))
    throw conflict('team_owns_objects', 'The team still owns objects: move or delete them first.', { holds });
  return endTeam(em, id);
}

/** Counts what the team holds, each up to a thousand. */
async function holdingsOf(em: EntityManager, id: string): Promise<Record<string, number>> {
  const names = Object.entries(HOLDINGS);
  const [row] = await em.execute<Record<string, number>[]>(
    `select ${names
      .map(([name, from]) => `(select count(*)::int from (select from ${from} = ? limit 1000) h) as ${name}`)
      .join(', ')}`,
    names.map(() => id),
  );
  return row ?? {};
}

async function refuseTaken(em: EntityManager, name: string): Promise<void> {
  const taken = await em.execute('select from team where lower(name) = lower(?)', [name]);
  if (taken.length > 0) throw conflict('name_taken', 'Another team has this name.');
}
