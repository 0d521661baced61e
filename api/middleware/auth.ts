/** Bearer tokens: koa-jwt verifies the token, the user's row says what they may do now. */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { Context, Middleware } from 'koa';
import koaJwt from 'koa-jwt';

import type { EntityManager } from '../../db/orm.ts';
import { actorOfClaims, audience, claimsSchema } from '../../domain/auth/access-token.ts';
import { anonymous, hasRole, type Actor } from '../../domain/auth/actor.ts';
import { AppError, forbidden } from '../../domain/errors.ts';
import type { SigningKeys } from '../../domain/auth/signing-keys.ts';
import type { Endpoint } from '../endpoint.ts';

export interface AuthDeps {
  keys: SigningKeys;
  issuer: string;
  fork: () => EntityManager;
}

/** Sets `ctx.state.actor`, or throws 401, then 403. */
export function authMiddleware(deps: AuthDeps, endpoint: Pick<Endpoint, 'role' | 'anonymousToo' | 'serviceToken'>): Middleware {
  const { role, anonymousToo, serviceToken } = endpoint;
  if (role === 'public') {
    return async (ctx, next) => {
      ctx.state['actor'] = anonymous;
      await next();
    };
  }
  const verify = koaJwt({
    // The types know no KeyObject; jsonwebtoken, which gets it, does.
    secret: async (header: { typ?: unknown; kid?: unknown }) => (await verificationKey(deps.keys, header)) as unknown as string,
    algorithms: ['ES256'],
    audience,
    issuer: deps.issuer,
    key: 'claims',
    getToken: bearerToken,
  });
  return async (ctx, next) => {
    const sent = serviceToken === undefined ? null : bearerToken(ctx);
    if (serviceToken !== undefined && sent !== null && sameSecret(sent, serviceToken)) {
      ctx.state['actor'] = anonymous;
      await next();
      return;
    }
    if (anonymousToo && !ctx.get('authorization')) {
      ctx.state['actor'] = anonymous;
      await next();
      return;
    }
    await verify(ctx, async () => {}).catch((error: unknown) => {
      const cause = causeOf(error);
      throw cause instanceof LookupFailed ? cause.cause : unauthorized(ctx);
    });
    const claims = claimsSchema.safeParse(ctx.state['claims']);
    const actor: Actor | null = claims.success ? await actorOfClaims(deps.fork(), claims.data) : null;
    if (!actor) {
      throw unauthorized(ctx);
    }
    ctx.state['actor'] = actor;
    if (!hasRole(actor, role)) {
      throw forbidden(`This needs the role ${role}.`, 'role_required');
    }
    await next();
  };
}

async function verificationKey(keys: SigningKeys, header: { typ?: unknown; kid?: unknown }): Promise<unknown> {
  if (!/^(application\/)?at\+jwt$/i.test(String(header.typ)) || typeof header.kid !== 'string') {
    throw new Error('not an access token of ours');
  }
  const key = await keys.publicKey(header.kid).catch((error: unknown) => {
    throw new LookupFailed('cannot look for keys', { cause: error });
  });
  if (!key) {
    throw new Error('unknown key');
  }
  return key;
}

/** koa-jwt answers 401 to every failure; this one is not the token's. */
class LookupFailed extends Error {}

function causeOf(error: unknown): unknown {
  return error instanceof Error && 'originalError' in error ? error.originalError : error;
}

function bearerToken(ctx: Context): string | null {
  return /^Bearer +([^\s]+) *$/i.exec(ctx.get('authorization'))?.[1] ?? null;
}

/** In a time that tells nothing about where two texts differ. */
export function sameSecret(one: string, other: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(one), digest(other));
}

/** RFC 6750 section 3. */
export function unauthorized(ctx: Context): AppError {
  const sent = ctx.get('authorization') !== '';
  const detail = sent ? 'The access token is not valid, or no longer.' : 'This needs an access token: Authorization: Bearer <token>.';
  return new AppError('unauthorized', sent ? 'invalid_token' : 'token_required', detail, {
    headers: { 'WWW-Authenticate': sent ? 'Bearer realm="cadenza", error="invalid_token"' : 'Bearer realm="cadenza"' },
  });
}
