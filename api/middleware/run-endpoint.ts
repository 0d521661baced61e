/** Executes one endpoint after authentication: body, transaction, idempotency, handler, response. */
import type { Context, Middleware } from 'koa';

import type { Logger } from '../../config/logger.ts';
import type { EntityManager } from '../../db/orm.ts';
import { anonymous, type Actor } from '../../domain/auth/actor.ts';
import { AppError, keepRefusal, type Checked } from '../../domain/errors.ts';
import { unmeasured, type Measure } from '../../domain/measure.ts';
import {
  consumedTypes,
  isMedia,
  type Endpoint,
  type EndpointContext,
  type EndpointResponse,
  type KeyedRequest,
} from '../endpoint.ts';
import {
  BODY_LIMIT_BYTES,
  checkMediaType,
  decodeText,
  isYaml,
  parseJson,
  readRawBody,
  type RawBody,
} from './body.ts';
import { formFields } from './form-fields.ts';
import { responseProblem, parseBody, parseParams, parseQuery } from './guard.ts';
import { identifyAgain } from './identify-again.ts';
import type { KnownNames } from '../known-names.ts';
import { personNames, type Naming } from '../person-names.ts';
import { inTransaction, unlessRefused, unlessRolledBack } from '../transaction.ts';
import { EndpointTrail } from '../audit-trail.ts';
import { readYamlBody, withPlaces, type YamlBody } from '../yaml-body.ts';
import {
  claimKey,
  idempotencyScope,
  keyedAnswer,
  storeAnswer,
  type IdempotencyScope,
} from './idempotency.ts';

export interface RunDeps {
  fork: () => EntityManager;
  logger: Logger;
  baseUrl: string;
  /** A keyed hash of a request body. A plain hash could reveal passwords in bodies. */
  fingerprint: (text: string) => string;
  /**
   * In development and tests, a response that violates its schema becomes a 500. Otherwise none is checked.
   */
  strictResponses: boolean;
  knownNames: KnownNames;
}

/** The last middleware of an endpoint's route. */
export function runEndpoint(deps: RunDeps, endpoint: Endpoint): Middleware {
  const idempotent = endpoint.idempotent ?? endpoint.method === 'POST';
  const transactional = endpoint.transaction ?? endpoint.method !== 'GET';
  const naming = personNames(endpoint, deps.knownNames);
  const checkAccept = acceptance(endpoint);
  return async (ctx) => {
    const withNames = naming();
    checkAccept(ctx);
    const takesBody = endpoint.method !== 'GET' && endpoint.method !== 'DELETE' && !endpoint.rawBody;
    // Read before the transaction opens, so that a slow client holds no database connection. Errors in the
    // body are reported later, when the handler reads it.
    const read = takesBody ? await readBodyOrError(ctx, endpoint) : null;
    const actor: Actor = ctx.state['actor'];
    const scope =
      idempotent && read && !(read instanceof AppError) && actor !== anonymous
        ? idempotencyScope(ctx, actor, read.bytes, deps.fingerprint)
        : null;

    const request = readingOf(endpoint, ctx, read);
    const contextOf = (em: EntityManager, rest: ContextRest) =>
      makeContext(deps, endpoint, ctx, em, request, rest);
    const prepared = await prepare(endpoint, () =>
      contextOf(deps.fork(), { actions: [], audit: new EndpointTrail(endpoint, ctx) }),
    );
    const keyed = keyedRequest(deps, scope, withNames);
    const first = await actAtOnce(deps, endpoint, ctx, contextOf, keyed);
    if (first !== null) {
      send(ctx, await answerAtOnce(deps, endpoint, ctx, first, withNames));
      return;
    }
    const attempt = async (em: EntityManager) => {
      const actions: AfterCommit[] = [];
      const audit = new EndpointTrail(endpoint, ctx);
      const c = contextOf(em, { actions, audit, prepared, keyed });
      const stored = scope ? await claimKey(em, scope) : null;
      if (stored) return { response: stored, actions, replayed: true, c };
      const response = await withNames(em, await endpoint.handler(c));
      readAll(c);
      checkOutgoing(deps, endpoint, response);
      await audit.close(em, c, response, scope === null);
      if (scope) await storeAnswer(em, scope, response);
      return { response, actions, replayed: false, c };
    };
    const done = transactional ? await inTransaction(deps.fork, attempt) : await attempt(deps.fork());

    let { response } = done;
    if (done.replayed && endpoint.onReplay && /\bwait\b/i.test(ctx.get('prefer'))) {
      const newer = await endpoint.onReplay(
        { ...contextParts(done.c), em: deps.fork() } as EndpointContext<never>,
        response,
      );
      response = mergeResponse(response, newer);
    }
    response = await finish(deps, endpoint, ctx, { response, actions: done.actions });
    if (response !== done.response) {
      // What is committed is answered, with or without names.
      response = await withNames(deps.fork(), response).catch(() => response);
      checkOutgoing(deps, endpoint, response);
    }
    send(ctx, response);
  };
}

function keyedRequest(
  { fork }: RunDeps,
  scope: IdempotencyScope | null,
  withNames: Naming,
): KeyedRequest | null {
  return scope && { answer: async (response) => keyedAnswer(scope, await withNames(fork(), response)) };
}

/** What the endpoint has done in one statement; null: nothing. */
async function actAtOnce(
  deps: RunDeps,
  endpoint: Endpoint,
  ctx: Context,
  contextOf: (em: EntityManager, rest: ContextRest) => EndpointContext<never, never, never>,
  keyed: KeyedRequest | null,
): Promise<Done | null> {
  if (!endpoint.atOnce) return null;
  const actions: AfterCommit[] = [];
  const c = contextOf(deps.fork(), { actions, audit: new EndpointTrail(endpoint, ctx), keyed });
  const work = async () => (await endpoint.atOnce?.(c)) ?? null;
  const response = await unlessRolledBack(keyed === null ? work : () => unlessRefused(work));
  return response && { response, actions };
}

/** Reads the names of people while the work after the commit is under way. */
async function answerAtOnce(
  deps: RunDeps,
  endpoint: Endpoint,
  ctx: Context,
  first: Done,
  withNames: Naming,
): Promise<EndpointResponse> {
  const [response] = await Promise.all([
    finish(deps, endpoint, ctx, first),
    withNames(deps.fork(), first.response).catch(() => {}),
  ]);
  const answer = await withNames(deps.fork(), response).catch(() => response);
  checkOutgoing(deps, endpoint, answer);
  return answer;
}

/** Does what waited for the commit. A failure is logged and does not change the response. */
async function finish(
  { logger }: RunDeps,
  { operationId: operation }: Endpoint,
  ctx: Context,
  { response: first, actions }: Done,
): Promise<EndpointResponse> {
  let response = first;
  for (const action of actions) {
    try {
      response = mergeResponse(response, await action());
    } catch (error) {
      logger.error({ err: error, request_id: ctx.state['requestId'], operation }, 'post-commit work failed');
    }
  }
  return response;
}

/** @throws 401, 403 for a caller who has lost the right to the request while it waited for a counterpart */
async function prepare(
  endpoint: Endpoint,
  context: () => EndpointContext<never, never, never>,
): Promise<unknown> {
  if (!endpoint.prepare) return undefined;
  const c = context();
  const prepared = await endpoint.prepare(c).catch((error: unknown) => {
    if (error instanceof AppError) return undefined;
    throw error;
  });
  await identifyAgain(c.ctx);
  return prepared;
}

/** A later response keeps the headers of the first, such as `Location`. */
function mergeResponse(first: EndpointResponse, newer: EndpointResponse | void): EndpointResponse {
  return newer ? { ...newer, headers: { ...first.headers, ...newer.headers } } : first;
}

interface Done {
  response: EndpointResponse;
  actions: readonly AfterCommit[];
}

type AfterCommit = () => Promise<EndpointResponse | void>;

/** @throws 401, 403 for a caller who has lost the right to the request meanwhile */
async function readBodyOrError(ctx: Context, endpoint: Endpoint): Promise<RawBody | AppError> {
  try {
    return await readRawBody(ctx, endpoint.bodyLimitBytes ?? BODY_LIMIT_BYTES);
  } catch (error) {
    if (error instanceof AppError) {
      if (error.kind === 'unauthorized' || error.kind === 'forbidden') throw error;
      return error;
    }
    throw new AppError('bad_request', 'incomplete_body', 'The connection ended before the body did.');
  }
}

interface Reading {
  syntax(): Syntax;
  query(): unknown;
  body(): unknown;
  measure: Measure;
  count(ms: number): void;
}

/** Query and body of a request. Each is read once, when `prepare` or the handler first asks for it. */
function readingOf(endpoint: Endpoint, ctx: Context, read: RawBody | AppError | null): Reading {
  const syntax = once(() => {
    parsedQuery();
    return read === null ? NO_BODY : measured(read, () => parseSyntax(read, endpoint));
  });
  // Most requests have no query, and most endpoints take none.
  const hasNone = endpoint.query === undefined && ctx.querystring === '';
  const parsedQuery = once(() => (hasNone ? {} : parseQuery(endpoint, ctx.query)));
  const parsedBody = once(() => {
    if (read === null) return undefined;
    const { value, yaml } = syntax();
    try {
      return measured(read, () => parseBody(endpoint, value, mediaTypeOf(read, endpoint)));
    } catch (error) {
      throw yaml !== null && error instanceof AppError ? withPlaces(error, yaml) : error;
    }
  });
  return {
    syntax,
    query: parsedQuery,
    body: parsedBody,
    measure: (work) => (read === null ? work() : measured(read, work)),
    count: (ms) => (read === null || read instanceof AppError ? undefined : read.turn.count(ms)),
  };
}

interface ContextRest {
  actions: AfterCommit[];
  audit: EndpointTrail;
  prepared?: unknown;
  keyed?: KeyedRequest | null;
}

function makeContext(
  deps: RunDeps,
  endpoint: Endpoint,
  ctx: Context,
  em: EntityManager,
  request: Reading,
  { actions, audit, prepared, keyed = null }: ContextRest,
): EndpointContext<never, never, never> {
  // `never`: only the endpoint's own handler receives this context, and its types match these schemas.
  return {
    em,
    prepared,
    audit,
    keyed,
    // A handler that reads the body itself may identify the caller again.
    get actor() {
      return ctx.state['actor'];
    },
    params: parseParams(endpoint, ctx['params']),
    get query() {
      return request.query();
    },
    get body() {
      return request.body();
    },
    checkSyntax: () => void request.syntax(),
    readBody: () => readBody(() => request.body()),
    get yaml() {
      return request.syntax().yaml;
    },
    measure: <T>(work: () => T): T => request.measure(work),
    count: (ms: number): void => request.count(ms),
    ctx,
    requestId: ctx.state['requestId'],
    baseUrl: deps.baseUrl,
    afterCommit: (action: AfterCommit) => void actions.push(action),
  } as unknown as EndpointContext<never, never, never>;
}

/** The parts of the context that do not depend on the query or body. */
function contextParts(c: EndpointContext<never, never, never>) {
  const { actor, audit, params, ctx, requestId, baseUrl } = c;
  return {
    actor,
    audit,
    params,
    ctx,
    requestId,
    baseUrl,
    prepared: undefined,
    keyed: null,
    query: undefined,
    body: undefined,
    checkSyntax: () => {},
    readBody: () => ({ value: undefined }),
    yaml: null,
    measure: unmeasured,
    count: () => {},
    afterCommit: () => {},
  };
}

function readBody(parsedBody: () => unknown): Checked<unknown> {
  try {
    return { value: parsedBody() };
  } catch (error) {
    return keepRefusal(error);
  }
}

function readAll(c: EndpointContext): void {
  void c.query;
  void c.body;
}

function measured<T>(read: RawBody | AppError, work: () => T): T {
  return read instanceof AppError ? work() : read.turn.measure(work);
}

interface Syntax {
  value: unknown;
  yaml: YamlBody | null;
}
const NO_BODY: Syntax = { value: undefined, yaml: null };

/** Parsed JSON or YAML, or the text of other media types. An empty body is `{}`. */
function parseSyntax(read: RawBody | AppError, endpoint: Endpoint): Syntax {
  if (read instanceof AppError) {
    throw read;
  }
  if (read.bytes.length === 0) {
    return { value: {}, yaml: null };
  }
  checkMediaType(read, consumedTypes(endpoint));
  const text = decodeText(read.bytes);
  if (read.type === 'application/x-www-form-urlencoded') {
    return { value: formFields(text), yaml: null };
  }
  if (endpoint.yaml !== undefined && isYaml(read.type))
    return readYamlBody(text, { form: endpoint.yaml, isNew: endpoint.method === 'POST' });
  const isJson = /\bjson$/.test(read.type);
  return { value: isJson ? parseJson(text, endpoint.yaml !== undefined) : text, yaml: null };
}

/** Media type of the body. A missing body counts as JSON unless an accepted type was sent. */
function mediaTypeOf(read: RawBody | AppError, endpoint: Endpoint): string {
  return read instanceof AppError || !consumedTypes(endpoint).includes(read.type)
    ? 'application/json'
    : read.type;
}

function once<T>(compute: () => T): () => T {
  let done: { value: T } | null = null;
  return () => (done ??= { value: compute() }).value;
}

/** @returns the check whether a client takes what the endpoint answers. It throws 406 */
function acceptance(endpoint: Endpoint): (ctx: Context) => void {
  const types = Object.values(endpoint.responses).flatMap((declared) =>
    declared === null ? [] : isMedia(declared) ? Object.keys(declared.media) : ['application/json'],
  );
  if (types.length === 0 || types.includes('*/*')) return () => {};
  const offered = [...types, 'application/problem+json'];
  return (ctx) => {
    const { accept } = ctx.req.headers;
    if (accept === undefined || accept === '*/*' || ctx.accepts(offered)) return;
    throw new AppError(
      'not_acceptable',
      'not_acceptable',
      `This resource is available as ${[...new Set(types)].join(' or ')}.`,
    );
  };
}

function checkOutgoing({ strictResponses }: RunDeps, endpoint: Endpoint, response: EndpointResponse): void {
  if (!strictResponses) return;
  const violation = responseProblem(endpoint, response);
  if (violation !== null)
    throw new Error(
      `the response of ${endpoint.operationId} violates its declaration (${response.status}): ${violation}`,
    );
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
  // Before the body: Koa would guess one.
  ctx.set(
    'Content-Type',
    type.startsWith('text/') && !type.includes('charset') ? `${type}; charset=utf-8` : type,
  );
  ctx.body =
    type.endsWith('json') && !isContent(response.body) ? JSON.stringify(response.body) : response.body;
}

/** A stream or bytes. A file that contains JSON is sent as it is. */
function isContent(body: unknown): boolean {
  return (
    Buffer.isBuffer(body) ||
    (typeof body === 'object' && body !== null && 'pipe' in body && typeof body.pipe === 'function')
  );
}
