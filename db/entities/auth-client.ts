import { defineEntity, p, type InferEntity } from '@mikro-orm/postgresql';

/** A machine client: acts as its user through the client credentials grant. */
export const AuthClient = defineEntity({
  name: 'AuthClient',
  tableName: 'auth_client',
  properties: {
    id: p.uuid().primary(),
    user_id: p.uuid(),
    name: p.text(),
    secret_hash: p.text().hidden(),
    scopes: p.array().nullable(),
    created_at: p.datetime(),
    expires_at: p.datetime(),
    last_used: p.datetime().nullable(),
    awaits_second_factor: p.boolean(),
  },
});
export type AuthClient = InferEntity<typeof AuthClient>;
