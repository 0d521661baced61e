/** Reads the audit log, newest first. `follow.ts` reads it oldest first. */
import type { EntityManager } from '../../db/orm.ts';
import { Conditions, type KeysetPage } from '../../db/sql.ts';
import { isAdmin, type Actor } from '../auth/actor.ts';
import { hasTeamRole } from '../auth/ownership.ts';
import { forbidden, notFound } from '../errors.ts';
import type { AuditCredential, AuditData, AuditOutcome, AuditVia } from './write.ts';

export interface AuditEntry {
  id: string;
  /** With microseconds, as the cursor needs them. */
  at: string;
  actor_id: string | null;
  actor_name: string | null;
  action: string;
  outcome: AuditOutcome;
  object_type: string | null;
  object_id: string | null;
  credential: AuditCredential;
  credential_id: string | null;
  via: AuditVia;
  address: string | null;
  user_agent: string | null;
  request_id: string | null;
  /** Has the teams of the object, too. */
  data: AuditData;
}

export interface AuditFilter {
  actor_id?: string | undefined;
  action?: string | undefined;
  outcome?: AuditOutcome | undefined;
  object_type?: string | undefined;
  object_id?: string | undefined;
  address?: string | undefined;
  from?: string | undefined;
  to?: string | undefined;
  /** Of what this team held then, or what moved to it. */
  team_id?: string | undefined;
}

export type AuditKey = [at: string, id: string];

/** SQL: the columns of `AuditEntry`, for an entry `e` and the account `u` of its actor. */
export const ENTRY_COLUMNS = `e.id::text as id,
  to_char(e.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as at,
  e.actor_id, coalesce(u.username, e.actor_name) as actor_name, e.action, e.outcome, e.object_type,
  e.object_id, e.credential, e.credential_id, e.via, e.address, e.user_agent, e.request_id, e.data`;

/** SQL: that the team in the only `?` held the object of the entry `e`; and that the object moved to it. */
export const HELD_BY_TEAM = `e.data ->> 'team_id' = ?`;
export const MOVED_TO_TEAM = `e.data ->> 'to_team_id' = ?`;

/**
 * What the actor sees of what the filter finds: admins all; others the entries of a team that they
 * administer, else those of what they did themselves. `team_id` is for the caller to add, as its index needs
 * it.
 * @throws 404 for a team that the actor does not know, 403 for one that they do not administer: an empty list
 * would tell a program that nothing happened
 */
export function visibleEntries(actor: Actor, filter: AuditFilter): Conditions {
  const where = new Conditions();
  if (filter.team_id !== undefined) checkTeamLog(actor, filter.team_id);
  else if (!isAdmin(actor)) where.add('e.actor_id = ?', actor.id);
  for (const name of ['actor_id', 'action', 'outcome', 'object_type', 'object_id', 'address'] as const) {
    const value = filter[name];
    if (value !== undefined) where.add(`e.${name} = ?`, value);
  }
  if (filter.from !== undefined) where.add('e.at >= ?::timestamptz', filter.from);
  if (filter.to !== undefined) where.add('e.at < ?::timestamptz', filter.to);
  return where;
}

/** @throws 403, 404 */
export function checkTeamLog(actor: Actor, team: string): void {
  if (isAdmin(actor) || hasTeamRole(actor, team, 'admin')) return;
  if (actor.auditedTeams?.includes(team) === true) return;
  if (!hasTeamRole(actor, team, 'viewer')) throw notFound('team');
  throw forbidden('Only admins of the team may read the audit log of what it holds.', 'role_required');
}

/** @throws 403, 404 as `visibleEntries` */
export async function listAudit(
  em: EntityManager,
  actor: Actor,
  filter: AuditFilter,
  page: KeysetPage<AuditKey>,
): Promise<AuditEntry[]> {
  const where = visibleEntries(actor, filter);
  if (page.after) where.add('(e.at, e.id) < (?::timestamptz, ?::bigint)', ...page.after);
  const found = entriesOf(where, filter.team_id, page.limit);
  return em.execute<AuditEntry[]>(
    `select ${ENTRY_COLUMNS}
       from (${found.sql}) e left join user_account u on u.id = e.actor_id
      order by e.at desc, e.id desc limit ?`,
    [...found.values, page.limit],
  );
}

/** Whether any entry has the action, found by its index. */
export async function isLoggedAction(em: EntityManager, action: string): Promise<boolean> {
  const select = 'select 1 from audit_entry where action = ? order by at limit 1';
  const found = await em.execute(select, [action]);
  return found.length > 0;
}

/** Both kinds of entries of a team are read in the order of an index of their own. */
function entriesOf(
  where: Conditions,
  team: string | undefined,
  limit: number,
): { sql: string; values: unknown[] } {
  const select = (condition: string): string =>
    `(select e.* from audit_entry e where ${where.sql}${condition} order by e.at desc, e.id desc limit ?)`;
  if (team === undefined) return { sql: select(''), values: [...where.values, limit] };
  const values = [...where.values, team, limit];
  return {
    sql: `${select(` and ${HELD_BY_TEAM}`)} union all ${select(` and ${MOVED_TO_TEAM}`)}`,
    values: [...values, ...values],
  };
}
