/**
 * The A2A endpoints, below `/a2a/{agent_id}` and `/api/v1/a2a/{agent_id}`. Their shapes are A2A's, so they
 * are not declared as endpoints. Authentication, request ids, limits and visibility are the API's.
 */
import { A2AError } from '@a2a-js/sdk/errors';
import type { Context, Middleware } from 'koa';

import { anonymous, type Actor } from '../../domain/auth/actor.ts';
import { findA2AAgent, type A2AAgent } from '../../domain/a2a/agent.ts';
import type { WireVersion } from '../../contracts/a2a/objects.ts';
import { AppError } from '../../domain/errors.ts';
import { unmeasured, type Measure } from '../../domain/measure.ts';
import { originOf } from '../audit-trail.ts';
import type { AppDeps } from '../deps.ts';
import { authDeps } from '../middleware/auth-deps.ts';
import { authMiddleware } from '../middleware/auth.ts';
import { countRequest } from '../middleware/rate-limit.ts';
import { cutUnread } from '../streams/follow.ts';
import { openerOf } from '../streams/live-sessions.ts';
import { checkMediaType, decodeText, parseJson, readRawBody, type RawBody } from '../middleware/body.ts';
import { activeExtensions, extensionsNamed, type A2ACall } from './call.ts';
import { sendCard, type SignedCards } from './card-routes.ts';
import { answerDeliveries } from './deliveries.ts';
import { jsonRpcError, jsonRpcStatus, restError } from './errors.ts';
import { answerJsonRpc, sendRpcError } from './json-rpc.ts';
import { A2A_BODY_LIMIT_BYTES, A2A_JSON_BOUNDS } from './limits.ts';
import { answerLegacyRest, matchLegacyRest, sendLegacy } from './rest-legacy.ts';
import { answerRest, matchRest, sendRest } from './rest.ts';
import { requestedVersion } from './version.ts';

const BASE = /^(?:\/api\/v1)?\/a2a\/([^/]+)(\/.*)?$/;
const CARD = /^\/\.well-known\/agent(?:-card)?\.json$/;
const DEFAULT_CARD = /^(?:\/api\/v1)?\/\.well-known\/agent-card\.json$/;

export function a2aMiddleware(deps: AppDeps): Middleware {
  const auth = authDeps(deps);
  const authenticated = authMiddleware(auth, { role: 'viewer', scope: 'none' });
  const readsAgents = authMiddleware(auth, { role: 'viewer', scope: 'agents:read' });
  const anonymousToo = authMiddleware(auth, { role: 'viewer', scope: 'agents:read', anonymousToo: true });
  const signed: SignedCards = new Map();
  const find = (actor: Actor, id: string): Promise<A2AAgent> => findA2AAgent(deps.orm.em.fork(), actor, id);
  const noNext = async (): Promise<void> => {};

  const card = async (ctx: Context, agentId: string): Promise<void> => {
    onlyGet(ctx);
    await (deps.env.PUBLIC_AGENT_CARDS ? anonymousToo : readsAgents)(ctx, noNext);
    await sendCard(ctx, deps, await find(ctx.state['actor'], agentId), signed);
  };

  const defaultCard = async (ctx: Context, agentId: string): Promise<void> => {
    ctx.state['route'] = '/.well-known/agent-card.json';
    onlyGet(ctx);
    ctx.set(await deps.addressLimit.count(ctx.ip));
    // Discovery needs no token: configuring a default agent publishes its card.
    await sendCard(ctx, deps, await find(anonymous, agentId), signed);
  };

  const serve = async (ctx: Context, agentId: string, rest: string): Promise<void> => {
    // One metrics label for all methods, which are in the bodies.
    ctx.state['route'] = '/a2a/{agent_id}';
    if (CARD.test(rest)) return card(ctx, agentId);
    const rpc = rest === '' || rest === '/';
    try {
      await authenticated(ctx, noNext);
      await deps.requestsAtOnce.count(ctx, async () => {
        const { actor } = ctx.state;
        ctx.set(await countRequest(() => deps.orm.em.fork(), actor, deps.env.RATE_LIMIT_PER_MINUTE));
        const target = await find(actor, agentId);
        const targetNow = async (): Promise<A2AAgent> =>
          ctx.state['actor'] === actor ? target : find(ctx.state['actor'], agentId);
        await dispatch(ctx, deps, { target, targetNow }, rest, rpc);
      });
    } catch (error) {
      refuse(ctx, error, rpc, rest);
    }
    return undefined;
  };

  return (ctx, next) => {
    const [, agentId, rest = ''] = BASE.exec(ctx.path) ?? [];
    if (agentId !== undefined) return serve(ctx, agentId, rest);
    const defaultAgent = deps.env.A2A_DEFAULT_AGENT;
    return DEFAULT_CARD.test(ctx.path) && defaultAgent !== undefined
      ? defaultCard(ctx, defaultAgent)
      : next();
  };
}

/** The agent of a request, and whether its caller still sees it once the body is there. */
interface Target {
  target: A2AAgent;
  /** @throws 404 */
  targetNow: () => Promise<A2AAgent>;
}

async function dispatch(
  ctx: Context,
  deps: AppDeps,
  { target, targetNow }: Target,
  rest: string,
  rpc: boolean,
): Promise<void> {
  if (rpc) {
    if (ctx.method !== 'POST')
      throw new AppError('method_not_allowed', 'method_not_allowed', 'This path supports POST.', {
        headers: { Allow: 'POST' },
      });
    const raw = await readBody(ctx, ['application/json']);
    await answerJsonRpc(ctx, raw, await calling(ctx, deps, targetNow));
    return;
  }
  if (rest.startsWith('/v1/')) {
    if ((requestedVersion(ctx) ?? '0.3') !== '0.3')
      throw new AppError(
        'bad_request',
        'version_mismatch',
        'Paths below /v1 are A2A 0.3: omit A2A-Version, or send 0.3 (1.0 has no /v1).',
      );
    const match = matchLegacyRest(ctx.method, rest);
    const { body, measure } = await readRestBody(ctx);
    const makeCall = await calling(ctx, deps, targetNow);
    await measure(() => answerLegacyRest(ctx, match, body, makeCall('0.3')));
    return;
  }
  if (await answerDeliveries(ctx, deps, target, rest)) return;
  const match = matchRest(ctx.method, rest);
  if (requestedVersion(ctx) !== '1.0')
    throw new AppError(
      'bad_request',
      'version_needed',
      'This path is A2A 1.0: send the header A2A-Version: 1.0 (0.3 is below /v1).',
    );
  const { body, measure } = await readRestBody(ctx);
  const makeCall = await calling(ctx, deps, targetNow);
  await measure(() => answerRest(ctx, match, body, makeCall('1.0')));
}

/** Makes the call of a request whose body is there. */
async function calling(
  ctx: Context,
  deps: AppDeps,
  targetNow: Target['targetNow'],
): Promise<(version: WireVersion) => A2ACall> {
  const target = await targetNow();
  return (version) => callOf(ctx, deps, target, version);
}

/**
 * `{}` if there is no body. What is done with it until something is awaited, as by the codecs, is to be
 * measured. @throws 413, 415, 400, 429
 */
async function readRestBody(ctx: Context): Promise<{ body: unknown; measure: Measure }> {
  if (ctx.method !== 'POST') return { body: {}, measure: unmeasured };
  const raw = await readBody(ctx, ['application/json', 'application/a2a+json']);
  const { measure } = raw.turn;
  const body =
    raw.bytes.length === 0 ? {} : measure(() => parseJson(decodeText(raw.bytes), false, A2A_JSON_BOUNDS));
  return { body, measure };
}

/** An empty body needs no media type. @throws 413, 415, 429 */
async function readBody(ctx: Context, consumes: string[]): Promise<RawBody> {
  // The response may be a stream that lasts for hours, so the reservation ends with the read.
  const raw = await readRawBody(ctx, A2A_BODY_LIMIT_BYTES, { until: 'read' });
  if (raw.bytes.length > 0 || raw.type !== '') checkMediaType(raw, consumes);
  return raw;
}

function callOf(ctx: Context, deps: AppDeps, target: A2AAgent, version: WireVersion): A2ACall {
  const disconnected = new AbortController();
  if (ctx.res.closed) disconnected.abort();
  else ctx.res.once('close', () => disconnected.abort());
  const extensions = extensionsNamed(ctx.get('a2a-extensions') || ctx.get('x-a2a-extensions'));
  const active = activeExtensions({ extensions, target });
  if (active.length > 0) ctx.set('A2A-Extensions', active.join(', '));
  return {
    deps,
    actor: ctx.state['actor'],
    origin: originOf(ctx, 'a2a'),
    async openSession(kind) {
      if (kind === 'wait') return deps.sessions.openWait(openerOf(ctx));
      const session = await deps.sessions.openStream(openerOf(ctx));
      cutUnread(ctx, session);
      return session;
    },
    target,
    version,
    extensions,
    lastEventId: ctx.get('last-event-id'),
    requestId: ctx.state['requestId'],
    signal: disconnected.signal,
    lastItem: { id: null },
  };
}

/** Reports an error from before dispatch in the binding's shape. */
function refuse(ctx: Context, error: unknown, rpc: boolean, rest: string): void {
  if (!(error instanceof AppError || error instanceof A2AError)) throw error;
  for (const [name, value] of Object.entries(error instanceof AppError ? (error.headers ?? {}) : {}))
    ctx.set(name, value);
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
  if (ctx.method !== 'GET' && ctx.method !== 'HEAD')
    throw new AppError('method_not_allowed', 'method_not_allowed', 'This path supports GET.', {
      headers: { Allow: 'GET, HEAD' },
    });
}
