/** The audit rows of human tasks: who, when, what, via. Append-only by a trigger; they outlive the run. */
import { v7 as uuidv7 } from 'uuid';
import type { EntityManager } from '../../db/orm.ts';

/** The way that a change came. `workflow`: the run itself, by its timers or its end. */
export type Via = 'api' | 'batch' | 'link' | 'a2a' | 'workflow';

export type AuditAction =
  | 'created'
  | 'claimed'
  | 'released'
  | 'delegated'
  | 'escalated'
  | 'commented'
  | 'voted'
  | 'decided'
  | 'expired'
  | 'cancelled';

export interface AuditEntry {
  task_id: string;
  run_id: string;
  action: AuditAction;
  via: Via;
  /** Null: nobody, the run itself. */
  actor: { id: string; username: string } | null;
  as_admin?: boolean;
  data?: Record<string, unknown>;
}

export async function writeAudit(em: EntityManager, entries: AuditEntry[]): Promise<void> {
  if (entries.length === 0) return;
  await em.execute(
    `insert into hitl_audit (id, task_id, run_id, actor_id, actor_name, action, via, as_admin, data)
     select id, task_id, run_id, actor_id, actor_name, action, via, as_admin, data
       from json_to_recordset(?::json) as r (id uuid, task_id uuid, run_id uuid, actor_id uuid, actor_name text, action text,
            via text, as_admin boolean, data jsonb)`,
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
