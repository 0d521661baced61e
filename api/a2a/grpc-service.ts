/** The methods of A2A 1.0 over gRPC (specification §10), on the same handler as the other bindings. */
import {
  TaskState,
  taskStateToJSON,
  type CancelTaskRequest,
  type DeleteTaskPushNotificationConfigRequest,
  type GetExtendedAgentCardRequest,
  type GetTaskPushNotificationConfigRequest,
  type GetTaskRequest,
  type ListTaskPushNotificationConfigsRequest,
  type ListTasksRequest,
  type SendMessageRequest,
  type StreamResponse,
  type SubscribeToTaskRequest,
  type TaskPushNotificationConfig,
} from '@a2a-js/sdk';
import { A2AError } from '@a2a-js/sdk/errors';
import { ServerCallContext, type A2ARequestHandler } from '@a2a-js/sdk/server';
import {
  Metadata,
  type handleServerStreamingCall,
  type handleUnaryCall,
  type ServerUnaryCall,
  type ServerWritableStream,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { once } from 'node:events';

import { AppError } from '../../domain/errors.ts';
import { isInterruptedState, isTerminalState } from '../../contracts/a2a/objects.ts';
import { contextOfCaller, inSpan, SpanKind } from '../../tracing/context.ts';
import type { AppDeps } from '../deps.ts';
import { activeExtensions, type A2ACall } from './call.ts';
import { admittedCall, first, requestIdOf } from './grpc-admission.ts';
import { grpcCall, type TenantRequest } from './grpc-call.ts';
import { grpcStatus, stoppingStatus } from './grpc-errors.ts';
import { createRequestHandler } from './request-handler.ts';

type Unary<Request> = (
  handler: A2ARequestHandler,
  request: Request,
  context: ServerCallContext,
) => Promise<object>;
type Streaming<Request> = (
  handler: A2ARequestHandler,
  request: Request,
  context: ServerCallContext,
) => AsyncGenerator<StreamResponse, void, undefined>;
type Call<Request> = ServerUnaryCall<Request, object> | ServerWritableStream<Request, StreamResponse>;

export function grpcService(deps: AppDeps): UntypedServiceImplementation {
  return {
    sendMessage: unary(deps, async (handler, request: SendMessageRequest, context) => {
      const result = await handler.sendMessage(request, context);
      return {
        payload:
          'messageId' in result ? { $case: 'message', value: result } : { $case: 'task', value: result },
      };
    }),
    sendStreamingMessage: streaming(deps, (handler, request: SendMessageRequest, context) =>
      handler.sendMessageStream(request, context),
    ),
    getTask: unary(deps, (handler, request: GetTaskRequest, context) => handler.getTask(request, context)),
    listTasks: unary(deps, (handler, request: ListTasksRequest, context) =>
      handler.listTasks(request, context),
    ),
    cancelTask: unary(deps, (handler, request: CancelTaskRequest, context) =>
      handler.cancelTask(request, context),
    ),
    subscribeToTask: streaming(deps, (handler, request: SubscribeToTaskRequest, context) =>
      handler.resubscribe(request, context),
    ),
    createTaskPushNotificationConfig: unary(deps, (handler, request: TaskPushNotificationConfig, context) =>
      handler.createTaskPushNotificationConfig(request, context),
    ),
    getTaskPushNotificationConfig: unary(
      deps,
      (handler, request: GetTaskPushNotificationConfigRequest, context) =>
        handler.getTaskPushNotificationConfig(request, context),
    ),
    listTaskPushNotificationConfigs: unary(
      deps,
      (handler, request: ListTaskPushNotificationConfigsRequest, context) =>
        handler.listTaskPushNotificationConfigs(request, context),
    ),
    deleteTaskPushNotificationConfig: unary(
      deps,
      async (handler, request: DeleteTaskPushNotificationConfigRequest, context) => {
        await handler.deleteTaskPushNotificationConfig(request, context);
        return {};
      },
    ),
    getExtendedAgentCard: unary(deps, (handler, request: GetExtendedAgentCardRequest, context) =>
      handler.getAuthenticatedExtendedAgentCard(request, context),
    ),
  };
}

function unary<Request extends TenantRequest>(
  deps: AppDeps,
  answer: Unary<Request>,
): handleUnaryCall<Request, object> {
  return (call, callback) => {
    void handled(deps, call, async (a2a, context) =>
      admittedCall(call.metadata).measure(() => answer(createRequestHandler(a2a), call.request, context)),
    ).then(
      (result) => callback(null, result),
      (error: unknown) => callback(grpcStatus(error)),
    );
  };
}

function streaming<Request extends TenantRequest>(
  deps: AppDeps,
  answer: Streaming<Request>,
): handleServerStreamingCall<Request, StreamResponse> {
  return (call) => {
    void handled(deps, call, async (a2a, context) => {
      let settled = false;
      for await (const event of answer(createRequestHandler(a2a), call.request, context)) {
        settled = isSettled(event, 'message' in call.request);
        if (a2a.signal.aborted) return true;
        // Backpressure: without it, unread events would pile up in memory.
        if (!call.write(event)) await once(call, 'drain', { signal: a2a.signal }).catch(() => undefined);
      }
      return settled || !deps.isStopping();
    }).then(
      (complete) => (complete ? call.end() : call.emit('error', stoppingStatus())),
      (error: unknown) => call.emit('error', grpcStatus(error)),
    );
  };
}

/** Runs one call in a span of its own. Rejects with the handler's error. */
function handled<Request extends TenantRequest, T>(
  deps: AppDeps,
  call: Call<Request>,
  work: (a2a: A2ACall, context: ServerCallContext) => Promise<T>,
): Promise<T> {
  const { metadata } = call;
  const caller = { traceparent: first(metadata, 'traceparent'), tracestate: first(metadata, 'tracestate') };
  const method = call.getPath().slice(1);
  return inSpan(
    method,
    { kind: SpanKind.SERVER, attributes: { 'rpc.system.name': 'grpc', 'rpc.method': method } },
    () => answered(deps, call, work),
    { parent: contextOfCaller(caller), errorType: (error) => String(grpcStatus(error).code) },
  );
}

/** Logs the outcome. */
async function answered<Request extends TenantRequest, T>(
  deps: AppDeps,
  call: Call<Request>,
  work: (a2a: A2ACall, context: ServerCallContext) => Promise<T>,
): Promise<T> {
  const startedMs = performance.now();
  const end = admittedCall(call.metadata).begin();
  const cancelled = new AbortController();
  call.on('cancelled', () => cancelled.abort());
  if (call.cancelled) cancelled.abort();
  const requestId = requestIdOf(call.metadata);
  const headers = new Metadata();
  headers.set('x-request-id', requestId);
  let a2a: A2ACall | undefined;
  let status = 'OK';
  try {
    a2a = await grpcCall(deps, call, { requestId, signal: cancelled.signal });
    const active = activeExtensions(a2a);
    if (active.length > 0) headers.set('a2a-extensions', active.join(','));
    call.sendMetadata(headers);
    const user = { isAuthenticated: true, userName: a2a.actor.username };
    return await work(
      a2a,
      new ServerCallContext({
        requestedExtensions: [...a2a.extensions],
        user,
        requestedVersion: a2a.version,
      }),
    );
  } catch (error) {
    if (a2a === undefined) call.sendMetadata(headers);
    const cause: unknown = a2a?.thrown ?? error;
    status = String(grpcStatus(cause).code);
    // Errors that the handler threw are already logged.
    if (a2a?.thrown === undefined && !(cause instanceof AppError || cause instanceof A2AError))
      deps.logger.error({ err: cause, request_id: requestId }, 'gRPC call failed');
    throw cause;
  } finally {
    end();
    const durationMs = Math.round(performance.now() - startedMs);
    deps.logger.info(
      {
        request_id: requestId,
        method: 'gRPC',
        path: call.getPath(),
        status,
        duration_ms: durationMs,
        user_id: a2a?.actor.id,
      },
      'request',
    );
  }
}

/**
 * Whether a stream may end after this event: the task is over, or a sent message's task waits for the client.
 */
function isSettled({ payload }: StreamResponse, sent: boolean): boolean {
  if (payload?.$case === 'message') return true;
  if (payload?.$case !== 'task' && payload?.$case !== 'statusUpdate') return false;
  const state = taskStateToJSON(payload.value.status?.state ?? TaskState.TASK_STATE_UNSPECIFIED);
  return isTerminalState(state) || (sent && isInterruptedState(state));
}
