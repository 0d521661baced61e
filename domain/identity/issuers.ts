/** External issuers, which admins manage; the settings may name one more (docs/single-sign-on.md). */
import { v7 as uuidv7 } from 'uuid';

import { SECOND_FACTOR_RULE, type ClaimMapping } from '../../contracts/identity.ts';
import type { Role } from '../../contracts/roles.ts';
import { arrayLiteral, escapeLike, type KeysetPage } from '../../db/sql.ts';
import type { EntityManager } from '../../db/orm.ts';
import { settlePrograms } from '../auth/waiting-programs.ts';
import { conflict, invalid, notFound } from '../errors.ts';
import type { IssuerAccess } from '../ports.ts';
import type { Encryption } from '../secrets/encryption.ts';
import type { FollowedTeams } from '../teams/audit-followed.ts';
import { removeGroupsOfIssuer } from '../teams/groups.ts';

/** The log-in screen shows all of them. */
const MAX_ISSUERS = 50;

export interface IssuerFields {
  /** Short name. */
  name: string;
  title: string;
  issuer: string;
  client_id: string;
  jwks_uri: string | null;
  scopes: string[];
  mapping: ClaimMapping;
  creates_users: boolean;
  enabled: boolean;
  /** `aud` of access tokens of programs; none: such tokens are not accepted. */
  audiences: string[];
  /** `typ` that such tokens may have, in lower case; `none` stands for a missing one. */
  token_types: string[];
  /** The claim that has the `externalId` of users who were provisioned; null: nobody was. */
  external_id_claim: string | null;
}

export interface Issuer extends IssuerFields {
  id: string;
  has_secret: boolean;
  from_settings: boolean;
  created_at: Date;
  updated_at: Date;
}

type Row = Omit<Issuer, 'created_at' | 'updated_at' | 'mapping'> & {
  /** Issuers of former versions have no rule for second factors. */
  mapping: Omit<ClaimMapping, 'second_factor'> & Partial<Pick<ClaimMapping, 'second_factor'>>;
  created_at: string | Date;
  updated_at: string | Date;
};

const COLUMNS = `id, name, title, issuer, client_id, jwks_uri, to_json(scopes) as scopes, mapping,
  creates_users, enabled, to_json(audiences) as audiences, to_json(token_types) as token_types,
  external_id_claim, from_settings, client_secret_encrypted is not null as has_secret,
  created_at, updated_at`;

/** Oldest first. */
export async function listIssuers(em: EntityManager, { after, limit }: KeysetPage): Promise<Issuer[]> {
  const rows = await em.execute<Row[]>(
    `select ${COLUMNS} from identity_issuer where id > ? order by id limit ?`,
    [after ?? '00000000-0000-0000-0000-000000000000', limit],
  );
  return rows.map(issuerOf);
}

/** What the log-in screen offers, by title. */
export async function listChoices(em: EntityManager): Promise<{ name: string; title: string }[]> {
  return em.execute(
    `select name, title from identity_issuer where enabled order by lower(title), name limit ${MAX_ISSUERS}`,
  );
}

/** @throws 404 */
export async function getIssuer(em: EntityManager, id: string, lock = false): Promise<Issuer> {
  const [row] = await em.execute<Row[]>(
    `select ${COLUMNS} from identity_issuer where id = ?${lock ? ' for update' : ''}`,
    [id],
  );
  if (!row) throw notFound('issuer');
  return issuerOf(row);
}

/** Null for an unknown or disabled one. */
export async function findEnabledIssuer(em: EntityManager, name: string): Promise<Issuer | null> {
  const [row] = await em.execute<Row[]>(`select ${COLUMNS} from identity_issuer where name = ? and enabled`, [
    name,
  ]);
  return row ? issuerOf(row) : null;
}

/** The issuer of an access token by its unverified `iss`; null if it has no audiences. */
export async function findIssuerOfTokens(em: EntityManager, issuer: string): Promise<Issuer | null> {
  const [row] = await em.execute<Row[]>(
    `select ${COLUMNS} from identity_issuer where issuer = ? and enabled and audiences <> '{}'`,
    [issuer],
  );
  return row ? issuerOf(row) : null;
}

/** What its adapter needs, with the client secret. */
export async function accessOf(
  em: EntityManager,
  encryption: Encryption,
  { id, issuer, client_id, jwks_uri, scopes }: Issuer,
): Promise<IssuerAccess> {
  const [row] = await em.execute<{ sealed: string | null }[]>(
    'select client_secret_encrypted as sealed from identity_issuer where id = ?',
    [id],
  );
  const sealed = row?.sealed ?? null;
  const secret = sealed === null ? null : encryption.decrypt(sealed, issuerContext(id));
  return { issuer, client_id, client_secret: secret, jwks_uri, scopes };
}

/** `secret`: undefined keeps the one there is. @returns the id @throws 409, 422 */
export async function putIssuer(
  em: EntityManager,
  encryption: Encryption,
  fields: IssuerFields & { from_settings: boolean },
  { id, secret }: { id?: string | undefined; secret?: string | null | undefined },
): Promise<string> {
  const key = id ?? uuidv7();
  await em.execute(`select pg_advisory_xact_lock(hashtextextended('identity_issuer', 0))`);
  await refuseTaken(em, key, fields);
  await refuseNewSubjects(em, key, fields);
  const sealed = typeof secret === 'string' ? encryption.encrypt(secret, issuerContext(key)) : null;
  await em.execute(
    `insert into identity_issuer (id, name, title, issuer, client_id, client_secret_encrypted, jwks_uri,
                                  scopes, mapping, creates_users, enabled, external_id_claim,
                                  audiences, token_types, from_settings)
     values (?, ?, ?, ?, ?, ?, ?, ?::text[], ?::jsonb, ?, ?, ?, ?::text[], ?::text[], ?)
     on conflict (id) do update set
       name = excluded.name, title = excluded.title, issuer = excluded.issuer,
       client_id = excluded.client_id, jwks_uri = excluded.jwks_uri, scopes = excluded.scopes,
       mapping = excluded.mapping, creates_users = excluded.creates_users, enabled = excluded.enabled,
       external_id_claim = excluded.external_id_claim, audiences = excluded.audiences,
       token_types = excluded.token_types, from_settings = excluded.from_settings,
       updated_at = clock_timestamp(),
       client_secret_encrypted =
         case when ? then identity_issuer.client_secret_encrypted else excluded.client_secret_encrypted end`,
    [
      key,
      fields.name,
      fields.title,
      fields.issuer,
      fields.client_id,
      sealed,
      fields.jwks_uri,
      arrayLiteral(fields.scopes),
      JSON.stringify(fields.mapping),
      fields.creates_users,
      fields.enabled,
      fields.external_id_claim,
      arrayLiteral(fields.audiences),
      arrayLiteral(fields.token_types),
      fields.from_settings,
      secret === undefined,
    ],
  );
  if (!fields.enabled) await endSessionsOf(em, key);
  return key;
}

/**
 * Its users stay, without its groups; sessions that it opened end, and a second factor that it has asked for
 * counts no more for their programs. The groups of teams are locked.
 * @returns how many roles in teams its groups gave, and to whom
 */
export async function deleteIssuer(
  em: EntityManager,
  { id, name }: Issuer,
  secondFactorRoles: readonly Role[],
): Promise<{ count: number; followed: FollowedTeams }> {
  const given = await removeGroupsOfIssuer(em, name);
  await em.execute(
    `update user_account u
        set groups = array(select g from unnest(u.groups) g where g not like ? order by g)
      where exists (select 1 from user_identity i where i.user_id = u.id and i.issuer_id = ?)`,
    [`${escapeLike(name)}:%`, id],
  );
  const counted = await em.execute<{ user_id: string }[]>(
    'select user_id from user_identity where issuer_id = ? and second_factor',
    [id],
  );
  await em.execute('delete from identity_issuer where id = ?', [id]);
  await settlePrograms(
    em,
    counted.map(({ user_id: user }) => user),
    secondFactorRoles,
  );
  return given;
}

/** Ends the sessions that an issuer has opened. */
async function endSessionsOf(em: EntityManager, issuerId: string): Promise<void> {
  await em.execute(
    `update auth_session s set revoked_at = now() from user_identity i
      where i.issuer_id = ? and s.identity_id = i.id and s.revoked_at is null`,
    [issuerId],
  );
}

async function refuseTaken(em: EntityManager, id: string, { name, issuer }: IssuerFields): Promise<void> {
  const others = await em.execute<{ name: string; issuer: string }[]>(
    'select name, issuer from identity_issuer where id <> ?',
    [id],
  );
  if (others.some((other) => other.name === name))
    throw conflict('name_taken', 'Another issuer has this name.');
  if (others.some((other) => other.issuer === issuer))
    throw conflict('issuer_taken', 'This issuer is registered already.');
  if (others.length >= MAX_ISSUERS)
    throw conflict('limit_reached', `There are at most ${MAX_ISSUERS} issuers.`);
  await refuseRename(em, id, name);
}

/** Groups of users and candidates of tasks have the name in them, so it stays, and is nobody else's. */
async function refuseRename(em: EntityManager, id: string, name: string): Promise<void> {
  const [former] = await em.execute<{ name: string }[]>('select name from identity_issuer where id = ?', [
    id,
  ]);
  if (former !== undefined && former.name !== name)
    throw invalid([{ pointer: '/name', code: 'immutable', message: 'cannot be changed: groups contain it' }]);
  if (former !== undefined) return;
  const [used] = await em.execute<object[]>(
    `select 1 from user_account u where exists (select 1 from unnest(u.groups) g where g like ?) limit 1`,
    [`${escapeLike(name)}:%`],
  );
  if (used) {
    const detail = `Users are in groups that begin with “${name}:”: rename these, or choose another name.`;
    throw conflict('name_taken', detail);
  }
}

/** A subject of one issuer is somebody else at another. @throws 422 */
async function refuseNewSubjects(em: EntityManager, id: string, { issuer }: IssuerFields): Promise<void> {
  const [linked] = await em.execute<object[]>(
    `select 1 from user_identity i join identity_issuer r on r.id = i.issuer_id
      where r.id = ? and r.issuer <> ? limit 1`,
    [id, issuer],
  );
  if (!linked) return;
  const message = 'cannot be changed while users have identities of it: add another issuer';
  throw invalid([{ pointer: '/issuer', code: 'immutable', message }]);
}

function issuerOf(row: Row): Issuer {
  return {
    ...row,
    mapping: { ...row.mapping, second_factor: row.mapping.second_factor ?? SECOND_FACTOR_RULE },
    created_at: new Date(row.created_at),
    updated_at: new Date(row.updated_at),
  };
}

/** Binds a sealed client secret to its issuer. */
export function issuerContext(id: string): string {
  return `identity_issuer:${id}`;
}
