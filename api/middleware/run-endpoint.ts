/** Carries out one endpoint: body, transaction, idempotency, handler, answer. Authentication came before. */
import type { Context, Middleware } from 'koa';

import type { Logger } from '../../config/logger.ts';
import type { EntityManager } from '../../db/orm.ts';
import { anonymous, type Actor } from '../../domain/auth/actor.ts';
import { AppError } from '../../domain/errors.ts';
import type { Endpoint, EndpointContext, EndpointResponse } from '../endpoint.ts';
import { consumedTypes, isMedia } from '../endpoint.ts';
import { bodyLimitBytes, checkMediaType, decodeText, parseJson, readRawBody, type RawBody } from './body.ts';
import { checkResponse, parseBody, parseParams, parseQuery } from './guard.ts';
import { inTransaction } from '../transaction.ts';
import { claimKey, idempotencyScope, storeAnswer } from './idempotency.ts';

export interface RunDeps {
  fork: () => EntityManager;
  logger: Logger;
  baseUrl: string;
  /** A keyed hash: bodies may hold passwords, which a plain hash would give away. */
  fingerprint: (text: string) => string;
  /** Answers off their schema are a 500 (development, tests) instead of a line in the log. */
  strictResponses: boolean;
}

/** The last middleware of an endpoint's route. */
export function runEndpoint(deps: RunDeps, endpoint: Endpoint): Middleware {
  const idempotent = endpoint.idempotent ?? endpoint.method === 'POST';
  const transactional = endpoint.transaction ?? endpoint.method !== 'GET';
  return async (ctx) => {
    checkAccept(ctx, endpoint);
    const takesBody = endpoint.method !== 'GET' && endpoint.method !== 'DELETE' && !endpoint.rawBody;
    // Read before the transaction opens, so that a slow client holds no connection; what is wrong with it is told in its turn.
    const read = takesBody ? await readLater(ctx, endpoint) : null;
    const actor: Actor = ctx.state['actor'];
    const scope = idempotent && read && !(read instanceof AppError) && actor !== anonymous ? idempotencyScope(ctx, actor, read.bytes, deps.fingerprint) : null;

    const attempt = async (em: EntityManager) => {
      const actions: AfterCommit[] = [];
      const c = makeContext(deps, endpoint, ctx, em, read, actions);
      const first = scope ? await claimKey(em, scope) : null;
      if (first) {
        return { response: first, actions, replayed: true, c };
      }
      const response = await endpoint.handler(c);
      readAll(c);
      checkOutgoing(deps, endpoint, response, ctx);
      if (scope) {
        await storeAnswer(em, scope, response);
      }
      return { response, actions, replayed: false, c };
    };
    const done = transactional ? await inTransaction(deps.fork, attempt) : await attempt(deps.fork());

    let { response } = done;
    if (done.replayed && endpoint.onReplay && /\bwait\b/i.test(ctx.get('prefer'))) {
      const newer = await endpoint.onReplay({ ...contextParts(done.c), em: deps.fork() } as EndpointContext<never>, response);
      response = replaced(response, newer);
    }
    for (const action of done.actions) {
      try {
        response = replaced(response, await action());
      } catch (error) {
        deps.logger.error({ err: error, request_id: ctx.state['requestId'], operation: endpoint.operationId }, 'failed after the commit');
      }
    }
    if (response !== done.response) {
      checkOutgoing(deps, endpoint, response, ctx);
    }
    send(ctx, response);
  };
}

/** A later answer keeps the headers of the first: `Location` stays true. */
function replaced(first: EndpointResponse, newer: EndpointResponse | void): EndpointResponse {
  return newer ? { ...newer, headers: { ...first.headers, ...newer.headers } } : first;
}

type AfterCommit = () => Promise<EndpointResponse | void>;

async function readLater(ctx: Context, endpoint: Endpoint): Promise<RawBody | AppError> {
  try {
    return await readRawBody(ctx, endpoint.bodyLimitBytes ?? bodyLimitBytes);
  } catch (error) {
    if (error instanceof AppError) {
      return error;
    }
    throw new AppError('bad_request', 'incomplete_body', 'The connection ended before the body did.');
  }
}

function makeContext(
  deps: RunDeps, endpoint: Endpoint, ctx: Context, em: EntityManager, read: RawBody | AppError | null, actions: AfterCommit[],
): EndpointContext<never, never, never> {
  const syntax = once(() => {
    parsedQuery();
    return read === null ? undefined : parseSyntax(read, endpoint);
  });
  const parsedQuery = once(() => parseQuery(endpoint, ctx.query));
  const parsedBody = once(() => (read === null ? undefined : parseBody(endpoint, syntax(), mediaTypeOf(read, endpoint))));
  // `never`: the endpoint's own handler is the one that these schemas belong to.
  return {
    em,
    actor: ctx.state['actor'],
    params: parseParams(endpoint, ctx['params']),
    get query() {
      return parsedQuery();
    },
    get body() {
      return parsedBody();
    },
    checkSyntax: () => void syntax(),
    ctx,
    requestId: ctx.state['requestId'],
    baseUrl: deps.baseUrl,
    afterCommit: (action: AfterCommit) => void actions.push(action),
  } as EndpointContext<never, never, never>;
}

/** The parts that stay readable when query and body were never checked. */
function contextParts(c: EndpointContext<never, never, never>) {
  const { actor, params, ctx, requestId, baseUrl } = c;
  return { actor, params, ctx, requestId, baseUrl, query: undefined, body: undefined, checkSyntax: () => {}, afterCommit: () => {} };
}

function readAll(c: EndpointContext): void {
  void c.query;
  void c.body;
}

/** Parsed JSON, or text of other media types. An empty body is `{}`. */
function parseSyntax(read: RawBody | AppError, endpoint: Endpoint): unknown {
  if (read instanceof AppError) {
    throw read;
  }
  if (read.bytes.length === 0) {
    return {};
  }
  checkMediaType(read, consumedTypes(endpoint));
  const text = decodeText(read.bytes);
  if (read.type === 'application/x-www-form-urlencoded') {
    return formFields(text);
  }
  return /\bjson$/.test(read.type) ? parseJson(text) : text;
}

/** No body counts as an empty one of the type that it was sent as, else of JSON. */
function mediaTypeOf(read: RawBody | AppError, endpoint: Endpoint): string {
  return read instanceof AppError || !consumedTypes(endpoint).includes(read.type) ? 'application/json' : read.type;
}

function formFields(text: string): Record<string, string | string[]> {
  const fields = new URLSearchParams(text);
  return Object.fromEntries([...new Set(fields.keys())].map((name) => {
    const all = fields.getAll(name);
    return [name, all.length === 1 ? (all[0] ?? '') : all];
  }));
}

function once<T>(compute: () => T): () => T {
  let done: { value: T } | null = null;
  return () => (done ??= { value: compute() }).value;
}

function checkAccept(ctx: Context, endpoint: Endpoint): void {
  const types = Object.values(endpoint.responses).flatMap((declared) =>
    declared === null ? [] : isMedia(declared) ? Object.keys(declared.media) : ['application/json']);
  if (types.length > 0 && !types.includes('*/*') && !ctx.accepts([...types, 'application/problem+json'])) {
    throw new AppError('not_acceptable', 'not_acceptable', `This is served as ${[...new Set(types)].join(' or ')}.`);
  }
}

function checkOutgoing(deps: RunDeps, endpoint: Endpoint, response: EndpointResponse, ctx: Context): void {
  const wrong = checkResponse(endpoint, response, deps.strictResponses);
  if (wrong === null) {
    return;
  }
  const message = `the answer of ${endpoint.operationId} is off its declaration (${response.status}): ${wrong}`;
  if (deps.strictResponses) {
    throw new Error(message);
  }
  deps.logger.error({ request_id: ctx.state['requestId'], operation: endpoint.operationId }, message);
}

function send(ctx: Context, response: EndpointResponse): void {
  ctx.status = response.status;
  for (const [name, value] of Object.entries(response.headers ?? {})) {
    ctx.set(name, value);
  }
  if (response.body === undefined) {
    ctx.body = null;
    ctx.status = response.status;
    return;
  }
  const type = response.type ?? 'application/json';
  ctx.body = type.endsWith('json') && !isContent(response.body) ? JSON.stringify(response.body) : response.body;
  ctx.set('Content-Type', type.startsWith('text/') && !type.includes('charset') ? `${type}; charset=utf-8` : type);
}

/** A stream or bytes: a file that is JSON goes out as it is. */
function isContent(body: unknown): boolean {
  return Buffer.isBuffer(body) || (typeof body === 'object' && body !== null && 'pipe' in body && typeof body.pipe === 'function');
}
