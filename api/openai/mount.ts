/**
 * The OpenAI-compatible API, below `/v1`: chat programs and SDKs talk to agents as they do to models. Shapes
 * and errors are OpenAI's, so its paths are not declared as endpoints (docs/mcp-and-openai.md#openai).
 */
import type { Context, Middleware } from 'koa';

import { hasRole, type Actor } from '../../domain/auth/actor.ts';
import { AppError, forbidden, notFound } from '../../domain/errors.ts';
import type { AppDeps } from '../deps.ts';
import { authDeps } from '../middleware/auth-deps.ts';
import { authMiddleware } from '../middleware/auth.ts';
import { checkMediaType, decodeText, parseJson, readRawBody } from '../middleware/body.ts';
import { toAppError } from '../middleware/errors.ts';
import { idempotencyKeyOf } from '../middleware/idempotency.ts';
import { countRequest } from '../middleware/rate-limit.ts';
import { digestOf } from '../protocol-calls/start-run.ts';
import { requireScope } from '../scopes.ts';
import { answerChat } from './chat.ts';
import { openAiError, sendOpenAiError } from './errors.ts';
import { listModels, readModel } from './models.ts';
import { parseChatRequest } from './request.ts';

const BASE = /^\/v1(\/.*)?$/;
const MODEL = /^\/models\/(.+)$/;
/** Images and sound are in the messages, in base64. */
const BODY_LIMIT_BYTES = 16 * 1024 * 1024;

export function openAiMiddleware(deps: AppDeps): Middleware {
  const authenticated = authMiddleware(authDeps(deps), { role: 'viewer', scope: 'none' });
  const serve = async (ctx: Context, rest: string): Promise<void> => {
    // One metrics label for all models.
    ctx.state['route'] = MODEL.test(rest) ? '/v1/models/{id}' : `/v1${KNOWN.has(rest) ? rest : ''}`;
    try {
      await authenticated(ctx, async () => {});
      const fork = () => deps.orm.em.fork();
      await deps.requestsAtOnce.count(ctx, async () => {
        ctx.set(await countRequest(fork, ctx.state['actor'], deps.env.RATE_LIMIT_PER_MINUTE));
        await dispatch(ctx, deps, rest);
      });
    } catch (error) {
      refuse(ctx, deps, error);
    }
  };
  return (ctx, next) => {
    const [, rest] = BASE.exec(ctx.path) ?? [];
    return rest === undefined ? next() : serve(ctx, rest);
  };
}

const KNOWN: ReadonlySet<string> = new Set(['/models', '/chat/completions']);

async function dispatch(ctx: Context, deps: AppDeps, rest: string): Promise<void> {
  const model = MODEL.exec(rest)?.[1];
  if (rest === '/models' || model !== undefined) {
    only(ctx, 'GET');
    requireScope(ctx.state['actor'], 'agents:read');
    const em = deps.orm.em.fork();
    const body =
      model === undefined
        ? { object: 'list', data: await listModels(em, ctx.state['actor']) }
        : await readModel(em, ctx.state['actor'], decoded(model));
    ctx.status = 200;
    ctx.set('Content-Type', 'application/json');
    ctx.body = JSON.stringify(body);
    return;
  }
  if (rest !== '/chat/completions') throw notFound('path');
  only(ctx, 'POST');
  checkMayChat(ctx.state['actor']);
  const raw = await readRawBody(ctx, BODY_LIMIT_BYTES, { until: 'read' });
  // Of the caller as of the end of the body.
  checkMayChat(ctx.state['actor']);
  checkMediaType(raw, ['application/json']);
  const body = raw.turn.measure(() => parseJson(decodeText(raw.bytes)));
  const request = raw.turn.measure(() => parseChatRequest(body));
  const key = idempotencyKeyOf(ctx);
  await answerChat(ctx, deps, request, {
    idempotency_key: key,
    request_digest: key === null ? null : raw.turn.measure(() => digestOf(raw.bytes)),
  });
}

/** @throws 403 */
function checkMayChat(actor: Actor): void {
  if (!hasRole(actor, 'builder')) throw forbidden('This requires the role builder.', 'role_required');
  requireScope(actor, 'runs:write');
}

function only(ctx: Context, method: string): void {
  if (ctx.method === method || (method === 'GET' && ctx.method === 'HEAD')) return;
  throw new AppError('method_not_allowed', 'method_not_allowed', `This path supports ${method}.`, {
    headers: { Allow: method },
  });
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function refuse(ctx: Context, deps: AppDeps, error: unknown): void {
  if (ctx.headerSent) throw error;
  const known = toAppError(error);
  if (known === null || known.kind === 'unavailable')
    deps.logger.error({ err: error, request_id: ctx.state['requestId'] }, 'request failed');
  sendOpenAiError(ctx, openAiError(ctx, known), known?.headers ?? {});
}
