import { defineEntity, p, type InferEntity } from '@mikro-orm/postgresql';

/** Append-only, by a trigger: who did what to a human task, when, by which way. */
export const HitlAudit = defineEntity({
  name: 'HitlAudit',
  tableName: 'hitl_audit',
  properties: {
    id: p.uuid().primary(),
    task_id: p.uuid(),
    run_id: p.uuid(),
    at: p.datetime(),
    actor_id: p.uuid().nullable(),
    actor_name: p.text().nullable(),
    action: p.text(),
    via: p.text(),
    as_admin: p.boolean().default(false),
    data: p.json<Record<string, unknown>>(),
  },
});
export type HitlAudit = InferEntity<typeof HitlAudit>;
