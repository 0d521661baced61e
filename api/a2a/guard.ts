/** Whatever a method of the handler throws is an error of the protocol; unknown ones are logged, and told without their words. */
import type { StreamResponse } from '@a2a-js/sdk';
import type { A2ARequestHandler } from '@a2a-js/sdk/server';

import { AppError } from '../../domain/errors.ts';
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
  const one = async <T>(method: () => Promise<T>): Promise<T> => {
    try {
      return await method();
    } catch (error) {
      throw told(error);
    }
  };
  const many = async function* stream(method: () => Events): Events {
    try {
      yield* method();
    } catch (error) {
      throw told(error);
    }
  };
  return {
    getAgentCard: () => one(() => handler.getAgentCard()),
    getAuthenticatedExtendedAgentCard: (...args) => one(() => handler.getAuthenticatedExtendedAgentCard(...args)),
    sendMessage: (...args) => one(() => handler.sendMessage(...args)),
    sendMessageStream: (...args) => many(() => handler.sendMessageStream(...args)),
    getTask: (...args) => one(() => handler.getTask(...args)),
    listTasks: (...args) => one(() => handler.listTasks(...args)),
    cancelTask: (...args) => one(() => handler.cancelTask(...args)),
    resubscribe: (...args) => many(() => handler.resubscribe(...args)),
    createTaskPushNotificationConfig: (...args) => one(() => handler.createTaskPushNotificationConfig(...args)),
    getTaskPushNotificationConfig: (...args) => one(() => handler.getTaskPushNotificationConfig(...args)),
    listTaskPushNotificationConfigs: (...args) => one(() => handler.listTaskPushNotificationConfigs(...args)),
    deleteTaskPushNotificationConfig: (...args) => one(() => handler.deleteTaskPushNotificationConfig(...args)),
  };
}
