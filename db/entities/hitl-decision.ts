import { defineEntity, p, type InferEntity } from '@mikro-orm/postgresql';

/** The one decision of a task; its id is also that of the signal which carries it to the run. */
export const HitlDecision = defineEntity({
  name: 'HitlDecision',
  tableName: 'hitl_decision',
  properties: {
    id: p.uuid().primary(),
    task_id: p.uuid(),
    decision: p.text(),
    payload: p.json<unknown>().nullable(),
    comment: p.text().nullable(),
    decided_by: p.uuid(),
    decided_at: p.datetime(),
    via: p.text(),
    as_admin: p.boolean(),
    delivered_at: p.datetime().nullable(),
    received_at: p.datetime().nullable(),
    applied_at: p.datetime().nullable(),
  },
});
export type HitlDecision = InferEntity<typeof HitlDecision>;
