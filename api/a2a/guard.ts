/**
 * Wraps the handler so that each method throws A2A errors only. Unknown errors are logged; their messages are
 * not exposed.
 */
import type { Message, SendMessageRequest, StreamResponse } from '@a2a-js/sdk';
import type { A2ARequestHandler } from '@a2a-js/sdk/server';

import { AppError, invalid } from '../../domain/errors.ts';
import { isStorable } from '../middleware/body.ts';
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
  const guardCall = async <T>(params: object, method: () => Promise<T>): Promise<T> => {
    call.handlerCalled = true;
    try {
      checkNames(params);
      return await method();
    } catch (error) {
      throw toProtocolError(error);
    }
  };
  const guardStream = async function* stream(params: object, method: () => Events): Events {
    call.handlerCalled = true;
    try {
      checkNames(params);
      yield* method();
    } catch (error) {
      throw toProtocolError(error);
    }
  };
  return {
    getAgentCard: () => guardCall({}, () => handler.getAgentCard()),
    getAuthenticatedExtendedAgentCard: (params, context) =>
      guardCall(params, () => handler.getAuthenticatedExtendedAgentCard(params, context)),
    sendMessage: (params, context) => guardCall(params, () => handler.sendMessage(params, context)),
    sendMessageStream: (params, context) =>
      guardStream(params, () => handler.sendMessageStream(params, context)),
    getTask: (params, context) => guardCall(params, () => handler.getTask(params, context)),
    listTasks: (params, context) => guardCall(params, () => handler.listTasks(params, context)),
    cancelTask: (params, context) => guardCall(params, () => handler.cancelTask(params, context)),
    resubscribe: (params, context) => guardStream(params, () => handler.resubscribe(params, context)),
    createTaskPushNotificationConfig: (params, context) =>
      guardCall(params, () => handler.createTaskPushNotificationConfig(params, context)),
    getTaskPushNotificationConfig: (params, context) =>
      guardCall(params, () => handler.getTaskPushNotificationConfig(params, context)),
    listTaskPushNotificationConfigs: (params, context) =>
      guardCall(params, () => handler.listTaskPushNotificationConfigs(params, context)),
    deleteTaskPushNotificationConfig: (params, context) =>
      guardCall(params, () => handler.deleteTaskPushNotificationConfig(params, context)),
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
