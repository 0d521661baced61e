/**
 * The MCP server at `/mcp` (Streamable HTTP). The official SDK serves each request with a server of its own,
 * so no copy of this process keeps anything of a client (docs/mcp-and-openai.md#mcp, docs/adr/0046).
 */
import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import {
  createMcpHandler,
  isLegacyRequest,
  WebStandardStreamableHTTPServerTransport,
  type JSONRPCMessage,
} from '@modelcontextprotocol/server';
import type { Context, Middleware } from 'koa';
import { v7 as uuidv7 } from 'uuid';

import { isRecord } from '../../contracts/is-record.ts';
import { isUuid } from '../../contracts/uuid.ts';
import { own } from '../../language/definition/problems.ts';
import { MCP_PATH } from '../../domain/auth/access-token.ts';
import type { Actor } from '../../domain/auth/actor.ts';
import { AppError, badRequest, forbidden } from '../../domain/errors.ts';
import { callingRunByHeader } from '../../domain/runs/calling-run.ts';
import { originOf } from '../audit-trail.ts';
import type { AppDeps } from '../deps.ts';
import { cancelRequest } from '../protocol-calls/start-run.ts';
import { authDeps } from '../middleware/auth-deps.ts';
import { authMiddleware, RESOURCE_METADATA_PATH } from '../middleware/auth.ts';
import { checkMediaType, decodeText, parseJson, readRawBody } from '../middleware/body.ts';
import { problemOf, toAppError } from '../middleware/errors.ts';
import { idempotencyKeyOf } from '../middleware/idempotency.ts';
import { countRequest } from '../middleware/rate-limit.ts';
import { hasScope, requireScope } from '../scopes.ts';
import { openerOf } from '../streams/live-sessions.ts';
import type { McpCall } from './call.ts';
import { isKnownHost, knownHosts } from './known-hosts.ts';
import { eventId, resumeCall } from './resume.ts';
import { createMcpServer } from './server.ts';

/** Files come in as base64. */
const BODY_LIMIT_BYTES = 16 * 1024 * 1024;
/** Of all but the content of an uploaded file, as in bodies of other requests. */
const MESSAGE_LIMIT_BYTES = 2 * 1024 * 1024;
const KEEP_ALIVE_MS = 5_000;
/** Of ids of requests and tokens of progress. */
const MAX_NAME_LENGTH = 255;
const SESSION_HEADER = 'Mcp-Session-Id';

export function mcpMiddleware(deps: AppDeps): Middleware {
  const { BASE_URL: issuer } = deps.env;
  const authenticated = authMiddleware(
    {
      ...authDeps(deps),
      resource: {
        audience: `${issuer}${MCP_PATH}`,
        metadataPath: `${RESOURCE_METADATA_PATH}${MCP_PATH}`,
      },
    },
    { role: 'viewer', scope: 'none' },
  );
  const origins = new Set([issuer, ...deps.env.CORS_ORIGINS].map((url) => new URL(url).origin));
  const hosts = knownHosts(deps.env);
  const serve = async (ctx: Context): Promise<void> => {
    ctx.state['route'] = MCP_PATH;
    try {
      // The specification demands both, against pages that reach a local server by DNS rebinding.
      if (!isKnownHost(hosts, ctx.host))
        throw forbidden('The MCP server is not known by this host: see ALLOWED_HOSTS.', 'foreign_host');
      const origin = ctx.get('origin');
      if (origin !== '' && !origins.has(origin))
        throw forbidden('Pages of this origin may not use the MCP server.', 'foreign_origin');
      await authenticated(ctx, async () => {});
      const fork = () => deps.orm.em.fork();
      await deps.requestsAtOnce.count(ctx, async () => {
        ctx.set(await countRequest(fork, ctx.state['actor'], deps.env.RATE_LIMIT_PER_MINUTE));
        await dispatch(ctx, deps);
      });
    } catch (error) {
      refuse(ctx, deps, error);
    }
  };
  return (ctx, next) => (ctx.path === MCP_PATH ? serve(ctx) : next());
}

async function dispatch(ctx: Context, deps: AppDeps): Promise<void> {
  const sessionId = sessionOf(ctx);
  const called = await callOf(ctx, deps, sessionId);
  const lastEventId = ctx.get('last-event-id');
  if (ctx.method === 'GET' && lastEventId !== '') {
    // As the call needed.
    requireScope(called.actor, 'runs:write');
    return resumeCall(ctx, called, lastEventId);
  }
  if (ctx.method === 'DELETE') {
    // There is nothing to forget: the session was only a name.
    ctx.status = 204;
    return undefined;
  }
  if (ctx.method !== 'POST')
    throw new AppError('method_not_allowed', 'method_not_allowed', 'Send messages by POST.', {
      headers: { Allow: 'POST, DELETE' },
    });
  const raw = await readRawBody(ctx, BODY_LIMIT_BYTES, { until: 'read' });
  // The caller as of the end of the body.
  const call: McpCall = { ...called, actor: ctx.state['actor'] };
  checkMediaType(raw, ['application/json']);
  const message = raw.turn.measure(() => parseJson(decodeText(raw.bytes)));
  if (Array.isArray(message))
    throw badRequest('batch', 'Send one message a request: newer versions of MCP have no batches.');
  checkNames(message);
  checkSize(message, raw.bytes.length);
  await cancelByMessage(call, message);
  // The SDK checks the message before it calls us, and then all arguments are looked through.
  const hasRead = raw.turn.begin();
  try {
    return await answer(ctx, { ...call, hasRead }, message);
  } finally {
    // For messages that the SDK answers by itself, in the same turn of the event loop.
    setImmediate(hasRead);
  }
}

/** @throws 413 for a message that is large without the content of an upload */
function checkSize(message: unknown, bytes: number): void {
  if (bytes <= MESSAGE_LIMIT_BYTES) return;
  const params = own(message, 'params');
  const content = own(own(params, 'arguments'), 'content_base64');
  const isUpload = own(params, 'name') === 'upload_file' && typeof content === 'string';
  if (bytes - (isUpload ? content.length : 0) > MESSAGE_LIMIT_BYTES)
    throw new AppError(
      'too_large',
      'body_too_large',
      'A message has at most 2 MiB, without the content of a file that is uploaded.',
    );
}

/** Ids are kept, and each report of progress repeats its token. @throws 400 for long ones */
function checkNames(message: unknown): void {
  if (!isRecord(message)) return;
  const { id, params } = message;
  const meta = isRecord(params) ? params['_meta'] : undefined;
  const token = isRecord(meta) ? meta['progressToken'] : undefined;
  for (const [name, value] of Object.entries({ id, progressToken: token }))
    if (typeof value === 'string' && value.length > MAX_NAME_LENGTH)
      throw badRequest('too_long', `${name} has more than ${MAX_NAME_LENGTH} characters.`);
}

async function answer(ctx: Context, call: McpCall, message: unknown): Promise<void> {
  const request = new Request(`${call.deps.env.BASE_URL}${MCP_PATH}`, {
    method: 'POST',
    headers: headersOf(ctx),
    signal: call.gone,
  });
  if (!(await isLegacyRequest(request, message))) {
    const modern = createMcpHandler(
      () => createMcpServer({ ...call, sessionId: null, cancelsOnLeave: true }),
      {
        legacy: 'reject',
        keepAliveMs: KEEP_ALIVE_MS,
        onerror: (error) => call.deps.logger.debug({ err: error }, 'an MCP request was refused'),
      },
    );
    return send(ctx, await modern.fetch(request, { parsedBody: message }));
  }
  const server = createMcpServer(call);
  const transport = new WebStandardStreamableHTTPServerTransport({
    keepAliveMs: KEEP_ALIVE_MS,
    eventStore: {
      // The run's log is the store: `resumeCall` reads it.
      storeEvent: async (_stream: string, _message: JSONRPCMessage) => eventId(call),
      replayEventsAfter: async () => Promise.reject(new Error('streams are resumed elsewhere')),
    },
  });
  await server.connect(transport);
  ctx.res.once('close', () => void server.close());
  const response = await transport.handleRequest(request, { parsedBody: message });
  if (isRecord(message) && message['method'] === 'initialize' && response.ok)
    ctx.set(SESSION_HEADER, uuidv7());
  return send(ctx, response);
}

function send(ctx: Context, response: Response): void {
  ctx.status = response.status;
  for (const [name, value] of response.headers) if (name !== 'connection') ctx.set(name, value);
  if (response.body === null) {
    ctx.body = null;
    ctx.status = response.status;
    return;
  }
  // Both are the streams of Node.js; the types of the DOM and of node:stream/web differ in name only.
  ctx.body = Readable.fromWeb(response.body as ReadableStream);
  if (ctx.response.is('text/event-stream')) ctx.flushHeaders();
}

const PASSED_ON = ['accept', 'content-type', 'mcp-protocol-version', 'mcp-method', 'mcp-name'];

function headersOf(ctx: Context): Headers {
  const headers = new Headers();
  for (const name of Object.keys(ctx.headers))
    if (PASSED_ON.includes(name) || name.startsWith('mcp-param-')) headers.set(name, ctx.get(name));
  return headers;
}

/** Only a name that keeps the requests of several clients of one user apart. @throws 404 if it is not ours */
function sessionOf(ctx: Context): string | null {
  const id = ctx.get(SESSION_HEADER);
  if (id === '') return null;
  if (!isUuid(id))
    throw new AppError('not_found', 'not_found', 'There is no such session: initialize again.');
  return id;
}

async function callOf(ctx: Context, deps: AppDeps, sessionId: string | null): Promise<McpCall> {
  const actor: Actor = ctx.state['actor'];
  const left = new AbortController();
  if (ctx.res.closed) left.abort();
  else
    ctx.res.once('close', () => {
      if (!ctx.res.writableFinished) left.abort();
    });
  return {
    id: uuidv7(),
    deps,
    actor,
    origin: originOf(ctx, 'mcp'),
    sessionId,
    callingRunId: await callingRunByHeader(deps.orm.em.fork(), ctx.get('Idempotency-Key')),
    idempotencyKey: idempotencyKeyOf(ctx),
    cancelsOnLeave: false,
    openSession: () => deps.sessions.openStream(openerOf(ctx)),
    gone: left.signal,
    isBehind: () => ctx.res.writableNeedDrain,
    hasRead: () => {},
    lastSeq: 0,
  };
}

/** `notifications/cancelled` names a request that any copy of this server may be answering. */
async function cancelByMessage(call: McpCall, message: unknown): Promise<void> {
  const { deps, sessionId } = call;
  if (sessionId === null || !isRecord(message) || message['method'] !== 'notifications/cancelled') return;
  // Such a caller has begun no run.
  if (!hasScope(call.actor, 'runs:write')) return;
  const { params } = message;
  const requestId = isRecord(params) ? params['requestId'] : undefined;
  if (typeof requestId !== 'string' && typeof requestId !== 'number') return;
  await cancelRequest(deps, call, { session_id: sessionId, request_id: JSON.stringify(requestId) });
}

const RPC_CODES: Partial<Record<string, number>> = {
  malformed_json: -32700,
  batch: -32600,
  too_long: -32600,
  body_too_large: -32600,
};

/** Before a message is understood, errors have no id (JSON-RPC 2.0 section 5). */
function refuse(ctx: Context, deps: AppDeps, error: unknown): void {
  if (ctx.headerSent) throw error;
  const known = toAppError(error);
  if (known === null || known.kind === 'unavailable')
    deps.logger.error({ err: error, request_id: ctx.state['requestId'] }, 'request failed');
  const { status, detail, code } = problemOf(ctx, known);
  ctx.status = status;
  ctx.set(known?.headers ?? {});
  ctx.body = JSON.stringify({
    jsonrpc: '2.0',
    id: null,
    error: { code: RPC_CODES[code] ?? -32000, message: detail, data: { code } },
  });
  ctx.set('Content-Type', 'application/json');
}
