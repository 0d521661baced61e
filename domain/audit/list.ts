/** Reads the audit log, newest first. */
import type { EntityManager } from '../../db/orm.ts';
import { Conditions, type KeysetPage } from '../../db/sql.ts';
import { isAdmin, type Actor } from '../auth/actor.ts';
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
}

export type AuditKey = [at: string, id: string];

/** Admins see all entries, others those of what they did themselves. */
export async function listAudit(
  em: EntityManager,
  actor: Actor,
  filter: AuditFilter,
  page: KeysetPage<AuditKey>,
): Promise<AuditEntry[]> {
  const where = new Conditions();
  if (!isAdmin(actor)) where.add('e.actor_id = ?', actor.id);
  for (const name of ['actor_id', 'action', 'outcome', 'object_type', 'object_id', 'address'] as const) {
    const value = filter[name];
    if (value !== undefined) where.add(`e.${name} = ?`, value);
  }
  if (filter.from !== undefined) where.add('e.at >= ?::timestamptz', filter.from);
  if (filter.to !== undefined) where.add('e.at < ?::timestamptz', filter.to);
  if (page.after) where.add('(e.at, e.id) < (?::timestamptz, ?::bigint)', ...page.after);
  return em.execute<AuditEntry[]>(
    `select e.id::text as id, to_char(e.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as at,
            e.actor_id, coalesce(u.username, e.actor_name) as actor_name, e.action,
            e.outcome, e.object_type, e.object_id, e.credential,
            e.credential_id, e.via, e.address, e.user_agent, e.request_id, e.data
       from audit_entry e left join user_account u on u.id = e.actor_id
      where ${where.sql} order by e.at desc, e.id desc limit ?`,
    [...where.values, page.limit],
  );
}
