import { jwtVerify } from 'jose';
import type { Context } from 'koa';
import * as z from 'zod';

import type { EntityManager } from '../../../db/orm.ts';
import {
  AUDIENCE,
  CODEC_RESOURCE,
  MCP_PATH,
  claimsSchema,
  type Claims,
} from '../../../domain/auth/access-token.ts';
import { anonymous } from '../../../domain/auth/actor.ts';
import { revokeAccess, revokeClientRefreshToken, revokeRefreshToken } from '../../../domain/auth/sessions.ts';
import { addressKey } from '../../../domain/auth/throttle.ts';
import { OAuthError } from '../../../domain/errors.ts';
import type { AppDeps } from '../../deps.ts';
import { endpoint, media, type Endpoint } from '../../endpoint.ts';
import { RESOURCE_METADATA_PATH, unauthorized } from '../../middleware/auth.ts';
import { MAX_AUTH_BODY_BYTES, FORM, openedFrom } from './requests.ts';
import {
  formRevocation,
  formTokenRequest,
  jsonRevocation,
  jsonTokenRequest,
  oauthError,
  secondFactorError,
  tokenAnswer,
} from './schemas.ts';
import { callingClient, invalidClient, tokenByForm, tokenByJson } from './token.ts';

const jwk = z.object({
  kty: z.string(),
  crv: z.string(),
  x: z.string(),
  y: z.string(),
  kid: z.string(),
  alg: z.string(),
  use: z.string(),
});

export function authEndpoints(deps: AppDeps): Endpoint[] {
  const issuer = deps.env.BASE_URL;
  return [
    endpoint({
      method: 'POST',
      path: '/auth/token',
      operationId: 'createToken',
      // What opens a session writes `log_in` itself; refreshed tokens change nothing.
      audit: false,
      summary: 'Log in with a password, refresh token, client credentials or a device code',
      description:
        'Send JSON, or an OAuth 2.0 form (RFC 6749), which gets OAuth errors. ' +
        'Clients may authenticate with HTTP Basic. ' +
        'After ten failures in 15 minutes for one account from one address, or 100 for one address or ' +
        'one account in total, the response is 429. ' +
        'Somebody with a second factor gets `mfa_required` (JSON: 401; form: 403) with a `challenge` and ' +
        '`methods`: send `challenge` with `code`, `recovery_code` or `passkey` within 5 minutes. ' +
        'A login with a password sets the cookie `cadenza_device`; a device that sends it has its own ' +
        'ten failures.',
      tags: ['auth'],
      role: 'public',
      bodies: { 'application/json': jsonTokenRequest, [FORM]: formTokenRequest },
      bodyLimitBytes: MAX_AUTH_BODY_BYTES,
      responses: {
        200: tokenAnswer,
        400: media({ 'application/json': oauthError }),
        401: media({ 'application/json': oauthError }),
        403: media({ 'application/json': secondFactorError }),
      },
      errors: [401, 403, 429],
      idempotent: false,
      transaction: false,
      handler: async (c) => {
        const grant = {
          em: c.em,
          keys: deps.keys,
          issuer,
          address: addressKey(c.ctx.ip),
          from: openedFrom(c.ctx),
          mac: (text: string) => deps.encryption.fingerprint(text),
          factors: { encryption: deps.encryption, baseUrl: issuer },
        };
        const { body } = c;
        // The media type selected the schema, so it decides here as well. `ctx.is` needs a body, but a form
        // may be empty.
        return isForm(c.ctx)
          ? tokenByForm(grant, c.ctx, formTokenRequest.parse(body))
          : tokenByJson(grant, c.ctx, jsonTokenRequest.parse(body));
      },
    }),
    endpoint({
      method: 'POST',
      path: '/auth/revoke',
      operationId: 'revokeToken',
      auditAction: 'log_out',
      summary: 'Log out: end the session of a refresh or access token (RFC 7009)',
      description:
        'With an access token it takes any token of that user. Without one it takes a form, and the tokens ' +
        'of the client that sends it. ' +
        "Unknown or ended tokens and other users' or clients' tokens have no effect; " +
        'the response is the same.',
      tags: ['auth'],
      role: 'viewer',
      anonymousToo: true,
      bodies: { 'application/json': jsonRevocation, [FORM]: formRevocation },
      bodyLimitBytes: MAX_AUTH_BODY_BYTES,
      responses: {
        200: null,
        400: media({ 'application/json': oauthError }),
        401: media({ 'application/json': oauthError }),
      },
      errors: [401],
      idempotent: false,
      handler: async (c) => {
        if (c.actor === anonymous && !isForm(c.ctx))
          throw unauthorized(c.ctx, 'token_required', `${issuer}${RESOURCE_METADATA_PATH}`);
        const { token } = c.body;
        // An empty form parameter counts as absent (RFC 6749 section 3.2). The JSON schema rejects empty
        // tokens.
        if (!token) throw new OAuthError('invalid_request', 'token is missing');
        const done = { status: 200, headers: { 'Cache-Control': 'no-store' } };
        if (c.actor === anonymous) {
          const fields = formRevocation.parse(c.body);
          const clientId = await callingClient(c, c.ctx, (name) => fields[name] || null);
          if (clientId === null) return invalidClient();
          await revokeOfClient(deps, c.em, clientId, token);
          return done;
        }
        const claims = await claimsOfToken(deps, token);
        await (claims?.sub === c.actor.id
          ? revokeAccess(c.em, c.actor.id, claims.sid)
          : revokeRefreshToken(c.em, c.actor.id, token));
        return done;
      },
    }),
    endpoint({
      method: 'GET',
      path: '/.well-known/jwks.json',
      operationId: 'getJwks',
      summary: 'Get the public keys of access tokens (RFC 7517)',
      tags: ['auth'],
      role: 'public',
      responses: { 200: z.object({ keys: z.array(jwk) }).meta({ id: 'Jwks' }) },
      handler: async () => {
        await deps.keys.current();
        return {
          status: 200,
          body: await deps.keys.jwks(),
          headers: { 'Cache-Control': 'public, max-age=300' },
        };
      },
    }),
  ];
}

function isForm(ctx: Context): boolean {
  return (ctx.get('content-type').split(';', 1)[0] ?? '').trim().toLowerCase() === FORM;
}

async function revokeOfClient(
  deps: AppDeps,
  em: EntityManager,
  clientId: string,
  token: string,
): Promise<void> {
  const claims = await claimsOfToken(deps, token);
  if (claims === null) await revokeClientRefreshToken(em, clientId, token);
  else if (claims.client_id === clientId) await revokeAccess(em, claims.sub, claims.sid);
}

/** The claims of an access token, which may have expired; null for anything else. */
async function claimsOfToken(deps: AppDeps, token: string): Promise<Claims | null> {
  try {
    const { payload } = await jwtVerify(
      token,
      async (header) => {
        const key = await deps.keys.publicKey(header.kid ?? '');
        if (!key) throw new Error('unknown key');
        return key;
      },
      {
        algorithms: ['ES256'],
        audience: [AUDIENCE, ...[MCP_PATH, CODEC_RESOURCE].map((path) => `${deps.env.BASE_URL}${path}`)],
        issuer: deps.env.BASE_URL,
        clockTolerance: '1 year',
      },
    );
    return claimsSchema.parse(payload);
  } catch {
    return null;
  }
}
