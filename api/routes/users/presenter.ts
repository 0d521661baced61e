import * as z from 'zod';

import { budgetSchema } from '../../../contracts/budgets.ts';
import { userQuotas } from '../../../contracts/quotas.ts';
import type { AuthClient } from '../../../db/entities/auth-client.ts';
import type { UserAccount } from '../../../db/entities/user-account.ts';
import { ROLES } from '../../../contracts/roles.ts';
import { timestamp, uuid } from '../../schemas.ts';

export const role = z.enum(ROLES);

export const userRecord = z
  .object({
    id: uuid,
    username: z.string(),
    email: z.string(),
    display_name: z.string().nullable(),
    roles: z.array(role),
    groups: z.array(z.string()),
    status: z.enum(['active', 'disabled']),
    has_password: z
      .boolean()
      .meta({ description: 'Without one, only an external issuer or an invitation lets the user in.' }),
    second_factor: z
      .boolean()
      .meta({ description: 'An authenticator app or a passkey is set up, which the log-in asks for.' }),
    invited_until: timestamp.nullable().meta({
      description:
        'Until then the person may choose a password by the link of an invitation; null: none is open.',
    }),
    issuer_id: uuid.nullable().meta({
      description: 'The external issuer that made the account. Its claims decide on the roles.',
    }),
    budget: budgetSchema
      .nullable()
      .meta({ description: 'Of what agents use in the runs of this user; admins set it.' }),
    quotas: userQuotas
      .nullable()
      .meta({ description: 'What replaces the settings for this user; admins set it.' }),
    erased_at: timestamp
      .nullable()
      .meta({ description: "When the person's data was erased; such an account stays empty." }),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'User' });

export function presentUser(user: UserAccount): z.output<typeof userRecord> {
  const { id, username, email, roles, groups, status } = user;
  return {
    id,
    username,
    email,
    display_name: user.display_name ?? null,
    roles,
    groups,
    status,
    has_password: user.password_hash !== null,
    second_factor: user.second_factor,
    invited_until: user.invited_until?.toISOString() ?? null,
    issuer_id: user.issuer_id ?? null,
    budget: user.budget ?? null,
    quotas: user.quotas ?? null,
    erased_at: user.erased_at?.toISOString() ?? null,
    created_at: user.created_at.toISOString(),
    updated_at: user.updated_at.toISOString(),
  };
}

export const awaitsSecondFactor = z.boolean().meta({
  description:
    "A viewer's rights only, until its user has a second factor, which a role needs (`SECOND_FACTOR_ROLES`).",
});

export const clientRecord = z
  .object({
    id: uuid,
    client_id: uuid,
    name: z.string(),
    scopes: z
      .array(z.string())
      .nullable()
      .meta({ description: 'What it may do; null: all that its user may.' }),
    created_at: timestamp,
    expires_at: timestamp,
    last_used: timestamp.nullable(),
    awaits_second_factor: awaitsSecondFactor,
  })
  .meta({ id: 'Client' });

export const newClientRecord = clientRecord
  .extend({
    client_secret: z.string().meta({ description: 'Shown only once; it cannot be read again.' }),
  })
  .meta({ id: 'NewClient', variantOf: 'Client' });

export function presentClient(client: AuthClient): z.output<typeof clientRecord> {
  const { id, name } = client;
  return {
    id,
    client_id: id,
    name,
    scopes: client.scopes ?? null,
    created_at: client.created_at.toISOString(),
    expires_at: client.expires_at.toISOString(),
    last_used: client.last_used?.toISOString() ?? null,
    awaits_second_factor: client.awaits_second_factor,
  };
}
