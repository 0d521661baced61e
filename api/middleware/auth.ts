/**
 * Identifies callers by bearer tokens, which koa-jwt verifies, or by the session cookie of their browser. The
 * user's row gives the current roles.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { Context, Middleware } from 'koa';
import { decodeProtectedHeader } from 'jose';
import koaJwt from 'koa-jwt';

import type { EntityManager } from '../../db/orm.ts';
import {
  actorOfClaims,
  actorsOfClaims,
  AUDIENCE,
  expiringClaimsSchema,
  type ExpiringClaims,
} from '../../domain/auth/access-token.ts';
import { anonymous, hasRole, type Actor } from '../../domain/auth/actor.ts';
import type { Role } from '../../contracts/roles.ts';
import { acting, hasRoleInSomeTeam } from '../../domain/auth/ownership.ts';
import { AppError, forbidden } from '../../domain/errors.ts';
import type { Caller, KnownCallers } from '../../domain/auth/known-callers.ts';
import { claimedIssuer } from '../../domain/identity/machines.ts';
import type { SigningKeys } from '../../domain/auth/signing-keys.ts';
import type { VerifiedTokens } from '../../domain/auth/verified-tokens.ts';
import { isWorkerToken, refuseWaitingWorker, type WorkerCaller } from '../../domain/jobs/worker-tokens.ts';
import { accessTokenCaller, isAccessToken } from '../../domain/auth/access-tokens.ts';
import type { Endpoint } from '../endpoint.ts';
import type { KnownWorkers } from '../jobs/known-workers.ts';
import { checkScope } from '../scopes.ts';
import { noteIdentified } from './identify-again.ts';
import type { AddressLimit } from './rate-limit.ts';
import { identifyByCookie, sessionSecretOf } from './session-cookie.ts';

/** Where clients find out how to get a token (RFC 9728). */
export const RESOURCE_METADATA_PATH = '/.well-known/oauth-protected-resource';

export interface AuthDeps {
  keys: SigningKeys;
  /** The configured base URL. */
  issuer: string;
  fork: () => EntityManager;
  addressLimit: AddressLimit;
  /** The caller of an access token that an external issuer signed; null if it is not accepted. */
  machine: (token: string) => Promise<Caller | null>;
  knownCallers: KnownCallers;
  verifiedTokens: VerifiedTokens;
  knownWorkers: Pick<KnownWorkers, 'find'>;
  /** Of a resource with tokens of its own. It takes no cookies. */
  resource?: { audience: string; metadataPath: string } | undefined;
}

/** What decides who may call an operation. */
type AuthRule = Pick<
  Endpoint,
  | 'role'
  | 'clientRole'
  | 'inTeams'
  | 'anonymousToo'
  | 'serviceToken'
  | 'workerToken'
  | 'probe'
  | 'proof'
  | 'scope'
  | 'workflowIn'
  | 'resource'
>;

/**
 * Sets `ctx.state.actor`. @throws 401, then 403; 429 for an address with too many unauthenticated requests
 */
export function authMiddleware(deps: AuthDeps, endpoint: AuthRule): Middleware {
  const { role, anonymousToo, serviceToken, workerToken, probe, proof } = endpoint;
  const countAnonymous = async (ctx: Context): Promise<void> =>
    ctx.set(await deps.addressLimit.count(ctx.ip));
  if (role === 'public') {
    return async (ctx, next) => {
      const proven = proof ? await proof(ctx['params'] ?? {}) : null;
      if (proven !== null) ctx.set(await deps.addressLimit.countProof(proven));
      else if (!probe) await countAnonymous(ctx);
      ctx.state['actor'] = anonymous;
      await next();
    };
  }
  const identify = identification(withResource(deps, endpoint));
  const rule = { ...endpoint, role };
  return async (ctx, next) => {
    const sent = serviceToken === undefined ? null : bearerToken(ctx);
    if (serviceToken !== undefined && sent !== null && sameSecret(sent, serviceToken)) {
      ctx.state['actor'] = anonymous;
      await next();
      return;
    }
    const bearer = workerToken === undefined ? null : bearerToken(ctx);
    if (bearer !== null && isWorkerToken(bearer)) {
      deps.addressLimit.admit(ctx.ip, bearer);
      const worker = await admitWorker(deps, ctx, bearer, { mayBeKept: workerToken === 'kept' });
      if (worker === null) {
        deps.addressLimit.disproved(bearer);
        await countAnonymous(ctx);
        throw unauthorized(ctx, 'invalid_token', metadataUrl(deps));
      }
      deps.addressLimit.proved(bearer);
      refuseWaitingWorker(worker);
      await next();
      return;
    }
    const credential = bearerToken(ctx) ?? sessionSecretOf(ctx, deps.issuer);
    if (credential !== null) deps.addressLimit.admit(ctx.ip, credential);
    const found = await identify(ctx);
    if (credential !== null) noteProof(deps, credential, found);
    if (typeof found === 'string') {
      await countAnonymous(ctx);
      const isWrong = found === 'invalid_token' || found === 'another_user';
      if (!anonymousToo || isWrong) throw unauthorized(ctx, found, metadataUrl(deps));
      ctx.state['actor'] = anonymous;
      await next();
      return;
    }
    await admit(deps, rule, ctx, found);
    await next();
  };
}

function noteProof({ addressLimit }: AuthDeps, credential: string, found: Caller | Unidentified): void {
  if (typeof found !== 'string') addressLimit.proved(credential);
  else if (found === 'invalid_token' || found === 'session_ended') addressLimit.disproved(credential);
}

/** Sets `ctx.state.actor` and `ctx.state.claims`. @throws 403 */
async function admit(
  deps: AuthDeps,
  rule: AuthRule & { role: Role },
  ctx: Context,
  { actor, claims }: Caller,
): Promise<void> {
  const { role, clientRole = role, inTeams = false } = rule;
  ctx.state['actor'] = actor;
  ctx.state['claims'] = claims;
  ctx.state['actor'] = actingAs(actor, actor.client === undefined ? role : clientRole, inTeams);
  await checkScope(deps.fork, ctx, actor, rule);
  noteIdentified(ctx, async () => {
    const [now = null] = await actorsOfClaims(deps.fork(), [claims]);
    if (now === null) throw unauthorized(ctx, undefined, metadataUrl(deps));
    await admit(deps, rule, ctx, { actor: now, claims });
  });
}

/** Sets `ctx.state.worker`. @returns null unless the worker is known */
async function admitWorker(
  deps: AuthDeps,
  ctx: Context,
  token: string,
  { mayBeKept }: { mayBeKept: boolean },
): Promise<WorkerCaller | null> {
  const worker = await deps.knownWorkers.find(token, { mayBeKept });
  if (worker === null) return null;
  ctx.state['actor'] = anonymous;
  ctx.state['worker'] = worker;
  noteIdentified(ctx, async () => {
    const now = await admitWorker(deps, ctx, token, { mayBeKept: false });
    if (now === null) throw unauthorized(ctx, 'invalid_token', metadataUrl(deps));
    refuseWaitingWorker(now);
  });
  return worker;
}

function withResource(deps: AuthDeps, { resource: path }: AuthRule): AuthDeps {
  if (path === undefined) return deps;
  const resource = { audience: `${deps.issuer}${path}`, metadataPath: RESOURCE_METADATA_PATH };
  return { ...deps, resource };
}

/** The caller with the rights that count for the request. @throws 403 */
export function actingAs(actor: Actor, needed: Role, inTeams: boolean): Actor {
  if (inTeams && hasRoleInSomeTeam(actor, needed)) return acting(actor, needed);
  if (hasRole(actor, needed)) return actor;
  const until = ", and until its user shows a second factor, this caller has a viewer's rights";
  const detail = `This requires the role ${needed}${actor.awaitsSecondFactor === true ? until : ''}.`;
  throw forbidden(detail, 'role_required');
}

/** Why a request has no user. */
type Unidentified = 'token_required' | 'invalid_token' | 'foreign_page' | 'session_ended' | 'another_user';

/** Finds the user of a request: by its token, else by the cookie of a browser's session. */
function identification(deps: AuthDeps): (ctx: Context) => Promise<Caller | Unidentified> {
  const verify = verification(deps);
  const byToken = async (ctx: Context): Promise<Caller | Unidentified> => {
    const token = bearerToken(ctx);
    const signer = token === null || deps.resource !== undefined ? null : claimedIssuer(token);
    if (token !== null && signer !== null && signer !== deps.issuer)
      return (await deps.machine(token)) ?? 'invalid_token';
    const claims = token === null ? null : await verify(ctx, token);
    const actor = claims === null ? null : await actorOfClaims(deps.fork(), claims);
    return claims && actor ? { actor, claims } : 'invalid_token';
  };
  return (ctx) => {
    const token = bearerToken(ctx);
    if (token !== null && isAccessToken(token)) {
      const find = async () =>
        (await accessTokenCaller(deps.fork(), token, ctx.ip)) ?? ('invalid_token' as const);
      return isRead(ctx) ? deps.knownCallers.find(token, find) : find();
    }
    // Callers are known by their tokens wherever these are used, so tokens of one resource are never kept.
    if (deps.resource !== undefined) return token === null ? Promise.resolve('token_required') : byToken(ctx);
    if (ctx.get('authorization') === '')
      return identifyByCookie(deps.fork, ctx, deps.issuer, isRead(ctx) ? deps.knownCallers : undefined);
    return token !== null && isRead(ctx) ? deps.knownCallers.find(token, () => byToken(ctx)) : byToken(ctx);
  };
}

/** Verifies signature and claims of tokens of ours; null for any other. Checks a token's signature once. */
function verification({ keys, issuer, resource, verifiedTokens }: AuthDeps) {
  const verify = koaJwt({
    // The types lack KeyObject, which jsonwebtoken accepts.
    secret: async (header: { typ?: unknown; kid?: unknown }) =>
      (await verificationKey(keys, header)) as unknown as string,
    algorithms: ['ES256'],
    audience: resource === undefined ? AUDIENCE : [AUDIENCE, resource.audience],
    issuer,
    key: 'claims',
    getToken: bearerToken,
  });
  const audience = resource?.audience ?? AUDIENCE;
  return async (ctx: Context, token: string): Promise<ExpiringClaims | null> => {
    const known = verifiedTokens.find(audience, token);
    if (known !== null && (await keys.publicKey(known.kid)) !== null) return known.claims;
    try {
      await verify(ctx, async () => {});
    } catch (error) {
      const cause = causeOf(error);
      if (cause instanceof LookupFailed) throw cause.cause;
      return null;
    }
    const { data: claims } = expiringClaimsSchema.safeParse(ctx.state['claims']);
    if (claims === undefined) return null;
    const { kid } = decodeProtectedHeader(token);
    if (kid !== undefined) verifiedTokens.keep(audience, token, { claims, kid });
    return claims;
  };
}

function metadataUrl({ issuer, resource }: AuthDeps): string {
  return `${issuer}${resource?.metadataPath ?? RESOURCE_METADATA_PATH}`;
}

function isRead(ctx: Context): boolean {
  return ctx.method === 'GET' || ctx.method === 'HEAD';
}

async function verificationKey(
  keys: SigningKeys,
  header: { typ?: unknown; kid?: unknown },
): Promise<unknown> {
  if (!/^(application\/)?at\+jwt$/i.test(String(header.typ)) || typeof header.kid !== 'string') {
    throw new Error('not an access token of this server');
  }
  const key = await keys.publicKey(header.kid).catch((error: unknown) => {
    throw new LookupFailed('cannot look up the key', { cause: error });
  });
  if (!key) {
    throw new Error('unknown key');
  }
  return key;
}

/** A failed key lookup. koa-jwt turns every failure into a 401, but this one is not the token's fault. */
class LookupFailed extends Error {}

function causeOf(error: unknown): unknown {
  return error instanceof Error && 'originalError' in error ? error.originalError : error;
}

function bearerToken(ctx: Context): string | null {
  return /^Bearer +([^\s]+) *$/i.exec(ctx.get('authorization'))?.[1] ?? null;
}

/** Compares in constant time. */
export function sameSecret(left: string, right: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(left), digest(right));
}

/** The worker whose token, or the person whose session, a request for jobs has. */
export function workerOf(ctx: Context): WorkerCaller {
  const worker: WorkerCaller | undefined = ctx.state['worker'];
  const { id, username } = ctx.state['actor'];
  const ofPerson = { agentIds: null, otherKinds: new Set<string>(), waits: false };
  return worker ?? { holder: `user:${id}`, name: username, ...ofPerson };
}

/** The claims of an identified caller; a browser's session has the same ones. */
export function claimsOf(ctx: Context): ExpiringClaims {
  return expiringClaimsSchema.parse(ctx.state['claims']);
}

const REASONS: Record<Unidentified, string> = {
  token_required: 'An access token is required: Authorization: Bearer <token>.',
  invalid_token: 'The access token is invalid or has expired.',
  foreign_page: "The session cookie is accepted only on requests from this server's own pages.",
  session_ended: 'The session has ended. Log in again.',
  another_user: 'Somebody else has logged in to this browser since the page was drawn.',
};

const OTHER_SCHEME = 'The Authorization header must have the scheme Bearer: Authorization: Bearer <token>.';

/** RFC 6750 section 3. By default, what ended the session of an identified caller. */
export function unauthorized(
  ctx: Context,
  code: Unidentified = missingSession(ctx),
  metadata?: string,
): AppError {
  const error = code === 'invalid_token' ? ', error="invalid_token"' : '';
  // RFC 9728 section 5.1: clients find the authorization server by it.
  const where = metadata === undefined ? '' : `, resource_metadata="${metadata}"`;
  const reason = code === 'invalid_token' && hasOtherScheme(ctx) ? OTHER_SCHEME : REASONS[code];
  return new AppError('unauthorized', code, reason, {
    headers: { 'WWW-Authenticate': `Bearer realm="cadenza"${error}${where}` },
  });
}

/** Whether a header such as `Basic …` was sent, which has no token that could be wrong. */
function hasOtherScheme(ctx: Context): boolean {
  const header = ctx.get('authorization');
  return header !== '' && !/^Bearer(\s|$)/i.test(header);
}

function missingSession(ctx: Context): Unidentified {
  if (ctx.get('authorization') !== '') return 'invalid_token';
  return ctx.state['claims'] === undefined ? 'token_required' : 'session_ended';
}
