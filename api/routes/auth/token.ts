/** `POST /auth/token` in its two formats: JSON with problem documents, form with OAuth errors. */
import type { Context } from 'koa';
import type * as z from 'zod';

import {
  clientGrant,
  passwordGrant,
  refreshGrant,
  secondFactorGrant,
  sessionAnswer,
  type GrantDeps,
  type PasswordGrant,
  type TokenAnswer,
} from '../../../domain/auth/grants.ts';
import type { FactorDeps } from '../../../domain/auth/second-factor.ts';
import { FIRST_PARTY_CLIENT } from '../../../domain/auth/access-token.ts';
import type { ChallengeAnswer } from '../../../domain/auth/log-in.ts';
import { pollDevice } from '../../../domain/auth/device-flow.ts';
import { isOwnResource } from '../../../domain/oauth/authorization.ts';
import { authenticateClient } from '../../../domain/oauth/clients.ts';
import { redeemCode } from '../../../domain/oauth/codes.ts';
import { AppError, OAuthError } from '../../../domain/errors.ts';
import type { EndpointResponse } from '../../endpoint.ts';
import { deviceMarkOf, setDeviceCookie } from './device-cookie.ts';
import type { formTokenRequest, jsonTokenRequest } from './schemas.ts';

export interface TokenDeps extends GrantDeps {
  /** Keyed hash for device marks. */
  mac: (text: string) => string;
  factors: FactorDeps;
}

const DEVICE_GRANT_TYPE = 'urn:ietf:params:oauth:grant-type:device_code';

/** An extension grant (RFC 6749 section 4.5): the second step of a log-in with a password. */
const SECOND_FACTOR_GRANT = 'urn:cadenza:params:oauth:grant-type:second-factor';

const INVALID_CREDENTIALS = 'The credentials are incorrect.';
const INVALID_REFRESH_TOKEN = 'The refresh token is invalid or has expired.';
const WRONG_FACTOR = 'The second factor is wrong, or the challenge is over.';
const noStore = { 'Cache-Control': 'no-store', Pragma: 'no-cache' };

export async function tokenByJson(
  deps: TokenDeps,
  ctx: Context,
  body: z.output<typeof jsonTokenRequest>,
): Promise<EndpointResponse> {
  if ('username' in body) {
    const grant = await byPassword(deps, ctx, body.username, body.password);
    if (!grant) throw wrongCredentials();
    return grant;
  }
  if ('challenge' in body) {
    const { grant_type: _type, ...given } = body;
    const grant = await bySecondFactor(deps, ctx, given);
    if (!grant) throw wrongCredentials(WRONG_FACTOR);
    return grant;
  }
  const answer =
    'refresh_token' in body
      ? await refreshGrant(deps, body.refresh_token, FIRST_PARTY_CLIENT)
      : await clientGrant(deps, body.client_id, body.client_secret);
  if (!answer) throw wrongCredentials('refresh_token' in body ? INVALID_REFRESH_TOKEN : undefined);
  return granted(answer);
}

export function wrongCredentials(detail = INVALID_CREDENTIALS): AppError {
  return new AppError('unauthorized', 'invalid_credentials', detail, {
    headers: { 'WWW-Authenticate': 'Bearer realm="cadenza"', ...noStore },
  });
}

/** A parameter of the form; null if it is absent or empty, which count as the same (section 3.2). */
type Field = (name: string) => string | null;

type FormGrant = (deps: TokenDeps, ctx: Context, field: Field) => Promise<EndpointResponse>;

const FORM_GRANTS = new Map<string, FormGrant>([
  ['password', formPassword],
  [SECOND_FACTOR_GRANT, formSecondFactor],
  ['refresh_token', formRefresh],
  ['client_credentials', formClient],
  ['authorization_code', formCode],
  [DEVICE_GRANT_TYPE, formDevice],
]);

export const grantTypes: readonly string[] = [...FORM_GRANTS.keys()];

/** OAuth grants of RFC 6749 and RFC 8628, with the errors of RFC 6749 section 5.2. */
export async function tokenByForm(
  deps: TokenDeps,
  ctx: Context,
  form: z.output<typeof formTokenRequest>,
): Promise<EndpointResponse> {
  const field: Field = (name) => form[name] || null;
  const type = field('grant_type');
  if (type === null) throw new OAuthError('invalid_request', 'grant_type is missing');
  const grant = FORM_GRANTS.get(type);
  if (grant === undefined) {
    throw new OAuthError('unsupported_grant_type', `grant_type must be one of ${grantTypes.join(', ')}`);
  }
  return grant(deps, ctx, field);
}

async function formPassword(deps: TokenDeps, ctx: Context, field: Field): Promise<EndpointResponse> {
  const [username, password] = [required(field, 'username'), required(field, 'password')];
  const answer = await byPassword(deps, ctx, username, password).catch(asOAuth);
  if (!answer) throw new OAuthError('invalid_grant', INVALID_CREDENTIALS);
  return answer;
}

/** 403 as others answer it; passkeys need a browser, so forms have codes only. */
function asOAuth(error: unknown): EndpointResponse {
  if (!(error instanceof AppError) || error.code !== 'mfa_required') throw error;
  const { challenge, methods } = error.extra ?? {};
  const body = { error: error.code, error_description: error.detail, challenge, methods };
  return { status: 403, body, headers: noStore };
}

async function formSecondFactor(deps: TokenDeps, ctx: Context, field: Field): Promise<EndpointResponse> {
  const challenge = required(field, 'challenge');
  const [code, recovery] = [field('code') ?? undefined, field('recovery_code') ?? undefined];
  const answer = await bySecondFactor(deps, ctx, { challenge, code, recovery_code: recovery });
  if (!answer) throw new OAuthError('invalid_grant', WRONG_FACTOR);
  return answer;
}

async function formRefresh(deps: TokenDeps, ctx: Context, field: Field): Promise<EndpointResponse> {
  const refreshToken = required(field, 'refresh_token');
  const clientId = await callingClient(deps, ctx, field);
  if (clientId === null) return invalidClient();
  checkResource(deps, field('resource'));
  const answer = await refreshGrant(deps, refreshToken, clientId);
  if (!answer) throw new OAuthError('invalid_grant', INVALID_REFRESH_TOKEN);
  return granted(answer);
}

async function formCode(deps: TokenDeps, ctx: Context, field: Field): Promise<EndpointResponse> {
  const code = required(field, 'code');
  const clientId = await callingClient(deps, ctx, field);
  if (clientId === null || clientId === FIRST_PARTY_CLIENT) return invalidClient();
  const redemption = {
    code,
    verifier: field('code_verifier'),
    redirectUri: field('redirect_uri'),
    resource: field('resource'),
  };
  return granted(await sessionAnswer(deps, await redeemCode(deps.em, clientId, redemption, deps.from)));
}

async function formDevice(deps: TokenDeps, _ctx: Context, field: Field): Promise<EndpointResponse> {
  const deviceCode = required(field, 'device_code');
  checkFirstParty(field('client_id'));
  return granted(await sessionAnswer(deps, await pollDevice(deps.em, deviceCode, deps.from)));
}

function required(field: Field, name: string): string {
  const value = field(name);
  if (value === null) throw new OAuthError('invalid_request', `${name} is missing`);
  return value;
}

/** @throws OAuthError `invalid_target` (RFC 8707) */
function checkResource({ issuer }: GrantDeps, resource: string | null): void {
  if (resource !== null && !isOwnResource(issuer, resource)) {
    throw new OAuthError('invalid_target', 'resource is not on this server');
  }
}

/** Our own programs need no `client_id`, but libraries send one. @throws OAuthError `invalid_client` */
export function checkFirstParty(clientId: string | null): void {
  if (clientId !== null && clientId !== FIRST_PARTY_CLIENT) {
    throw new OAuthError('invalid_client', `client_id must be ${FIRST_PARTY_CLIENT}, or absent`);
  }
}

/**
 * The id of the OAuth client that sent the form, or of our own programs, which name none. Null if it does not
 * show who it is.
 */
export async function callingClient(
  { em }: Pick<GrantDeps, 'em'>,
  ctx: Context,
  field: (name: 'client_id' | 'client_secret') => string | null,
): Promise<string | null> {
  const basic = basicCredentials(ctx);
  const [id, secret] = [field('client_id'), field('client_secret')];
  if (basic) {
    const clash = secret !== null || (id !== null && id !== basic.id);
    return clash ? null : authenticateClient(em, { ...basic, way: 'client_secret_basic' });
  }
  if (id === null || id === FIRST_PARTY_CLIENT) return FIRST_PARTY_CLIENT;
  return authenticateClient(em, { id, secret, way: secret === null ? 'none' : 'client_secret_post' });
}

/** Null for incorrect credentials. A device's first login sets its mark. */
async function byPassword(
  { mac, ...deps }: TokenDeps,
  ctx: Context,
  username: string,
  password: string,
): Promise<EndpointResponse | null> {
  const grant = await passwordGrant(
    { ...deps, device: { mark: deviceMarkOf(ctx), mac } },
    username,
    password,
  );
  return withMark(ctx, deps.issuer, grant);
}

async function bySecondFactor(
  { mac, ...deps }: TokenDeps,
  ctx: Context,
  given: ChallengeAnswer,
): Promise<EndpointResponse | null> {
  const grant = await secondFactorGrant({ ...deps, device: { mark: deviceMarkOf(ctx), mac } }, given);
  return withMark(ctx, deps.issuer, grant);
}

function withMark(ctx: Context, issuer: string, grant: PasswordGrant | null): EndpointResponse | null {
  if (!grant) return null;
  const { status, body, headers } = granted(grant.answer);
  return {
    status,
    body,
    headers: {
      ...headers,
      ...(grant.newMark === null ? {} : { 'Set-Cookie': setDeviceCookie(ctx, issuer, grant.newMark) }),
    },
  };
}

/** A machine client of a user, which acts as that user. */
async function formClient(deps: TokenDeps, ctx: Context, field: Field): Promise<EndpointResponse> {
  const basic = basicCredentials(ctx);
  if (basic && field('client_secret') !== null) {
    throw new OAuthError('invalid_request', 'use only one way of client authentication');
  }
  const id = basic?.id ?? field('client_id');
  const secret = basic?.secret ?? field('client_secret');
  const answer = id !== null && secret !== null ? await clientGrant(deps, id, secret) : null;
  return answer ? granted(answer) : invalidClient();
}

export function invalidClient(): EndpointResponse {
  return {
    status: 401,
    body: { error: 'invalid_client', error_description: 'The client id or secret is incorrect.' },
    headers: { ...noStore, 'WWW-Authenticate': 'Basic realm="cadenza"' },
  };
}

/** Both halves are form-encoded before base64 (RFC 6749 section 2.3.1). */
function basicCredentials(ctx: Context): { id: string; secret: string } | null {
  const encoded = /^Basic +([A-Za-z0-9+/=_-]+) *$/i.exec(ctx.get('authorization'))?.[1];
  if (encoded === undefined) {
    return null;
  }
  const text = Buffer.from(encoded, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  return colon < 0
    ? { id: text, secret: '' }
    : { id: formDecode(text.slice(0, colon)), secret: formDecode(text.slice(colon + 1)) };
}

function formDecode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return text;
  }
}

function granted(answer: TokenAnswer): EndpointResponse {
  return { status: 200, body: answer, headers: noStore };
}
