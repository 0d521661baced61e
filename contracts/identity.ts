/** External issuers of identities (OpenID Connect), and how their claims become roles and groups. */
import * as z from 'zod';

import { ROLES } from './roles.ts';

/** Between the short name of an issuer and a group of it. No local group contains it. */
export const GROUP_SEPARATOR = ':';
export const MAX_GROUP_LENGTH = 100;
/** With the name of the issuer. */
export const MAX_TEAM_GROUP_LENGTH = MAX_GROUP_LENGTH + 33;

/** Of an issuer: in addresses, and before the names of its groups. */
export const issuerName = z
  .string()
  .regex(/^[a-z][a-z0-9-]{0,31}$/, 'must have 1 to 32 small letters, digits and hyphens, first a letter');

/** The name of a claim, or a JSON pointer such as `/realm_access/roles` to one inside of another. */
export const claimPath = z
  .string()
  .min(1)
  .max(200)
  .refine(
    (path) => !path.startsWith('/') || path.split('/').length <= 11,
    'must lead at most 10 claims deep',
  );

/** Names and e-mail addresses can be given to somebody else, so they never lead to an account. */
export const externalIdClaim = claimPath.refine(
  (path) =>
    !/(?:^|\/)(?:e?mail|email_verified|preferred_username|name|upn|nickname|unique_name)$/i.test(path),
  'must be a claim that never changes, such as sub or oid',
);

const roles = z.array(z.enum(ROLES)).max(4);

const roleRule = z
  .strictObject({
    claim: claimPath,
    value: z.string().min(1).max(400).meta({ description: 'The claim is it, or a list that contains it.' }),
    roles: roles.min(1),
  })
  .meta({ id: 'RoleRule' });

/** Of a log-in at which the issuer asked for a second factor (RFC 8176). */
export const secondFactorRule = z
  .strictObject({ claim: claimPath.default('amr'), value: z.string().min(1).max(400).default('mfa') })
  .meta({ id: 'SecondFactorRule' });
export const SECOND_FACTOR_RULE = { claim: 'amr', value: 'mfa' };

/** How an issuer's claims become an account. A user gets the roles of all rules that fit. */
export const claimMapping = z
  .strictObject({
    username: claimPath.default('preferred_username'),
    email: claimPath.default('email'),
    display_name: claimPath.default('name'),
    groups: claimPath.nullable().default('groups'),
    roles: z.array(roleRule).max(100).default([]),
    default_roles: roles
      .default([])
      .meta({ description: 'If no rule fits. None: such users may not log in.' }),
    second_factor: secondFactorRule.default(SECOND_FACTOR_RULE).meta({
      description: 'The claim of a log-in with a second factor, for `SECOND_FACTOR_ROLES`.',
    }),
  })
  .meta({ id: 'ClaimMapping' });
export type ClaimMapping = z.output<typeof claimMapping>;
