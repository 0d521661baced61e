import { defineEntity, p, type InferEntity } from '@mikro-orm/postgresql';

/** One person's vote on a task with a quorum; the deciding one has the decision's id. */
export const HitlVote = defineEntity({
  name: 'HitlVote',
  tableName: 'hitl_vote',
  properties: {
    id: p.uuid().primary(),
    task_id: p.uuid(),
    decision: p.text(),
    payload: p.json<unknown>().nullable(),
    comment: p.text().nullable(),
    voted_by: p.uuid(),
    voted_at: p.datetime(),
    via: p.text(),
    as_admin: p.boolean(),
  },
});
export type HitlVote = InferEntity<typeof HitlVote>;
