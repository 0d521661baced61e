/**
 * JSON-RPC for 1.0 and 0.3 on one URL. This module checks the envelope; the SDK's transport handlers do the
 * rest.
 */
import { isLegacyJsonRpcMethod, isV1JsonRpcMethod } from '@a2a-js/sdk/compat/v0_3';
import { LegacyJsonRpcTransportHandler } from '@a2a-js/sdk/compat/v0_3/server';
import { JsonRpcTransportHandler, ServerCallContext } from '@a2a-js/sdk/server';
import type { Context } from 'koa';

import { isRecord } from '../../contracts/is-record.ts';
import type { WireVersion } from '../../contracts/a2a/objects.ts';
import { AppError } from '../../domain/errors.ts';
import type { Measure } from '../../domain/measure.ts';
import { decodeText, parseJson, type RawBody } from '../middleware/body.ts';
import type { A2ACall } from './call.ts';
import { causeOf, jsonRpcError, jsonRpcStatus, type JsonRpcError } from './errors.ts';
import { checkLegacyParams } from './legacy-params.ts';
import { A2A_JSON_BOUNDS } from './limits.ts';
import { checkListBounds } from './list-bounds.ts';
import { createRequestHandler } from './request-handler.ts';
import { sendEvents } from './sse.ts';
import { requestedVersion } from './version.ts';

/** Codes of JSON-RPC 2.0 §5.1. */
const PARSE_ERROR = -32700;
const INVALID_REQUEST = -32600;
const METHOD_NOT_FOUND = -32601;
const INVALID_PARAMS = -32602;
const INTERNAL_ERROR = -32603;

type RpcId = string | number | null;

interface Rpc {
  jsonrpc: '2.0';
  id: RpcId;
  method: string;
  params?: Record<string, unknown>;
}

/**
 * Answers a JSON-RPC request. Errors become JSON-RPC error responses.
 * @throws 400 if the body is not UTF-8
 */
export async function answerJsonRpc(
  ctx: Context,
  raw: RawBody,
  makeCall: (version: WireVersion) => A2ACall,
): Promise<void> {
  const text = decodeText(raw.bytes);
  const parsed = raw.turn.measure(() => parseRpc(text));
  if ('error' in parsed) return sendRpcError(ctx, 200, parsed.id, parsed.error);
  const { rpc } = parsed;
  const checked = checkMethod(ctx, rpc);
  if ('error' in checked) return sendRpcError(ctx, 200, rpc.id, checked.error);
  const call = makeCall(checked.version);
  try {
    await answerCall(ctx, rpc, call, raw.turn.measure);
  } catch (error) {
    const cause = causeOf(call, error);
    sendRpcError(ctx, jsonRpcStatus(cause), rpc.id, jsonRpcError(cause, call.version));
  }
}

/** The version of the method; an error if that version does not have it, or its params are missing. */
function checkMethod(ctx: Context, rpc: Rpc): { version: WireVersion } | { error: JsonRpcError } {
  try {
    const sentVersion = requestedVersion(ctx);
    const problem = methodProblem(rpc.method, sentVersion);
    if (problem !== null) return { error: { code: METHOD_NOT_FOUND, message: problem } };
    if (rpc.params === undefined && !/extended(agent)?card/i.test(rpc.method))
      return { error: { code: INVALID_PARAMS, message: 'params must be an object' } };
    return { version: sentVersion ?? '0.3' };
  } catch (error) {
    return { error: jsonRpcError(error, '1.0') };
  }
}

async function answerCall(ctx: Context, rpc: Rpc, call: A2ACall, measure: Measure): Promise<void> {
  const { version } = call;
  const params = rpc.params ?? {};
  measure(() => checkListBounds(params));
  if (version === '0.3') checkLegacyParams(rpc.method, params);
  const handler = createRequestHandler(call);
  const transport =
    version === '1.0' ? new JsonRpcTransportHandler(handler) : new LegacyJsonRpcTransportHandler(handler);
  const context = new ServerCallContext({
    requestedExtensions: [...call.extensions],
    user: { isAuthenticated: true, userName: call.actor.username },
    requestedVersion: version,
  });
  // Measures only the synchronous part: decoding.
  const answer = await measure(() => transport.handle({ ...rpc }, context));
  if (Symbol.asyncIterator in answer) await answerStream(ctx, rpc, call, answer);
  else if (answer.error === undefined) sendJson(ctx, 200, answer);
  // The assertion holds: the SDK's errors have a code and a message.
  else answerError(ctx, rpc, call, answer.error as JsonRpcError);
}

async function answerStream(
  ctx: Context,
  rpc: Rpc,
  call: A2ACall,
  events: AsyncGenerator<unknown, void, undefined>,
): Promise<void> {
  const { version } = call;
  await sendEvents(ctx, {
    events: version === '0.3' ? markFinalEvent(events, rpc.method) : events,
    lastId: () => call.lastItem.id,
    onError: (error) => ({
      jsonrpc: '2.0',
      id: rpc.id,
      error: jsonRpcError(causeOf(call, error), version),
    }),
    // 0.3 clients read a stream's errors only from the stream itself.
    errorsInStream: version === '0.3',
  });
}

/**
 * The transport handler has errors of its own, such as invalid params. Errors of our handler carry more
 * detail, so they win. An internal error's message may come from an exception, so it is not exposed.
 */
function answerError(ctx: Context, rpc: Rpc, call: A2ACall, error: JsonRpcError): void {
  const isInternal = call.thrown === undefined && error.code === INTERNAL_ERROR;
  const cause = isInternal ? causeOf(call, new Error(error.message)) : call.thrown;
  const shown = cause === undefined ? error : jsonRpcError(cause, call.version);
  sendRpcError(ctx, jsonRpcStatus(cause), rpc.id, shown);
}

/**
 * In 0.3 the last event of a stream has `final: true`. The stream of a send also ends when the task waits for
 * its client.
 */
async function* markFinalEvent(
  events: AsyncGenerator<unknown, void, undefined>,
  method: string,
): AsyncGenerator<unknown, void, undefined> {
  try {
    for await (const event of events) {
      const { result } = event as {
        result?: { kind?: string; status?: { state?: string }; final?: boolean };
      };
      const waits =
        method === 'message/stream' &&
        result?.kind === 'status-update' &&
        ['input-required', 'auth-required'].includes(result.status?.state ?? '');
      yield waits ? { ...(event as object), result: { ...result, final: true } } : event;
    }
  } finally {
    await events.return();
  }
}

/**
 * Parses the envelope (JSON-RPC 2.0 §4–§5). Errors have the request's id if it could be read.
 */
function parseRpc(text: string): { rpc: Rpc } | { id: RpcId; error: JsonRpcError } {
  let value: unknown;
  try {
    value = parseJson(text, false, A2A_JSON_BOUNDS);
  } catch (error) {
    const detail = error instanceof AppError ? error.detail : 'The body is not valid JSON.';
    return { id: null, error: { code: PARSE_ERROR, message: detail } };
  }
  if (!isRecord(value))
    return {
      id: null,
      error: {
        code: INVALID_REQUEST,
        message: 'A request must be one JSON object; batches are not supported.',
      },
    };
  const { jsonrpc, id = null, method, params } = value;
  if (!(id === null || typeof id === 'string' || Number.isSafeInteger(id)))
    return {
      id: null,
      error: { code: INVALID_REQUEST, message: 'id must be a string, an integer or null.' },
    };
  // Checked just now: a string, an integer, or null.
  const rpcId = id as RpcId;
  if (jsonrpc !== '2.0')
    return { id: rpcId, error: { code: INVALID_REQUEST, message: 'jsonrpc must be "2.0".' } };
  if (typeof method !== 'string' || method === '')
    return { id: rpcId, error: { code: INVALID_REQUEST, message: 'method must be a string.' } };
  if (params !== undefined && !isRecord(params))
    return { id: rpcId, error: { code: INVALID_PARAMS, message: 'params must be an object.' } };
  return { rpc: { jsonrpc: '2.0', id: rpcId, method, ...(params === undefined ? {} : { params }) } };
}

/** Why a method is not available in the requested version, or null if it is. */
function methodProblem(method: string, sentVersion: WireVersion | null): string | null {
  const legacy = isLegacyJsonRpcMethod(method);
  if (sentVersion === '1.0')
    return isV1JsonRpcMethod(method)
      ? null
      : legacy
        ? `${method} is a method of A2A 0.3: omit A2A-Version, or send 0.3.`
        : `There is no method ${method}.`;
  if (legacy) return null;
  return isV1JsonRpcMethod(method)
    ? `${method} is a method of A2A 1.0: send the header A2A-Version: 1.0.`
    : `There is no method ${method}.`;
}

export function sendRpcError(ctx: Context, status: number, id: RpcId, error: JsonRpcError): void {
  sendJson(ctx, status, { jsonrpc: '2.0', id, error });
}

function sendJson(ctx: Context, status: number, body: unknown): void {
  ctx.status = status;
  ctx.body = JSON.stringify(body);
  ctx.set('Content-Type', 'application/json');
}
