/** What SCIM clients discover (RFC 7644 section 4). */
import { GROUP_SCHEMA } from '../../domain/scim/groups.ts';
import { USER_SCHEMA } from '../../domain/scim/user-rows.ts';

export const MAX_PAGE = 200;
const PREFIX = 'urn:ietf:params:scim:schemas:core:2.0';

/** Null for an unknown path. */
export function discoveryOf(
  base: string,
  kind: string,
  id?: string,
): object[] | Record<string, unknown> | null {
  if (kind === 'ServiceProviderConfig' && !id) return serviceProvider(base);
  const all = kind === 'ResourceTypes' ? resourceTypes(base) : kind === 'Schemas' ? schemas(base) : null;
  if (all === null || !id) return all;
  // Colons of a schema's name may be escaped.
  const name = id.replaceAll(/%3a/gi, ':');
  return all.find((one) => one['id'] === name) ?? null;
}

function serviceProvider(base: string): Record<string, unknown> {
  return {
    schemas: [`${PREFIX}:ServiceProviderConfig`],
    patch: { supported: true },
    bulk: { supported: false, maxOperations: 0, maxPayloadSize: 0 },
    filter: { supported: true, maxResults: MAX_PAGE },
    changePassword: { supported: false },
    sort: { supported: false },
    etag: { supported: true },
    authenticationSchemes: [
      {
        type: 'oauthbearertoken',
        name: 'Bearer token',
        description: 'A SCIM token of the issuer.',
        primary: true,
      },
    ],
    meta: { resourceType: 'ServiceProviderConfig', location: `${base}/ServiceProviderConfig` },
  };
}

function resourceTypes(base: string): Record<string, unknown>[] {
  return [
    { id: 'User', schema: USER_SCHEMA },
    { id: 'Group', schema: GROUP_SCHEMA },
  ].map(({ id, schema }) => ({
    schemas: [`${PREFIX}:ResourceType`],
    id,
    name: id,
    endpoint: `/${id}s`,
    schema,
    meta: { resourceType: 'ResourceType', location: `${base}/ResourceTypes/${id}` },
  }));
}

const attribute = (name: string, more: object = {}) => ({
  name,
  type: 'string',
  multiValued: false,
  required: false,
  caseExact: false,
  mutability: 'readWrite',
  returned: 'default',
  uniqueness: 'none',
  ...more,
});
const many = (name: string, ...subAttributes: object[]) =>
  attribute(name, { type: 'complex', multiValued: true, subAttributes });

function schemas(base: string): Record<string, unknown>[] {
  const user = [
    attribute('userName', { required: true, uniqueness: 'server' }),
    attribute('externalId', { caseExact: true }),
    attribute('displayName'),
    attribute('active', { type: 'boolean' }),
    attribute('name', {
      type: 'complex',
      subAttributes: [attribute('formatted'), attribute('givenName'), attribute('familyName')],
    }),
    many('emails', attribute('value'), attribute('type'), attribute('primary', { type: 'boolean' })),
  ];
  const group = [
    attribute('displayName', { required: true, uniqueness: 'server' }),
    attribute('externalId', { caseExact: true }),
    many('members', attribute('value'), attribute('display', { mutability: 'readOnly' }), attribute('type')),
  ];
  return [
    { id: USER_SCHEMA, name: 'User', attributes: user },
    { id: GROUP_SCHEMA, name: 'Group', attributes: group },
  ].map((one) => ({
    schemas: [`${PREFIX}:Schema`],
    ...one,
    meta: { resourceType: 'Schema', location: `${base}/Schemas/${one.id}` },
  }));
}
