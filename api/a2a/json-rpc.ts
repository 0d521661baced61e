/** JSON-RPC, 1.0 and 0.3 on one URL. The envelope is checked here, the rest is the SDK's transport handlers. */
import { isLegacyJsonRpcMethod, isV1JsonRpcMethod } from '@a2a-js/sdk/compat/v0_3';
import { LegacyJsonRpcTransportHandler } from '@a2a-js/sdk/compat/v0_3/server';
import { JsonRpcTransportHandler, ServerCallContext } from '@a2a-js/sdk/server';
import type { Context } from 'koa';

import { isRecord } from '../../contracts/is-record.ts';
import type { WireVersion } from '../../domain/a2a/push-configs.ts';
import { AppError } from '../../domain/errors.ts';
import { parseJson } from '../middleware/body.ts';
import type { A2ACall } from './call.ts';
import { causeOf, jsonRpcError, jsonRpcStatus, type JsonRpcError } from './errors.ts';
import { checkLegacyParams } from './legacy-params.ts';
import { createRequestHandler } from './request-handler.ts';
import { sendEvents } from './sse.ts';
import { requestedVersion } from './version.ts';

const INTERNAL_ERROR = -32603;

type RpcId = string | number | null;

interface Rpc {
  jsonrpc: '2.0';
  id: RpcId;
  method: string;
  params?: Record<string, unknown>;
}

/** `text` is the body. Answers in every case. */
export async function answerJsonRpc(ctx: Context, text: string, makeCall: (version: WireVersion) => A2ACall): Promise<void> {
  const parsed = parseRpc(text);
  if ('error' in parsed) {
    sendRpcError(ctx, 200, parsed.id, parsed.error);
    return;
  }
  const { rpc } = parsed;
  let version: WireVersion;
  try {
    const said = requestedVersion(ctx);
    version = said ?? '0.3';
    const unknown = methodProblem(rpc.method, said);
    if (unknown !== null) {
      sendRpcError(ctx, 200, rpc.id, { code: -32601, message: unknown });
      return;
    }
    if (rpc.params === undefined && !/extendedagentcard|ExtendedAgentCard|ExtendedCard/i.test(rpc.method)) {
      sendRpcError(ctx, 200, rpc.id, { code: -32602, message: 'params must be an object' });
      return;
    }
  } catch (error) {
    sendRpcError(ctx, 200, rpc.id, jsonRpcError(error, '1.0'));
    return;
  }
  const call = makeCall(version);
  try {
    if (version === '0.3') checkLegacyParams(rpc.method, rpc.params ?? {});
    const handler = createRequestHandler(call);
    const transport = version === '1.0' ? new JsonRpcTransportHandler(handler) : new LegacyJsonRpcTransportHandler(handler);
    const context = new ServerCallContext({
      requestedExtensions: [...call.extensions],
      user: { isAuthenticated: true, userName: call.actor.username },
      requestedVersion: version,
    });
    const answer = await transport.handle({ ...rpc }, context);
    if (Symbol.asyncIterator in answer) {
      await sendEvents(ctx, {
        events: version === '0.3' ? closing(answer, rpc.method) : answer,
        lastId: () => call.lastItem.id,
        onError: (error) => ({ jsonrpc: '2.0', id: rpc.id, error: jsonRpcError(causeOf(call, error), version) }),
        // Clients of 0.3 read errors of a stream from the stream only.
        errorsInStream: version === '0.3',
      });
      return;
    }
    if (answer.error === undefined) {
      sendJson(ctx, 200, answer);
      return;
    }
    // What the transport handler refused itself is its own error; what our handler threw says more than it could.
    const { thrown } = call;
    const own = answer.error as JsonRpcError;
    // Its words for an unexpected error are that error's.
    const cause = thrown === undefined && own.code === INTERNAL_ERROR ? causeOf(call, new Error(own.message)) : thrown;
    sendRpcError(ctx, jsonRpcStatus(cause), rpc.id, cause === undefined ? own : jsonRpcError(cause, version));
  } catch (error) {
    const cause = causeOf(call, error);
    sendRpcError(ctx, jsonRpcStatus(cause), rpc.id, jsonRpcError(cause, version));
  }
}

/** 0.3 says at the last event of a stream that it is the last; a send's stream also ends where the task waits for its client. */
async function* closing(events: AsyncGenerator<unknown, void, undefined>, method: string): AsyncGenerator<unknown, void, undefined> {
  try {
    for await (const event of events) {
      const { result } = event as { result?: { kind?: string; status?: { state?: string }; final?: boolean } };
      const waits = method === 'message/stream' && result?.kind === 'status-update' && ['input-required', 'auth-required'].includes(result.status?.state ?? '');
      yield waits ? { ...(event as object), result: { ...result, final: true } } : event;
    }
  } finally {
    await events.return();
  }
}

/** JSON-RPC 2.0 §4–§5: -32700, -32600; the id where it could be read. */
function parseRpc(text: string): { rpc: Rpc } | { id: RpcId; error: JsonRpcError } {
  let value: unknown;
  try {
    value = parseJson(text);
  } catch (error) {
    const detail = error instanceof AppError ? error.detail : 'The body is not valid JSON.';
    return { id: null, error: { code: -32700, message: detail } };
  }
  if (!isRecord(value)) return { id: null, error: { code: -32600, message: 'A request is one JSON object; batches are not served.' } };
  const { jsonrpc, id = null, method, params } = value;
  if (!(id === null || typeof id === 'string' || Number.isSafeInteger(id))) return { id: null, error: { code: -32600, message: 'id must be a string, an integer or null.' } };
  // Checked just now: a string, an integer, or null.
  const rpcId = id as RpcId;
  if (jsonrpc !== '2.0') return { id: rpcId, error: { code: -32600, message: 'jsonrpc must be "2.0".' } };
  if (typeof method !== 'string' || method === '') return { id: rpcId, error: { code: -32600, message: 'method must be a string.' } };
  if (params !== undefined && !isRecord(params)) return { id: rpcId, error: { code: -32602, message: 'params must be an object.' } };
  return { rpc: { jsonrpc: '2.0', id: rpcId, method, ...(params === undefined ? {} : { params }) } };
}

/** Why a method is not served under a version; null: it is. */
function methodProblem(method: string, said: WireVersion | null): string | null {
  const legacy = isLegacyJsonRpcMethod(method);
  if (said === '1.0') return isV1JsonRpcMethod(method) ? null : legacy ? `${method} is a method of A2A 0.3: leave A2A-Version out, or send 0.3.` : `There is no method ${method}.`;
  if (legacy) return null;
  return isV1JsonRpcMethod(method) ? `${method} is a method of A2A 1.0: send the header A2A-Version: 1.0.` : `There is no method ${method}.`;
}

export function sendRpcError(ctx: Context, status: number, id: RpcId, error: JsonRpcError): void {
  sendJson(ctx, status, { jsonrpc: '2.0', id, error });
}

function sendJson(ctx: Context, status: number, body: unknown): void {
  ctx.status = status;
  ctx.body = JSON.stringify(body);
  ctx.set('Content-Type', 'application/json');
}
