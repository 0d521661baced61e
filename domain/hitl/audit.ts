/**
 * Audit rows of human tasks: who did what, when and how. A trigger makes them append-only; they outlive the
 * run.
 */
import { v7 as uuidv7 } from 'uuid';
import type { EntityManager } from '../../db/orm.ts';
import type { KeysetPage } from '../../db/sql.ts';
import { isAdmin, type Actor } from '../auth/actor.ts';
import type { HumanTask } from './human-task.ts';
import { ownsRunOf } from './policy.ts';
import { isUndecided } from './state-machine.ts';

/**
 * How a change was made. `workflow`: by the run itself, through a timer or its end. `system`: because the
 * account of the person who had the task ended.
 */
export const AUDIT_VIA = ['api', 'batch', 'link', 'a2a', 'workflow', 'mcp', 'system'] as const;
export type Via = (typeof AUDIT_VIA)[number];

export const AUDIT_ACTIONS = [
  'created',
  'claimed',
  'released',
  'delegated',
  'escalated',
  'commented',
  'voted',
  'decided',
  'expired',
  'cancelled',
] as const;
export type AuditAction = (typeof AUDIT_ACTIONS)[number];

export interface AuditEntry {
  task_id: string;
  run_id: string;
  action: AuditAction;
  via: Via;
  /** Null for changes by the run itself or the platform. */
  actor: { id: string; username: string } | null;
  as_admin?: boolean;
  data?: Record<string, unknown>;
}

export async function writeAudit(em: EntityManager, entries: AuditEntry[]): Promise<void> {
  if (entries.length === 0) return;
  await em.execute(
    `insert into hitl_audit (id, task_id, run_id, actor_id, actor_name, action, via, as_admin, data)
     select id, task_id, run_id, actor_id, actor_name, action, via, as_admin, data
       from json_to_recordset(?::json) as r (id uuid, task_id uuid, run_id uuid, actor_id uuid,
            actor_name text, action text, via text, as_admin boolean, data jsonb)`,
    [JSON.stringify(auditRows(entries))],
  );
}

export function auditRows(entries: AuditEntry[]): Record<string, unknown>[] {
  return entries.map(({ actor, ...entry }) => ({
    as_admin: false,
    data: {},
    ...entry,
    id: uuidv7(),
    actor_id: actor?.id ?? null,
    actor_name: actor?.username ?? null,
  }));
}

export interface AuditRow {
  id: string;
  at: Date;
  action: AuditAction;
  via: Via;
  actor_id: string | null;
  /** The user's name at that time; of an erased user that of the account that is left. */
  actor_name: string | null;
  as_admin: boolean;
  data: Record<string, unknown>;
}

/**
 * What was done with a task that the actor sees, oldest first. While it is undecided, only the run's owner
 * and admins learn how others voted.
 */
export async function listAudit(
  em: EntityManager,
  actor: Actor,
  task: Pick<HumanTask, 'id' | 'status' | 'owner_id' | 'team_id' | 'by_grant' | 'is_public'>,
  page: KeysetPage,
): Promise<AuditRow[]> {
  const rows = await em.execute<AuditRow[]>(
    `select a.id, a.at, a.action, a.via, a.actor_id, coalesce(a.actor_name, u.username) as actor_name,
            a.as_admin, a.data
       from hitl_audit a left join user_account u on u.id = a.actor_id
      where a.task_id = ? and a.id > coalesce(?::uuid, '00000000-0000-0000-0000-000000000000')
      order by a.id limit ?`,
    [task.id, page.after ?? null, page.limit],
  );
  if (!isUndecided(task.status) || ownsRunOf(actor, task) || isAdmin(actor)) return rows;
  return rows.map((row) => (row.action === 'voted' && row.actor_id !== actor.id ? withoutVote(row) : row));
}

function withoutVote(row: AuditRow): AuditRow {
  const { decision: _decision, ...data } = row.data;
  return { ...row, data };
}
