/** OAuth clients, which register themselves (RFC 7591). */
import { randomBytes } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';

import { isUuid } from '../../contracts/uuid.ts';
import { arrayLiteral, type KeysetPage } from '../../db/sql.ts';
import type { EntityManager } from '../../db/orm.ts';
import { clientSecretFits, hashSecret } from '../auth/clients.ts';
import type { Role } from '../../contracts/roles.ts';
import { AppError, conflict, forbidden, notFound, OAuthError } from '../errors.ts';
import { redirectUriProblem } from './redirect-uri.ts';

const MAX_REDIRECT_URIS = 10;
const MAX_NAME_LENGTH = 100;
const MAX_CLIENT_URI_LENGTH = 400;
/** Control and direction characters make a text read as another. */
const HIDDEN = /\p{C}|\p{Zl}|\p{Zp}/u;
export const AUTH_METHODS = ['none', 'client_secret_basic', 'client_secret_post'] as const;
type AuthMethod = (typeof AUTH_METHODS)[number];

export interface OAuthClient {
  id: string;
  name: string;
  client_uri: string | null;
  redirect_uris: string[];
  auth_method: AuthMethod;
  created_at: Date;
  approved_at: Date | null;
  /** Its `client_id` if it is not its id. */
  handle: string | null;
  /** The settings describe it, so it needs nobody's consent. */
  from_settings: boolean;
  /** Only users with this role may log in to it. */
  required_role: Role | null;
  /** What its tokens are for; null: what it asks for. */
  resource: string | null;
}

/** The metadata that a client sends about itself, unchecked. */
export interface ClientMetadata {
  redirect_uris?: string[] | null | undefined;
  client_name?: string | null | undefined;
  client_uri?: string | null | undefined;
  token_endpoint_auth_method?: string | null | undefined;
  grant_types?: string[] | null | undefined;
  response_types?: string[] | null | undefined;
}

export interface RegistrationLimits {
  /** 0: nobody may register. */
  maxClients: number;
  perAddressAndDay: number;
}

const COLUMNS = `id, name, client_uri, redirect_uris, auth_method, created_at, approved_at, handle,
  from_settings, required_role, resource`;

/**
 * The secret is only in this answer; it is null for public clients.
 * @param network the request's address, as `addressKey` returns it
 * @throws OAuthError by RFC 7591 section 3.2.2; 403 if registration is off, 429
 */
export async function registerClient(
  em: EntityManager,
  metadata: ClientMetadata,
  network: string,
  limits: RegistrationLimits,
): Promise<{ client: OAuthClient; secret: string | null }> {
  if (limits.maxClients === 0) {
    throw forbidden('Clients cannot register at this server.', 'registration_off');
  }
  const { redirectUris, name, clientUri, method } = checkMetadata(metadata);
  await checkRoom(em, network, limits);
  const secret = method === 'none' ? null : randomBytes(32).toString('base64url');
  const [row] = await em.execute<ClientRow[]>(
    `insert into oauth_client (id, name, client_uri, redirect_uris, auth_method, secret_hash, network)
     values (?, ?, ?, ?::text[], ?, ?, ?) returning ${COLUMNS}`,
    [
      uuidv7(),
      name,
      clientUri,
      arrayLiteral(redirectUris),
      method,
      secret === null ? null : hashSecret(secret),
      network,
    ],
  );
  if (!row) throw new Error('the insert returned no row');
  return { client: clientOf(row), secret };
}

function checkMetadata(metadata: ClientMetadata) {
  const redirectUris = metadata.redirect_uris ?? [];
  if (redirectUris.length === 0 || redirectUris.length > MAX_REDIRECT_URIS) {
    throw new OAuthError('invalid_redirect_uri', `redirect_uris must have 1 to ${MAX_REDIRECT_URIS} entries`);
  }
  for (const uri of redirectUris) {
    const problem = redirectUriProblem(uri);
    if (problem !== null) throw new OAuthError('invalid_redirect_uri', `${uri.slice(0, 200)} ${problem}`);
  }
  const name = metadata.client_name ?? new URL(redirectUris[0] ?? '').host;
  if (HIDDEN.test(name) || name.length > MAX_NAME_LENGTH) {
    throw invalidMetadata(`client_name must have at most ${MAX_NAME_LENGTH} printable characters`);
  }
  const clientUri = metadata.client_uri ?? null;
  if (clientUri !== null && !isPage(clientUri)) {
    throw invalidMetadata(
      `client_uri must be an http or https URL of at most ${MAX_CLIENT_URI_LENGTH} printable characters`,
    );
  }
  const method = metadata.token_endpoint_auth_method ?? 'client_secret_basic';
  const known = AUTH_METHODS.find((one) => one === method);
  if (known === undefined) {
    throw invalidMetadata(`token_endpoint_auth_method must be one of ${AUTH_METHODS.join(', ')}`);
  }
  if (!(metadata.grant_types ?? ['authorization_code']).includes('authorization_code')) {
    throw invalidMetadata('grant_types must include authorization_code');
  }
  if (!(metadata.response_types ?? ['code']).includes('code')) {
    throw invalidMetadata('response_types must include code');
  }
  return { redirectUris, name: name.trim() || 'Unnamed', clientUri, method: known };
}

function isPage(uri: string): boolean {
  if (uri.length > MAX_CLIENT_URI_LENGTH || HIDDEN.test(uri) || !URL.canParse(uri)) return false;
  return ['http:', 'https:'].includes(new URL(uri).protocol);
}

function invalidMetadata(detail: string): OAuthError {
  return new OAuthError('invalid_client_metadata', detail);
}

/** @throws 429 */
async function checkRoom(em: EntityManager, network: string, limits: RegistrationLimits): Promise<void> {
  await em.execute(`select pg_advisory_xact_lock(hashtextextended('oauth_client', 0))`);
  const [row] = await em.execute<{ total: number; recent: number }[]>(
    `select count(*)::int as total,
            count(*) filter (where network = ? and created_at > now() - interval '1 day')::int as recent
       from oauth_client`,
    [network],
  );
  if ((row?.recent ?? 0) >= limits.perAddressAndDay || (row?.total ?? 0) >= limits.maxClients) {
    throw new AppError('too_many_requests', 'too_many_clients', 'Too many clients have registered.', {
      headers: { 'Retry-After': '3600' },
    });
  }
}

type ClientRow = OAuthClient & { created_at: string | Date; approved_at: string | Date | null };

function clientOf(row: ClientRow): OAuthClient {
  return {
    ...row,
    created_at: new Date(row.created_at),
    approved_at: row.approved_at === null ? null : new Date(row.approved_at),
  };
}

const NAMED = '(id = ? and handle is null or handle = ?)';

export async function findClient(em: EntityManager, id: string): Promise<OAuthClient | null> {
  const [row] = await em.execute<ClientRow[]>(`select ${COLUMNS} from oauth_client where ${NAMED}`, [
    isUuid(id) ? id : null,
    id,
  ]);
  return row ? clientOf(row) : null;
}

async function findClientById(em: EntityManager, id: string): Promise<OAuthClient | null> {
  const [row] = await em.execute<ClientRow[]>(`select ${COLUMNS} from oauth_client where id = ?`, [id]);
  return row ? clientOf(row) : null;
}

/** How a client shows who it is (RFC 6749 section 2.3). */
export interface ClientProof {
  id: string;
  secret: string | null;
  way: AuthMethod;
}

/** The id of the client; null if it does not show who it is in the way that it registered. */
export async function authenticateClient(em: EntityManager, proof: ClientProof): Promise<string | null> {
  const [row] = await em.execute<
    { id: string; auth_method: AuthMethod; secret_hash: string | null; from_settings: boolean }[]
  >(`select id, auth_method, secret_hash, from_settings from oauth_client where ${NAMED}`, [
    isUuid(proof.id) ? proof.id : null,
    proof.id,
  ]);
  // Libraries try one way of sending a secret after the other; a secret it has to be.
  const way = row?.from_settings === true && proof.way !== 'none' ? row.auth_method : proof.way;
  if (!row || row.auth_method !== way) return null;
  return row.auth_method === 'none' || clientSecretFits(proof.secret ?? '', row.secret_hash) ? row.id : null;
}

/** Oldest first. */
export async function listRegisteredClients(em: EntityManager, page: KeysetPage): Promise<OAuthClient[]> {
  const rows = await em.execute<ClientRow[]>(
    `select ${COLUMNS} from oauth_client where id > ? order by id limit ?`,
    [page.after ?? '00000000-0000-0000-0000-000000000000', page.limit],
  );
  return rows.map(clientOf);
}

/** Ends the client's sessions too. @throws 404, 409 for one of the settings */
export async function deleteRegisteredClient(em: EntityManager, id: string): Promise<void> {
  const client = await findClientById(em, id);
  if (!client) throw notFound('client');
  if (client.from_settings)
    throw conflict('from_settings', 'The settings describe this client (TEMPORAL_UI_CLIENT_SECRET).');
  await em.execute('delete from oauth_client where id = ?', [id]);
}
