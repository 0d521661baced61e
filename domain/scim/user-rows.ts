/** How users of an issuer are read, found and told apart. */
import { isReachable } from '../../contracts/mail-address.ts';
import type { EntityManager } from '../../db/orm.ts';
import { arrayLiteral } from '../../db/sql.ts';
import { issuedIdsOf } from '../identity/issued-names.ts';
import type { Issuer } from '../identity/issuers.ts';
import { ScimError } from './errors.ts';
import type { Attribute, Condition } from './filter.ts';

export const USER_SCHEMA = 'urn:ietf:params:scim:schemas:core:2.0:User';

export interface ScimUser {
  id: string;
  identity_id: string;
  resource: Record<string, unknown>;
  created_at: Date;
  updated_at: Date;
}

export interface UserRow {
  id: string;
  identity_id: string;
  user_name: string;
  external_id: string | null;
  active: boolean;
  display_name: string | null;
  email: string;
  scim: Record<string, unknown> | null;
  created_at: string;
  updated_at: string;
}

export const FROM = `from user_identity i join user_account u on u.id = i.user_id
  where i.issuer_id = ? and u.issuer_id = i.issuer_id and i.removed_at is null`;
/** Whoever the issuer has not provisioned has the name of the last log-in. */
const USER_NAME = 'coalesce(i.user_name, i.issued_names[1], u.username)';
const IS_UNKNOWN = 'i.scim is null';
export const COLUMNS = `u.id, i.id as identity_id, ${USER_NAME} as user_name, i.external_id,
  u.status = 'active' as active, u.display_name, u.email, i.scim, i.created_at,
  greatest(i.updated_at, u.updated_at) as updated_at`;

const ATTRIBUTES: readonly (readonly [string, Attribute])[] = [
  ['id', { sql: 'u.id', type: 'exact' }],
  ['displayname', { sql: 'u.display_name', type: 'text' }],
  ['active', { sql: `(u.status = 'active')`, type: 'boolean' }],
  ['emails', { sql: 'u.email', type: 'text' }],
  ['emails.value', { sql: 'u.email', type: 'text' }],
  ['emails.type', { sql: `'work'`, type: 'text' }],
  ['name.familyname', { sql: `i.scim #>> '{name,familyName}'`, type: 'text' }],
  ['name.givenname', { sql: `i.scim #>> '{name,givenName}'`, type: 'text' }],
  ['meta.created', { sql: 'i.created_at', type: 'time' }],
  ['meta.lastmodified', { sql: 'greatest(i.updated_at, u.updated_at)', type: 'time' }],
];

/** What filters may name. Who has only logged in so far is found by what the issuer said then. */
export function userAttributes(issuer: Issuer): ReadonlyMap<string, Attribute> {
  return new Map<string, Attribute>([
    ...ATTRIBUTES,
    [
      'username',
      {
        sql: USER_NAME,
        type: 'text',
        equals: hasName,
        among: (name) => among(armsOfName(issuer, name)),
      },
    ],
    [
      'externalid',
      {
        sql: 'i.external_id',
        type: 'exact',
        equals: (id) => hasId(issuer, id),
        among: (id) => among(armsOfId(issuer, id)),
      },
    ],
  ]);
}

/** Which identities may have this name, of whichever kind. Each arm has an index. */
function armsOfName(issuer: Issuer, name: string): Condition[] {
  return [
    {
      sql: `select c.id from user_identity c
             where c.issuer_id = ? and lower(c.user_name) = lower(?) and c.removed_at is null`,
      values: [issuer.id, name],
    },
    {
      sql: `select c.id from user_identity c where c.issued_names @> ?::text[]`,
      values: [arrayLiteral([name.toLowerCase()])],
    },
    {
      sql: `select c.id from user_account a join user_identity c on c.user_id = a.id and c.issuer_id = ?
             where lower(a.username) = lower(?)`,
      values: [issuer.id, name],
    },
  ];
}

/** The same for an identifier. */
function armsOfId(issuer: Issuer, id: string): Condition[] {
  return [
    {
      sql: `select c.id from user_identity c where c.issuer_id = ? and c.external_id = ?`,
      values: [issuer.id, id],
    },
    {
      sql: `select c.id from user_identity c where c.issued_ids && ?::text[]`,
      values: [arrayLiteral(issuedIdsOf(issuer, id))],
    },
  ];
}

function among(arms: readonly Condition[]): Condition {
  return {
    // PostgreSQL takes an array for short, and looks its elements up.
    sql: `i.id = any (array(${arms.map(({ sql }) => sql).join(' union all ')}))`,
    values: arms.flatMap(({ values }) => values),
  };
}

function hasName(name: string): Condition {
  return {
    sql: `(${IS_UNKNOWN} and i.issued_names @> ?::text[])`,
    values: [arrayLiteral([name.toLowerCase()])],
  };
}

function hasId(issuer: Issuer, id: string): Condition {
  const ids = arrayLiteral(issuedIdsOf(issuer, id));
  return { sql: `(${IS_UNKNOWN} and i.issued_ids && ?::text[])`, values: [ids] };
}

/**
 * A name or an identifier leads to one person of the issuer, also to one with an account of their own that is
 * linked. @throws ScimError 409
 */
export async function refuseTaken(
  em: EntityManager,
  issuer: Issuer,
  { userName, externalId }: { userName: string; externalId?: string | null | undefined },
  exceptId: string | null,
): Promise<void> {
  const name = hasName(userName);
  const hasNone = externalId === undefined || externalId === null;
  const id: Condition = hasNone ? { sql: 'false', values: [] } : hasId(issuer, externalId);
  const some = among([...armsOfName(issuer, userName), ...(hasNone ? [] : armsOfId(issuer, externalId))]);
  const [taken] = await em.execute<{ by_id: boolean; is_own: boolean }[]>(
    `select is_own, by_id
       from user_identity i join user_account u on u.id = i.user_id
       cross join lateral (select u.issuer_id is not distinct from i.issuer_id as is_own,
                                  coalesce(i.external_id = ?, false) or ${id.sql} as by_id) of_it
      where ${some.sql}
        and i.issuer_id = ? and i.removed_at is null and i.id is distinct from ?::uuid
        and (by_id or is_own and lower(${USER_NAME}) = lower(?) or ${name.sql})
      limit 1`,
    [externalId ?? null, ...id.values, ...some.values, issuer.id, exceptId, userName, ...name.values],
  );
  if (!taken) return;
  const what = taken.by_id ? 'externalId' : 'userName';
  const detail = taken.is_own
    ? `Another user has this ${what}.`
    : `An account that is not the issuer's own has been linked with the person of this ${what}.`;
  throw new ScimError(409, detail, 'uniqueness');
}

/** A name may go to somebody else; who has logged in keeps the identifier. @throws ScimError 409 */
export async function refuseOtherPerson(
  em: EntityManager,
  issuer: Issuer,
  identityId: string,
  externalId: string | null | undefined,
): Promise<void> {
  const { external_id_claim: claim } = issuer;
  if (claim === null || !externalId) return;
  const [row] = await em.execute<{ ids: string[] }[]>(
    `select to_json(i.issued_ids) as ids from user_identity i where i.id = ? and ${IS_UNKNOWN}`,
    [identityId],
  );
  const ids = row?.ids.filter((id) => id.startsWith(`${claim}=`)) ?? [];
  if (ids.length === 0 || ids.includes(`${claim}=${externalId}`)) return;
  const detail = `Whoever has logged in with this userName has another externalId (claim ${claim}).`;
  throw new ScimError(409, detail, 'uniqueness');
}

export function userOf(row: UserRow): ScimUser {
  const isReal = isReachable(row.email);
  return {
    id: row.id,
    identity_id: row.identity_id,
    created_at: new Date(row.created_at),
    updated_at: new Date(row.updated_at),
    resource: {
      ...row.scim,
      schemas: [USER_SCHEMA],
      id: row.id,
      ...(row.external_id === null ? {} : { externalId: row.external_id }),
      userName: row.user_name,
      active: row.active,
      ...(row.display_name === null ? {} : { displayName: row.display_name }),
      ...(isReal ? { emails: [{ value: row.email, type: 'work', primary: true }] } : {}),
    },
  };
}
