import { jwtVerify } from 'jose';
import * as z from 'zod';

import { audience, claimsSchema } from '../../../domain/auth/access-token.ts';
import { revokeAccess, revokeRefreshToken } from '../../../domain/auth/sessions.ts';
import { addressKey } from '../../../domain/auth/throttle.ts';
import type { AppDeps } from '../../app.ts';
import { endpoint, media, type Endpoint } from '../../endpoint.ts';
import { formRevocation, formTokenRequest, jsonRevocation, jsonTokenRequest, oauthError, tokenAnswer } from './schemas.ts';
import { tokenByForm, tokenByJson } from './token.ts';

const form = 'application/x-www-form-urlencoded';
const jwk = z.object({ kty: z.string(), crv: z.string(), x: z.string(), y: z.string(), kid: z.string(), alg: z.string(), use: z.string() });

export function authEndpoints(deps: AppDeps): Endpoint[] {
  const issuer = deps.env.BASE_URL;
  return [
    endpoint({
      method: 'POST',
      path: '/auth/token',
      operationId: 'createToken',
      summary: 'Log in: by password, refresh token or client credentials',
      description: 'As JSON, or as the form of OAuth 2.0 (RFC 6749) with its own errors. Clients may authenticate by Basic.',
      tags: ['auth'],
      role: 'public',
      bodies: { 'application/json': jsonTokenRequest, [form]: formTokenRequest },
      responses: { 200: tokenAnswer, 400: media({ 'application/json': oauthError }), 401: media({ 'application/json': oauthError }) },
      errors: [401, 429],
      idempotent: false,
      transaction: false,
      handler: async (c) => {
        const grant = { em: c.em, keys: deps.keys, issuer, address: addressKey(c.ctx.ip) };
        const { body } = c;
        // Which of the two it is, the media type decides: the schemas were chosen by it.
        return c.ctx.is(form) ? tokenByForm(grant, c.ctx, formTokenRequest.parse(body)) : tokenByJson(grant, jsonTokenRequest.parse(body));
      },
    }),
    endpoint({
      method: 'POST',
      path: '/auth/revoke',
      operationId: 'revokeToken',
      summary: 'Log out: ends the session of a refresh or access token (RFC 7009)',
      description: 'Tokens that are unknown, ended or not your own change nothing; the answer is the same.',
      tags: ['auth'],
      role: 'viewer',
      bodies: { 'application/json': jsonRevocation, [form]: formRevocation },
      responses: { 200: null },
      idempotent: false,
      handler: async (c) => {
        const sid = await sessionOf(deps, c.body.token, c.actor.id);
        await (sid === null ? revokeRefreshToken(c.em, c.actor.id, c.body.token) : revokeAccess(c.em, c.actor.id, sid));
        return { status: 200, headers: { 'Cache-Control': 'no-store' } };
      },
    }),
    endpoint({
      method: 'GET',
      path: '/.well-known/jwks.json',
      operationId: 'getJwks',
      summary: 'Public keys of access tokens (RFC 7517)',
      tags: ['auth'],
      role: 'public',
      responses: { 200: z.object({ keys: z.array(jwk) }).meta({ id: 'Jwks' }) },
      handler: async () => {
        await deps.keys.current();
        return { status: 200, body: await deps.keys.jwks(), headers: { 'Cache-Control': 'public, max-age=300' } };
      },
    }),
    endpoint({
      method: 'GET',
      path: '/.well-known/oauth-authorization-server',
      operationId: 'getAuthorizationServerMetadata',
      summary: 'Where and how to get tokens (RFC 8414)',
      tags: ['auth'],
      role: 'public',
      responses: {
        200: z.object({
          issuer: z.string(), token_endpoint: z.string(), revocation_endpoint: z.string(), jwks_uri: z.string(),
          grant_types_supported: z.array(z.string()), response_types_supported: z.array(z.string()),
          token_endpoint_auth_methods_supported: z.array(z.string()),
        }).meta({ id: 'AuthorizationServerMetadata' }),
      },
      handler: async () => ({
        status: 200,
        body: {
          issuer,
          token_endpoint: `${issuer}/auth/token`,
          revocation_endpoint: `${issuer}/auth/revoke`,
          jwks_uri: `${issuer}/.well-known/jwks.json`,
          grant_types_supported: ['password', 'refresh_token', 'client_credentials'],
          response_types_supported: [],
          token_endpoint_auth_methods_supported: ['none', 'client_secret_basic', 'client_secret_post'],
        },
      }),
    }),
  ];
}

/** The session of one of the caller's own access tokens, expired ones included; null for anything else. */
async function sessionOf(deps: AppDeps, token: string, userId: string): Promise<string | null> {
  try {
    const { payload } = await jwtVerify(
      token,
      async (header) => {
        const key = await deps.keys.publicKey(header.kid ?? '');
        if (!key) throw new Error('unknown key');
        return key;
      },
      { algorithms: ['ES256'], audience, issuer: deps.env.BASE_URL, clockTolerance: '1 year' },
    );
    const claims = claimsSchema.parse(payload);
    return claims.sub === userId ? claims.sid : null;
  } catch {
    return null;
  }
}
