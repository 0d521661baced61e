/**
 * Implements the SDK's request handler on PostgreSQL and Temporal, for one call. It keeps no state between
 * calls, so any API process serves any call.
 */
import type { A2ARequestHandler } from '@a2a-js/sdk/server';
import type { A2ACall } from './call.ts';
import { buildCard, extendedCard } from './card.ts';
import { guarded } from './guard.ts';
import { listTasks } from './methods/list-tasks.ts';
import {
  createPushConfig,
  listTaskPushConfigs,
  readPushConfig,
  removePushConfig,
} from './methods/push-configs.ts';
import { sendMessage, streamMessage } from './methods/send.ts';
import { cancelTask, getTask, resubscribe } from './methods/tasks.ts';

export function createRequestHandler(call: A2ACall): A2ARequestHandler {
  const { deps, target } = call;
  return guarded(call, {
    getAgentCard: async () => buildCard(deps, target),
    getAuthenticatedExtendedAgentCard: async () => extendedCard(deps, target),
    sendMessage: (params) => sendMessage(call, params),
    sendMessageStream: (params) => streamMessage(call, params),
    resubscribe: (params) => resubscribe(call, params),
    getTask: (params) => getTask(call, params),
    listTasks: (params) => listTasks(call, params),
    cancelTask: (params) => cancelTask(call, params),
    createTaskPushNotificationConfig: (params) => createPushConfig(call, params),
    getTaskPushNotificationConfig: (params) => readPushConfig(call, params),
    listTaskPushNotificationConfigs: (params) => listTaskPushConfigs(call, params),
    deleteTaskPushNotificationConfig: (params) => removePushConfig(call, params),
  });
}
