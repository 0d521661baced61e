import * as z from 'zod';

import { claimMapping, claimPath, externalIdClaim, issuerName } from '../../../contracts/identity.ts';
import type { Identity } from '../../../domain/identity/identities.ts';
import type { Issuer } from '../../../domain/identity/issuers.ts';
import { ROLES } from '../../../contracts/roles.ts';
import { httpUrl, text, timestamp, uuid } from '../../schemas.ts';

export const TAGS = ['identity'];

const scope = z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]{1,200}$/, 'must be a scope of OAuth');
const scopes = z
  .array(scope)
  .max(20)
  .refine((all) => all.includes('openid'), 'must contain openid')
  .meta({ description: 'Default: `openid`, `profile` and `email`.' });

/** Of a new issuer. */
export const issuerFields = {
  name: issuerName.meta({
    description: 'Short name: in addresses, and before the names of its groups (`corp:finance`). It stays.',
  }),
  title: text({ min: 1, max: 100 }).meta({ description: 'What the log-in screen shows.' }),
  issuer: httpUrl(500).meta({
    description: 'Address of the issuer exactly as its tokens have it in `iss`.',
  }),
  client_id: text({ min: 1, max: 500 }),
  client_secret: text({ min: 1, max: 2_000 })
    .nullish()
    .meta({ description: 'Of a confidential client. It is stored encrypted and never shown.' }),
  jwks_uri: httpUrl(500).nullish().meta({ description: 'Default: what the configuration names.' }),
  scopes: scopes.optional(),
  mapping: claimMapping.optional(),
  creates_users: z.boolean().optional().meta({
    description: 'Default true: the first log-in makes the account. Otherwise only linked users log in.',
  }),
  external_id_claim: externalIdClaim.nullish().meta({
    description: 'The claim that has the `externalId` of users whom the issuer provisions by SCIM.',
  }),
  audiences: z
    .array(text({ min: 1, max: 500 }))
    .max(10)
    .optional()
    .meta({
      description: '`aud` of access tokens of programs. Default: none, so such tokens are not accepted.',
    }),
  token_types: z
    .array(z.enum(['at+jwt', 'jwt', 'none']))
    .min(1)
    .max(3)
    .optional()
    .meta({ description: '`typ` of such tokens (RFC 9068: `at+jwt`, the default); `none`: without one.' }),
  enabled: z.boolean().optional().meta({ description: 'Default true. Without it its sessions end.' }),
};

const mappingRecord = z
  .object({
    username: z.string(),
    email: z.string(),
    display_name: z.string(),
    groups: z.string().nullable(),
    roles: z.array(z.object({ claim: z.string(), value: z.string(), roles: z.array(z.enum(ROLES)) })),
    default_roles: z.array(z.enum(ROLES)),
    second_factor: z.object({ claim: z.string(), value: z.string() }).meta({ id: 'SecondFactorRuleRecord' }),
  })
  .meta({ id: 'ClaimMappingRecord' });

/** The members of a mapping that change; `roles` is replaced as a whole. */
export const mappingPatch = z
  .strictObject({
    username: claimPath,
    email: claimPath,
    display_name: claimPath,
    groups: claimPath.nullable(),
    roles: claimMapping.shape.roles.unwrap(),
    default_roles: claimMapping.shape.default_roles.unwrap(),
    second_factor: claimMapping.shape.second_factor.unwrap(),
  })
  .partial()
  .meta({ id: 'ClaimMappingPatch' });

export const issuerRecord = z
  .object({
    id: uuid,
    name: z.string(),
    title: z.string(),
    issuer: z.string(),
    client_id: z.string(),
    has_secret: z.boolean(),
    jwks_uri: z.string().nullable(),
    scopes: z.array(z.string()),
    mapping: mappingRecord,
    external_id_claim: z.string().nullable(),
    audiences: z.array(z.string()),
    token_types: z.array(z.string()),
    creates_users: z.boolean(),
    enabled: z.boolean(),
    from_settings: z.boolean().meta({ description: 'The settings `OIDC_…` define it; only they change it.' }),
    redirect_uri: z.string().meta({ description: 'To register at the issuer.' }),
    back_channel_logout_uri: z.string().meta({ description: 'To register at the issuer, if it can.' }),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'IdentityIssuer' });

export function presentIssuer(issuer: Issuer, baseUrl: string): z.input<typeof issuerRecord> {
  return {
    ...issuer,
    redirect_uri: redirectUriOf(baseUrl, issuer),
    back_channel_logout_uri: `${baseUrl}/auth/sso/${issuer.name}/logout`,
    created_at: issuer.created_at.toISOString(),
    updated_at: issuer.updated_at.toISOString(),
  };
}

/** Each issuer has its own, so that no answer of one issuer is taken for that of another. */
export function redirectUriOf(baseUrl: string, { name }: Pick<Issuer, 'name'>): string {
  return `${baseUrl}/auth/sso/${name}/callback`;
}

export const identityRecord = z
  .object({
    id: uuid,
    issuer_id: uuid,
    issuer_name: z.string(),
    issuer_title: z.string(),
    subject: z.string().nullable().meta({ description: '`sub` at the issuer.' }),
    label: z.string().nullable().meta({ description: 'How the issuer names the user.' }),
    created_at: timestamp,
    last_log_in_at: timestamp.nullable(),
  })
  .meta({ id: 'UserIdentity' });

export function presentIdentity(identity: Identity): z.input<typeof identityRecord> {
  return {
    ...identity,
    created_at: identity.created_at.toISOString(),
    last_log_in_at: identity.last_log_in_at?.toISOString() ?? null,
  };
}
