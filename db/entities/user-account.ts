import { defineEntity, p, type InferEntity } from '@mikro-orm/postgresql';

import type { Budget } from '../../contracts/budgets.ts';
import type { Quotas } from '../../contracts/quotas.ts';
import type { Role } from '../../contracts/roles.ts';

export const UserAccount = defineEntity({
  name: 'UserAccount',
  tableName: 'user_account',
  properties: {
    id: p.uuid().primary(),
    username: p.text(),
    email: p.text(),
    display_name: p.text().nullable(),
    /** Null: the user cannot log in by password. */
    password_hash: p.text().nullable().hidden(),
    /** The external issuer that made the account, and decides on its roles. */
    issuer_id: p.uuid().nullable(),
    roles: p.array<Role>(),
    groups: p.array(),
    status: p.text().$type<'active' | 'disabled'>().default('active'),
    /** Kept by domain/auth/second-factor.ts: an authenticator app or a passkey is set up. */
    second_factor: p.boolean().default(false),
    /** Part of every access token; raising it invalidates all of the user's tokens at once. */
    token_epoch: p.integer().default(1),
    budget: p.json<Budget>().nullable(),
    /** What replaces the settings for this user. */
    quotas: p.json<Quotas>().nullable(),
    /** Until then the person may choose a password by the link of an invitation; null: none is open. */
    invited_until: p.datetime().nullable(),
    /** The person's data was erased; the row stays, because history names its id. */
    erased_at: p.datetime().nullable(),
    created_at: p.datetime(),
    updated_at: p.datetime(),
  },
});
export type UserAccount = InferEntity<typeof UserAccount>;
