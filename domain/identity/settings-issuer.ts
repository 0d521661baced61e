/** The issuer that the settings name. It is a record like the others, which only the settings change. */
import { canonicalJson } from '../../contracts/canonical-json.ts';
import { claimMapping, type ClaimMapping } from '../../contracts/identity.ts';
import { ROLES, type Role } from '../../contracts/roles.ts';
import type { EntityManager } from '../../db/orm.ts';
import { SYSTEM_ORIGIN, writeAudit } from '../audit/write.ts';
import type { Encryption } from '../secrets/encryption.ts';
import { accessOf, getIssuer, putIssuer, type Issuer } from './issuers.ts';

export interface SettingsIssuer {
  OIDC_ISSUER?: string | undefined;
  OIDC_NAME: string;
  OIDC_TITLE: string;
  OIDC_CLIENT_ID?: string | undefined;
  OIDC_CLIENT_SECRET?: string | undefined;
  OIDC_JWKS_URL?: string | undefined;
  OIDC_SCOPES: string[];
  OIDC_ROLES_CLAIM: string;
  OIDC_GROUPS_CLAIM: string;
  OIDC_DEFAULT_ROLES: Role[];
  OIDC_SECOND_FACTOR: ClaimMapping['second_factor'];
  OIDC_AUDIENCE: string[];
  OIDC_TOKEN_TYPES: string[];
  OIDC_EXTERNAL_ID_CLAIM?: string | undefined;
}

/** The roles claim has our own names of roles. */

/**
 * Stores the issuer of the settings, and gives the record of an issuer that they no longer name to the
 * admins. @throws 409 if a record of an admin has the same name or issuer
 */
export async function applySettingsIssuer(
  em: EntityManager,
  encryption: Encryption,
  env: SettingsIssuer,
): Promise<void> {
  const { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: clientId } = env;
  // Of several copies that start at once, the second finds the record of the first.
  await em.execute(`select pg_advisory_xact_lock(hashtextextended('identity_issuer', 0))`);
  const left = await em.execute<{ id: string }[]>(
    `update identity_issuer set from_settings = false
      where from_settings and (issuer is distinct from ? or name <> ?) returning id`,
    [issuer ?? null, env.OIDC_NAME],
  );
  for (const { id } of left) await noteChange(em, 'updateIssuer', id, ['from_settings']);
  if (issuer === undefined || clientId === undefined) return;
  const [known] = await em.execute<{ id: string }[]>(
    'select id from identity_issuer where issuer = ? and name = ?',
    [issuer, env.OIDC_NAME],
  );
  const before = known === undefined ? null : await getIssuer(em, known.id, true);
  const mapping = claimMapping.parse({
    groups: env.OIDC_GROUPS_CLAIM,
    roles: ROLES.map((role) => ({ claim: env.OIDC_ROLES_CLAIM, value: role, roles: [role] })),
    default_roles: env.OIDC_DEFAULT_ROLES,
    second_factor: env.OIDC_SECOND_FACTOR,
  });
  const fields = {
    name: env.OIDC_NAME,
    title: env.OIDC_TITLE,
    issuer,
    client_id: clientId,
    jwks_uri: env.OIDC_JWKS_URL ?? null,
    scopes: env.OIDC_SCOPES,
    mapping,
    creates_users: true,
    enabled: true,
    audiences: env.OIDC_AUDIENCE,
    token_types: env.OIDC_TOKEN_TYPES,
    external_id_claim: env.OIDC_EXTERNAL_ID_CLAIM ?? null,
    from_settings: true,
  };
  const secret = env.OIDC_CLIENT_SECRET ?? null;
  const changed =
    before === null ? Object.keys(fields) : await changesIn(em, encryption, before, fields, secret);
  // Every start of every copy comes here.
  if (changed.length === 0) return;
  const id = await putIssuer(em, encryption, fields, { id: before?.id, secret });
  await noteChange(em, before === null ? 'createIssuer' : 'updateIssuer', id, changed);
}

/** The names of the fields in which the record differs from the settings. */
async function changesIn(
  em: EntityManager,
  encryption: Encryption,
  before: Issuer,
  fields: Partial<Issuer>,
  secret: string | null,
): Promise<string[]> {
  const names = Object.entries(fields).flatMap(([name, value]) =>
    canonicalJson(value) === canonicalJson(Reflect.get(before, name)) ? [] : [name],
  );
  const { client_secret: known } = await accessOf(em, encryption, before);
  return known === secret ? names : [...names, 'client_secret'];
}

/** In the audit log: who may log in has changed, and no request did it. */
async function noteChange(em: EntityManager, action: string, id: string, fields: string[]): Promise<void> {
  await writeAudit(em, SYSTEM_ORIGIN, {
    action,
    objectType: 'identity_issuer',
    objectId: id,
    data: { fields, by: 'settings' },
  });
}
