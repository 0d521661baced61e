import { defineEntity, p, type InferEntity } from '@mikro-orm/postgresql';

export const HitlComment = defineEntity({
  name: 'HitlComment',
  tableName: 'hitl_comment',
  properties: {
    id: p.uuid().primary(),
    task_id: p.uuid(),
    comment: p.text(),
    created_by: p.uuid(),
    created_at: p.datetime(),
  },
});
export type HitlComment = InferEntity<typeof HitlComment>;
