/** Whatever a method of the handler throws is an error of the protocol; unknown ones are logged, and told without their words. */
import type { Message, SendMessageRequest, StreamResponse } from '@a2a-js/sdk';
import type { A2ARequestHandler } from '@a2a-js/sdk/server';

import { AppError, invalid } from '../../domain/errors.ts';
import { isStorable } from '../middleware/body.ts';
import type { A2ACall } from './call.ts';
import { toA2AError } from './errors.ts';

type Events = AsyncGenerator<StreamResponse, void, undefined>;

export function guarded(call: A2ACall, handler: A2ARequestHandler): A2ARequestHandler {
  const told = (error: unknown): Error => {
    const a2a = toA2AError(error);
    if (a2a.reason === 'INTERNAL_ERROR' && !(error instanceof AppError)) {
      call.deps.logger.error({ err: error, request_id: call.requestId }, 'A2A request failed');
    }
    call.thrown = error;
    return a2a;
  };
  const one = async <T>(params: object, method: () => Promise<T>): Promise<T> => {
    call.reached = true;
    try {
      checkNames(params);
      return await method();
    } catch (error) {
      throw told(error);
    }
  };
  const many = async function* stream(params: object, method: () => Events): Events {
    call.reached = true;
    try {
      checkNames(params);
      yield* method();
    } catch (error) {
      throw told(error);
    }
  };
  return {
    getAgentCard: () => one({}, () => handler.getAgentCard()),
    getAuthenticatedExtendedAgentCard: (params, context) => one(params, () => handler.getAuthenticatedExtendedAgentCard(params, context)),
    sendMessage: (params, context) => one(params, () => handler.sendMessage(params, context)),
    sendMessageStream: (params, context) => many(params, () => handler.sendMessageStream(params, context)),
    getTask: (params, context) => one(params, () => handler.getTask(params, context)),
    listTasks: (params, context) => one(params, () => handler.listTasks(params, context)),
    cancelTask: (params, context) => one(params, () => handler.cancelTask(params, context)),
    resubscribe: (params, context) => many(params, () => handler.resubscribe(params, context)),
    createTaskPushNotificationConfig: (params, context) => one(params, () => handler.createTaskPushNotificationConfig(params, context)),
    getTaskPushNotificationConfig: (params, context) => one(params, () => handler.getTaskPushNotificationConfig(params, context)),
    listTaskPushNotificationConfigs: (params, context) => one(params, () => handler.listTaskPushNotificationConfigs(params, context)),
    deleteTaskPushNotificationConfig: (params, context) => one(params, () => handler.deleteTaskPushNotificationConfig(params, context)),
  };
}

/** Ids, tokens, names of files are columns, and no column holds NUL or half a character. @throws 422 */
function checkNames(params: object): void {
  const message: Partial<Message> = ('message' in params && (params as SendMessageRequest).message) || {};
  const all = [...texts(params, ''), ...texts(message, '/message'), ...(message.parts ?? []).flatMap((part, index) => texts(part, `/message/parts/${index}`))];
  const bad = all.filter(([, value]) => !isStorable(value));
  if (bad.length > 0) throw invalid(bad.map(([pointer]) => ({ pointer, code: 'invalid_characters', message: `${pointer.slice(1)} holds a NUL character or half a surrogate pair` })));
}

function texts(object: object, pointer: string): [pointer: string, value: string][] {
  return Object.entries(object).flatMap(([name, value]) => (typeof value === 'string' ? [[`${pointer}/${name}`, value]] : []));
}
