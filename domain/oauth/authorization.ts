/** The authorization request: what a client asks a user to approve (RFC 6749 section 4.1, RFC 7636). */
import type { Role } from '../../contracts/roles.ts';
import type { EntityManager } from '../../db/orm.ts';
import { badRequest } from '../errors.ts';
import { findClient, type OAuthClient } from './clients.ts';
import { isRegistered } from './redirect-uri.ts';
import { mayDecideBy, roleLimitOf, scopesIn } from './scopes.ts';

/** The parameters that count, as they were sent. */
export const authorizationParameters = [
  'response_type',
  'client_id',
  'redirect_uri',
  'state',
  'scope',
  'code_challenge',
  'code_challenge_method',
  'resource',
] as const;
export type AuthorizationParameters = Partial<Record<string, string | undefined>>;

export interface AuthorizationRequest {
  client: OAuthClient;
  redirectUri: string;
  state: string | null;
  codeChallenge: string;
  resource: string | null;
  roleLimit: Role;
  mayDecide: boolean;
  /** What it asks for beyond roles; null if it names roles only. */
  scopes: string[] | null;
}

const maxState = 2_000;

/**
 * Checks a request. Problems are answered here and never redirected: anybody may register a client, and a
 * redirect without a user's consent would make this server an open redirector (RFC 9700 section 4.11.2).
 * @throws 400 with OAuth's error as its code
 */
export async function checkAuthorization(
  em: EntityManager,
  issuer: string,
  parameters: AuthorizationParameters,
): Promise<AuthorizationRequest> {
  const client = await findClient(em, parameters['client_id'] ?? '');
  if (!client) throw badRequest('invalid_client', 'client_id names no registered client.');
  const redirectUri = parameters['redirect_uri'] ?? '';
  if (!isRegistered(redirectUri, client.redirect_uris)) {
    throw badRequest('invalid_request', 'redirect_uri is none of those that the client registered.');
  }
  if (parameters['request'] !== undefined || parameters['request_uri'] !== undefined) {
    throw badRequest('request_not_supported', 'Request objects are not supported.');
  }
  if (parameters['response_type'] !== 'code') {
    throw badRequest('unsupported_response_type', 'response_type must be code.');
  }
  if ((parameters['response_mode'] ?? 'query') !== 'query') {
    throw badRequest('invalid_request', 'response_mode must be query.');
  }
  const codeChallenge = parameters['code_challenge'] ?? '';
  if (parameters['code_challenge_method'] !== 'S256' || !/^[\w-]{43}$/.test(codeChallenge)) {
    throw badRequest('invalid_request', 'PKCE is required: code_challenge with code_challenge_method S256.');
  }
  const state = parameters['state'] ?? null;
  if (state !== null && state.length > maxState) {
    throw badRequest('invalid_request', `state may have at most ${maxState} characters.`);
  }
  const resource = parameters['resource'] ?? null;
  if (resource !== null && !isOwnResource(issuer, resource)) {
    throw badRequest('invalid_target', 'resource is not on this server.');
  }
  return {
    client,
    redirectUri,
    state,
    codeChallenge,
    resource,
    roleLimit: roleLimitOf(parameters['scope'] ?? null),
    mayDecide: mayDecideBy(parameters['scope'] ?? null),
    scopes: scopesIn(parameters['scope'] ?? null),
  };
}

/** Whether a resource (RFC 8707) is this server or below it. `audienceOf` says what its tokens are for. */
export function isOwnResource(issuer: string, resource: string): boolean {
  if (!URL.canParse(resource) || resource.includes('#')) return false;
  const [asked, own] = [new URL(resource), new URL(issuer)];
  const base = own.pathname.replace(/\/+$/, '');
  const below = asked.pathname === base || asked.pathname.startsWith(`${base}/`);
  return asked.origin === own.origin && asked.username === '' && asked.password === '' && below;
}

/** The address to which the user is sent back, with `iss` against mix-up (RFC 9207). */
export function redirectBack(
  issuer: string,
  { redirectUri, state }: Pick<AuthorizationRequest, 'redirectUri' | 'state'>,
  result: { code: string } | { error: string },
): string {
  const url = new URL(redirectUri);
  for (const [name, value] of Object.entries(result)) url.searchParams.append(name, value);
  if (state !== null) url.searchParams.append('state', state);
  url.searchParams.append('iss', issuer);
  return url.href;
}
