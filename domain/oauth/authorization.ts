/** The authorization request: what a client asks a user to approve (RFC 6749 section 4.1, RFC 7636). */
import type { Role } from '../../contracts/roles.ts';
import { withoutEnd } from '../../contracts/text-end.ts';
import type { EntityManager } from '../../db/orm.ts';
import { audienceOf, CODEC_RESOURCE } from '../auth/access-token.ts';
import { badRequest } from '../errors.ts';
import { findClient, type OAuthClient } from './clients.ts';
import { openIdScopesIn } from './openid.ts';
import { isRegistered } from './redirect-uri.ts';
import { mayDecideBy, roleLimitOf, scopesIn } from './scopes.ts';

/** The parameters that count, as they were sent. */
export const AUTHORIZATION_PARAMETERS = [
  'response_type',
  'client_id',
  'redirect_uri',
  'state',
  'scope',
  'code_challenge',
  'code_challenge_method',
  'resource',
  'nonce',
  'prompt',
  'max_age',
] as const;
export type AuthorizationParameters = Partial<Record<string, string | undefined>>;

export interface AuthorizationRequest {
  client: OAuthClient;
  redirectUri: string;
  state: string | null;
  /** Null for a client of the settings that protects its code by a nonce. */
  codeChallenge: string | null;
  resource: string | null;
  roleLimit: Role;
  mayDecide: boolean;
  /** What it asks for beyond roles; null if it names roles only. */
  scopes: string[] | null;
  /** Null without `openid`. */
  openid: { scopes: string[]; nonce?: string } | null;
  prompt: Prompt | null;
  /** The user must have shown who it is within so many seconds; null: at any time. */
  maxAgeSeconds: number | null;
}

const PROMPTS = ['none', 'login', 'consent', 'select_account'] as const;
type Prompt = (typeof PROMPTS)[number];
const MAX_STATE = 2_000;
const MAX_NONCE = 2_000;
/** With `prompt=login`, who has just logged in is not asked again. */
const JUST_NOW_SECONDS = 60;

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
  const scope = parameters['scope'] ?? null;
  const openid = openIdOf(scope, parameters['nonce']);
  const codeChallenge = challengeOf(parameters, client.from_settings && openid?.nonce !== undefined);
  const state = parameters['state'] ?? null;
  if (state !== null && state.length > MAX_STATE) {
    throw badRequest('invalid_request', `state may have at most ${MAX_STATE} characters.`);
  }
  const asked = parameters['resource'] ?? null;
  if (asked !== null && !mayAsk(client, issuer, asked))
    throw badRequest('invalid_target', 'resource is not on this server, or not for this client.');
  return {
    client,
    redirectUri,
    state,
    codeChallenge,
    resource: client.resource ?? asked,
    roleLimit: client.required_role ?? roleLimitOf(scope),
    mayDecide: client.required_role === null && mayDecideBy(scope),
    scopes: client.required_role === null ? scopesIn(scope) : null,
    openid,
    ...promptOf(parameters),
  };
}

/** The codec decrypts the data of all runs, which no page of consent says: only the settings give it. */
function mayAsk({ resource }: OAuthClient, issuer: string, asked: string): boolean {
  if (resource !== null) return asked === resource;
  return isOwnResource(issuer, asked) && audienceOf(issuer, asked) !== `${issuer}${CODEC_RESOURCE}`;
}

/** @throws 400 */
function openIdOf(scope: string | null, nonce: string | undefined): AuthorizationRequest['openid'] {
  const scopes = openIdScopesIn(scope);
  if (scopes === null) return null;
  if (nonce !== undefined && nonce.length > MAX_NONCE)
    throw badRequest('invalid_request', `nonce may have at most ${MAX_NONCE} characters.`);
  return { scopes, ...(nonce ? { nonce } : {}) };
}

/**
 * The challenge of PKCE. A confidential client of the settings may have a nonce instead, as RFC 9700 section
 * 2.1.1 permits; everybody else needs both.
 */
function challengeOf(parameters: AuthorizationParameters, isOptional: boolean): string | null {
  const { code_challenge: challenge = '', code_challenge_method: method } = parameters;
  if (isOptional && challenge === '' && method === undefined) return null;
  if (method !== 'S256' || !/^[\w-]{43}$/.test(challenge)) {
    throw badRequest('invalid_request', 'PKCE is required: code_challenge with code_challenge_method S256.');
  }
  return challenge;
}

/** OpenID Connect Core section 3.1.2.1. @throws 400 */
function promptOf(
  parameters: AuthorizationParameters,
): Pick<AuthorizationRequest, 'prompt' | 'maxAgeSeconds'> {
  const { prompt: asked = '', max_age: age = '' } = parameters;
  const prompt = PROMPTS.find((one) => one === asked) ?? null;
  if (asked !== '' && prompt === null)
    throw badRequest('invalid_request', `prompt must be one of ${PROMPTS.join(', ')}.`);
  if (age !== '' && !/^\d{1,9}$/.test(age)) throw badRequest('invalid_request', 'max_age must be seconds.');
  const maxAge = age === '' ? null : Number(age);
  if (prompt !== 'login') return { prompt, maxAgeSeconds: maxAge };
  return { prompt, maxAgeSeconds: Math.min(maxAge ?? JUST_NOW_SECONDS, JUST_NOW_SECONDS) };
}

/** Whether a resource (RFC 8707) is this server or below it. `audienceOf` says what its tokens are for. */
export function isOwnResource(issuer: string, resource: string): boolean {
  if (!URL.canParse(resource) || resource.includes('#')) return false;
  const [asked, own] = [new URL(resource), new URL(issuer)];
  const base = withoutEnd(own.pathname, '/');
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
