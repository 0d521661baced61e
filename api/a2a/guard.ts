/**
 * Wraps the handler so that each method throws A2A errors only. Unknown errors are logged; their messages are
 * not exposed.
 */
import type { Message, SendMessageRequest, StreamResponse } from '@a2a-js/sdk';
import type { A2ARequestHandler } from '@a2a-js/sdk/server';

import type { Scope } from '../../contracts/scopes.ts';
import { AppError, invalid, MAX_LISTED_ERRORS, type FieldError } from '../../domain/errors.ts';
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
  const errors: FieldError[] = [];
  const check = (object: object, pointer: string): void => {
    for (const [name, value] of Object.entries(object)) {
      if (errors.length > MAX_LISTED_ERRORS) return;
      if (typeof value !== 'string' || isStorable(value)) continue;
      const at = `${pointer}/${name}`;
      errors.push({
        pointer: at,
        code: 'invalid_characters',
        message: `${at.slice(1)} contains a NUL character or an unpaired surrogate`,
      });
    }
  };
  check(params, '');
  check(message, '/message');
  (message.parts ?? []).forEach((part, index) => check(part, `/message/parts/${index}`));
  if (errors.length > 0) throw invalid(errors);
}
