import { defineEntity, p, type InferEntity } from '@mikro-orm/postgresql';

/** A human task. Services read and lock it by SQL (domain/hitl/human-task.ts); `principals` is computed by the database. */
export const HitlTask = defineEntity({
  name: 'HitlTask',
  tableName: 'hitl_task',
  properties: {
    id: p.uuid().primary(),
    run_id: p.uuid(),
    workflow_id: p.uuid().nullable(),
    workflow_name: p.text(),
    owner_id: p.uuid(),
    initiator_id: p.uuid(),
    task: p.text(),
    task_name: p.text(),
    title: p.text(),
    description: p.text().nullable(),
    subject: p.json<unknown>().nullable(),
    form_schema: p.json<Record<string, unknown>>().nullable(),
    decisions: p.json<{ id: string; label: string; requires_comment: boolean }[]>(),
    status: p.text().$type<'open' | 'claimed' | 'decided' | 'expired' | 'cancelled'>().default('open'),
    priority: p.integer(),
    assignee: p.text().nullable(),
    assignee_key: p.text().nullable(),
    candidates: p.json<{ users: string[]; roles: string[]; groups: string[] }>(),
    candidate_keys: p.array(),
    claimed_by: p.uuid().nullable(),
    claimed_at: p.datetime().nullable(),
    due_at: p.datetime().nullable(),
    expires_at: p.datetime().nullable(),
    escalation_level: p.integer().default(0),
    quorum: p.json<{ approvals: number; rejections: number; exclude_initiator: boolean }>().nullable(),
    created_at: p.datetime(),
    updated_at: p.datetime(),
  },
});
export type HitlTask = InferEntity<typeof HitlTask>;
