import { defineEntity, p, type InferEntity } from '@mikro-orm/postgresql';

/** A secret that its owner's agents and workflows can name; its value is only read for calls. */
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
