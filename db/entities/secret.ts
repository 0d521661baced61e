import { defineEntity, p, type InferEntity } from '@mikro-orm/postgresql';

/** A value that its owner's agents and workflows name; it never leaves but for a call. */
export const Secret = defineEntity({
  name: 'Secret',
  tableName: 'secret',
  properties: {
    owner_id: p.uuid().primary(),
    name: p.text().primary(),
    value_encrypted: p.text().hidden(),
    created_at: p.datetime(),
    updated_at: p.datetime(),
  },
});
export type Secret = InferEntity<typeof Secret>;
