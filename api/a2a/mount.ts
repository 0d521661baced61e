/**
 * The A2A endpoints, below `/a2a/{agent_id}` and `/api/v1/a2a/{agent_id}`. Their shapes are the protocol's, so they are no
 * endpoint declarations; authentication, request ids, limits and visibility are the product's.
 */
import { A2AError } from '@a2a-js/sdk/errors';
import type { Context, Middleware } from 'koa';

import { actorOfClaims, claimsSchema } from '../../domain/auth/access-token.ts';
import { anonymous, type Actor } from '../../domain/auth/actor.ts';
import { findA2AAgent, type A2AAgent } from '../../domain/a2a/agent.ts';
import type { WireVersion } from '../../domain/a2a/push-configs.ts';
import { AppError } from '../../domain/errors.ts';
import type { AppDeps } from '../app.ts';
import { authMiddleware } from '../middleware/auth.ts';
import { countRequest } from '../middleware/rate-limit.ts';
import { checkMediaType, decodeText, parseJson, readRawBody } from '../middleware/body.ts';
import { activeExtensions, extensionsNamed, type A2ACall } from './call.ts';
import { sendCard, type SignedCards } from './card-routes.ts';
import { answerDeliveries } from './deliveries.ts';
import { jsonRpcError, jsonRpcStatus, restError } from './errors.ts';
import { answerJsonRpc, sendRpcError } from './json-rpc.ts';
import { A2A_BODY_LIMIT_BYTES } from './limits.ts';
import { answerLegacyRest, matchLegacyRest, sendLegacy } from './rest-legacy.ts';
import { answerRest, matchRest, sendRest } from './rest.ts';
import { requestedVersion } from './version.ts';

const BASE = /^(?:\/api\/v1)?\/a2a\/([^/]+)(\/.*)?$/;
const CARD = /^\/\.well-known\/agent(?:-card)?\.json$/;
const DEFAULT_CARD = /^(?:\/api\/v1)?\/\.well-known\/agent-card\.json$/;

export function a2aMiddleware(deps: AppDeps): Middleware {
  const auth = { keys: deps.keys, issuer: deps.env.BASE_URL, fork: () => deps.orm.em.fork() };
  const authenticated = authMiddleware(auth, { role: 'viewer' });
  const anonymousToo = authMiddleware(auth, { role: 'viewer', anonymousToo: true });
  const signed: SignedCards = new Map();
  const find = (actor: Actor, id: string): Promise<A2AAgent> => findA2AAgent(deps.orm.em.fork(), actor, id);
  const pass = async (): Promise<void> => {};

  const card = async (ctx: Context, agentId: string): Promise<void> => {
    onlyGet(ctx);
    await (deps.env.PUBLIC_AGENT_CARDS ? anonymousToo : authenticated)(ctx, pass);
    await sendCard(ctx, deps, await find(ctx.state['actor'], agentId), signed);
  };

  return async (ctx, next) => {
    const [, agentId, rest = ''] = BASE.exec(ctx.path) ?? [];
    if (agentId === undefined) {
      const defaultAgent = deps.env.A2A_DEFAULT_AGENT;
      if (!DEFAULT_CARD.test(ctx.path) || defaultAgent === undefined) return next();
      ctx.state['route'] = '/.well-known/agent-card.json';
      onlyGet(ctx);
      // Discovery needs no token: whoever configures a default agent publishes its card.
      await sendCard(ctx, deps, await find(anonymous, defaultAgent), signed);
      return undefined;
    }
    // Its methods are in the bodies, and one label is enough.
    ctx.state['route'] = '/a2a/{agent_id}';
    if (CARD.test(rest)) return card(ctx, agentId);
    const rpc = rest === '' || rest === '/';
    try {
      await authenticated(ctx, pass);
      ctx.set(await countRequest(() => deps.orm.em.fork(), ctx.state['actor'], deps.env.RATE_LIMIT_PER_MINUTE));
      await dispatch(ctx, deps, await find(ctx.state['actor'], agentId), rest, rpc);
    } catch (error) {
      refuse(ctx, error, rpc, rest);
    }
    return undefined;
  };
}

async function dispatch(ctx: Context, deps: AppDeps, target: A2AAgent, rest: string, rpc: boolean): Promise<void> {
  const makeCall = (version: WireVersion): A2ACall => callOf(ctx, deps, target, version);
  if (rpc) {
    if (ctx.method !== 'POST') throw new AppError('method_not_allowed', 'method_not_allowed', 'This path takes POST.', { headers: { Allow: 'POST' } });
    await answerJsonRpc(ctx, await readText(ctx, ['application/json']), makeCall);
    return;
  }
  if (rest.startsWith('/v1/')) {
    if ((requestedVersion(ctx) ?? '0.3') !== '0.3') throw new AppError('bad_request', 'version_mismatch', 'Paths below /v1 are A2A 0.3: leave A2A-Version out, or send 0.3 (1.0 is without /v1).');
    const match = matchLegacyRest(ctx.method, rest);
    const text = ctx.method === 'POST' ? await readText(ctx, ['application/json', 'application/a2a+json']) : '';
    await answerLegacyRest(ctx, match, text === '' ? {} : parseJson(text), makeCall('0.3'));
    return;
  }
  if (await answerDeliveries(ctx, deps, target, rest)) return;
  const match = matchRest(ctx.method, rest);
  if (requestedVersion(ctx) !== '1.0') throw new AppError('bad_request', 'version_needed', 'This is a path of A2A 1.0: send the header A2A-Version: 1.0 (0.3 is below /v1).');
  const text = ctx.method === 'POST' ? await readText(ctx, ['application/json', 'application/a2a+json']) : '';
  await answerRest(ctx, match, text === '' ? {} : parseJson(text), makeCall('1.0'));
}

/** 413, 415, 400. An empty body needs no type. */
async function readText(ctx: Context, consumes: string[]): Promise<string> {
  const raw = await readRawBody(ctx, A2A_BODY_LIMIT_BYTES);
  if (raw.bytes.length > 0 || raw.type !== '') checkMediaType(raw, consumes);
  return decodeText(raw.bytes);
}

function callOf(ctx: Context, deps: AppDeps, target: A2AAgent, version: WireVersion): A2ACall {
  const gone = new AbortController();
  ctx.res.once('close', () => gone.abort());
  const extensions = extensionsNamed(ctx.get('a2a-extensions') || ctx.get('x-a2a-extensions'));
  const active = activeExtensions({ extensions, target });
  if (active.length > 0) ctx.set('A2A-Extensions', active.join(', '));
  return {
    deps,
    actor: ctx.state['actor'],
    actorNow: async () => {
      const claims = claimsSchema.safeParse(ctx.state['claims']);
      return claims.success ? actorOfClaims(deps.orm.em.fork(), claims.data) : null;
    },
    target,
    version,
    extensions,
    lastEventId: ctx.get('last-event-id'),
    requestId: ctx.state['requestId'],
    signal: gone.signal,
    lastItem: { id: null },
  };
}

/** What comes before dispatch, in the binding's shape. */
function refuse(ctx: Context, error: unknown, rpc: boolean, rest: string): void {
  if (!(error instanceof AppError || error instanceof A2AError)) throw error;
  for (const [name, value] of Object.entries(error instanceof AppError ? (error.headers ?? {}) : {})) ctx.set(name, value);
  if (rpc) {
    sendRpcError(ctx, jsonRpcStatus(error), null, jsonRpcError(error, '1.0'));
    return;
  }
  const legacy = rest.startsWith('/v1/');
  const { status, body } = restError(error, legacy ? '0.3' : '1.0');
  if (legacy) sendLegacy(ctx, status, body);
  else sendRest(ctx, status, body);
}

function onlyGet(ctx: Context): void {
  if (ctx.method !== 'GET' && ctx.method !== 'HEAD') throw new AppError('method_not_allowed', 'method_not_allowed', 'This path takes GET.', { headers: { Allow: 'GET, HEAD' } });
}

