/**
 * Wraps the handler so that each method throws A2A errors only. Unknown errors are logged; their messages are
 * not exposed.
 */
import type { Message, SendMessageRequest, StreamResponse } from '@a2a-js/sdk';
import type { A2ARequestHandler } from '@a2a-js/sdk/server';

import type { Scope } from '../../contracts/scopes.ts';
import { AppError, invalid } from '../../domain/errors.ts';
import { isStorable } from '../middleware/body.ts';
import { requireScope } from '../scopes.ts';
import type { A2ACall } from './call.ts';
import { toA2AError } from './errors.ts';

type Events = AsyncGenerator<StreamResponse, void, undefined>;

export function guarded(call: A2ACall, handler: A2ARequestHandler): A2ARequestHandler {
  const toProtocolError = (error: unknown): Error => {
    const a2a = toA2AError(error);
    if (a2a.reason === 'INTERNAL_ERROR' && !(error instanceof AppError)) {
      call.deps.logger.error({ err: error, request_id: call.requestId }, 'A2A request failed');
    }
    call.thrown = error;
    return a2a;
  };
  const guardCall = async <T>(params: object, scope: Scope, method: () => Promise<T>): Promise<T> => {
    call.handlerCalled = true;
    try {
      requireScope(call.actor, scope);
      checkNames(params);
      return await method();
    } catch (error) {
      throw toProtocolError(error);
    }
  };
  const guardStream = async function* stream(params: object, scope: Scope, method: () => Events): Events {
    call.handlerCalled = true;
    try {
      requireScope(call.actor, scope);
      checkNames(params);
      yield* method();
    } catch (error) {
      throw toProtocolError(error);
    }
  };
  return {
    getAgentCard: () => guardCall({}, 'agents:read', () => handler.getAgentCard()),
    getAuthenticatedExtendedAgentCard: (params, context) =>
      guardCall(params, 'agents:read', () => handler.getAuthenticatedExtendedAgentCard(params, context)),
    sendMessage: (params, context) =>
      guardCall(params, 'runs:write', () => handler.sendMessage(params, context)),
    sendMessageStream: (params, context) =>
      guardStream(params, 'runs:write', () => handler.sendMessageStream(params, context)),
    getTask: (params, context) => guardCall(params, 'runs:read', () => handler.getTask(params, context)),
    listTasks: (params, context) => guardCall(params, 'runs:read', () => handler.listTasks(params, context)),
    cancelTask: (params, context) =>
      guardCall(params, 'runs:write', () => handler.cancelTask(params, context)),
    resubscribe: (params, context) =>
      guardStream(params, 'runs:read', () => handler.resubscribe(params, context)),
    createTaskPushNotificationConfig: (params, context) =>
      guardCall(params, 'runs:write', () => handler.createTaskPushNotificationConfig(params, context)),
    getTaskPushNotificationConfig: (params, context) =>
      guardCall(params, 'runs:read', () => handler.getTaskPushNotificationConfig(params, context)),
    listTaskPushNotificationConfigs: (params, context) =>
      guardCall(params, 'runs:read', () => handler.listTaskPushNotificationConfigs(params, context)),
    deleteTaskPushNotificationConfig: (params, context) =>
      guardCall(params, 'runs:write', () => handler.deleteTaskPushNotificationConfig(params, context)),
  };
}

/** Ids, tokens and file names become text columns, which cannot store NUL or a lone surrogate. @throws 422 */
function checkNames(params: object): void {
  const message: Partial<Message> = ('message' in params && (params as SendMessageRequest).message) || {};
  const all = [
    ...texts(params, ''),
    ...texts(message, '/message'),
    ...(message.parts ?? []).flatMap((part, index) => texts(part, `/message/parts/${index}`)),
  ];
  const bad = all.filter(([, value]) => !isStorable(value));
  if (bad.length > 0)
    throw invalid(
      bad.map(([pointer]) => ({
        pointer,
        code: 'invalid_characters',
        message: `${pointer.slice(1)} contains a NUL character or an unpaired surrogate`,
      })),
    );
}

function texts(object: object, pointer: string): [pointer: string, value: string][] {
  return Object.entries(object).flatMap(([name, value]) =>
    typeof value === 'string' ? [[`${pointer}/${name}`, value]] : [],
  );
}
