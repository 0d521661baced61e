/** The methods for push notification configs. */
import {
  TaskPushNotificationConfig,
  type DeleteTaskPushNotificationConfigRequest,
  type GetTaskPushNotificationConfigRequest,
  type ListTaskPushNotificationConfigsRequest,
  type ListTaskPushNotificationConfigsResponse,
} from '@a2a-js/sdk';
import { PushNotificationNotSupportedError } from '@a2a-js/sdk/errors';
import type { A2APushConfig } from '../../../contracts/a2a/objects.ts';
import { isHeaderValue } from '../../../contracts/header-rules.ts';
import {
  deletePushConfig,
  getPushConfig,
  listPushConfigs,
  savePushConfig,
} from '../../../domain/a2a/push-configs.ts';
import { writeAudit } from '../../../domain/audit/write.ts';
import type { EntityManager } from '../../../db/orm.ts';
import { invalid } from '../../../domain/errors.ts';
import type { TaskRow } from '../../../domain/a2a/task-row.ts';
import { inTransaction } from '../../transaction.ts';
import { changing, mayChange, type A2ACall } from '../call.ts';
import { readTaskRow } from '../task-reader.ts';
import { taskIdOf } from './fields.ts';

export async function createPushConfig(
  call: A2ACall,
  params: TaskPushNotificationConfig,
): Promise<TaskPushNotificationConfig> {
  const { deps } = call;
  const { id: taskId } = await configuredTask(call, params.taskId);
  changing(call);
  const config = await pushConfigOf(params, call);
  const saved = await inTransaction(
    () => deps.orm.em.fork(),
    (em) => setPushConfig(em, call, { ...config, taskId }),
  );
  return TaskPushNotificationConfig.fromJSON({ ...saved, tenant: params.tenant });
}

/** In the transaction of the caller, with its entry in the audit log. */
export async function setPushConfig(
  em: EntityManager,
  { deps, origin, version }: A2ACall,
  config: A2APushConfig,
): Promise<A2APushConfig> {
  await writeAudit(em, origin, { action: 'a2a_set_push', objectType: 'run', objectId: config.taskId });
  return savePushConfig(em, deps.encryption, config, version);
}

export async function readPushConfig(
  call: A2ACall,
  { taskId, id, tenant }: GetTaskPushNotificationConfigRequest,
): Promise<TaskPushNotificationConfig> {
  const { orm, encryption } = call.deps;
  const row = await configuredTask(call, taskId);
  // In 0.3 the id is optional and defaults to the task's first config.
  const first = id === '' ? (await listPushConfigs(orm.em.fork(), encryption, row.id))[0] : undefined;
  const config = first ?? (await getPushConfig(orm.em.fork(), encryption, row.id, id));
  return TaskPushNotificationConfig.fromJSON({ ...shownTo(call, config), tenant });
}

export async function listTaskPushConfigs(
  call: A2ACall,
  { taskId, tenant }: ListTaskPushNotificationConfigsRequest,
): Promise<ListTaskPushNotificationConfigsResponse> {
  const { orm, encryption } = call.deps;
  const row = await configuredTask(call, taskId);
  const configs = await listPushConfigs(orm.em.fork(), encryption, row.id);
  return {
    configs: configs.map((config) =>
      TaskPushNotificationConfig.fromJSON({ ...shownTo(call, config), tenant }),
    ),
    nextPageToken: '',
  };
}

/** Without the receiver's secrets for who may only read: they let their holder speak as this platform. */
function shownTo(call: A2ACall, config: A2APushConfig): A2APushConfig {
  if (mayChange(call)) return config;
  const { id, taskId, url, authentication } = config;
  return { id, taskId, url, ...(authentication && { authentication: { scheme: authentication.scheme } }) };
}

export async function removePushConfig(
  call: A2ACall,
  { taskId, id }: DeleteTaskPushNotificationConfigRequest,
): Promise<void> {
  const row = await configuredTask(call, taskId);
  changing(call);
  await inTransaction(
    () => call.deps.orm.em.fork(),
    async (em) => {
      await writeAudit(em, call.origin, { action: 'a2a_delete_push', objectType: 'run', objectId: row.id });
      await deletePushConfig(em, row.id, id);
    },
  );
}

/** @throws if the agent does not support push notifications, or there is no such task */
async function configuredTask(call: A2ACall, taskId: string): Promise<TaskRow> {
  requirePushNotifications(call);
  return readTaskRow(call, taskIdOf(taskId));
}

export function requirePushNotifications({ target }: A2ACall): void {
  if (!target.agent.capabilities_push) throw new PushNotificationNotSupportedError();
}

/**
 * In 0.3 a config without an id is the task's only one, and setting it again replaces it.
 * @throws 422 for a URL that deliveries may not go to, and for what cannot be sent in a header
 */
export async function pushConfigOf(
  { id, url, token, authentication }: TaskPushNotificationConfig,
  { deps, version }: A2ACall,
): Promise<Omit<A2APushConfig, 'taskId'>> {
  await deps.calledAddresses.checkDelivery(url);
  checkSentHeaders({ token, scheme: authentication?.scheme, credentials: authentication?.credentials });
  return {
    id: id === '' && version === '0.3' ? 'default' : id,
    url,
    ...(token ? { token } : {}),
    ...(authentication?.scheme
      ? {
          authentication: {
            scheme: authentication.scheme,
            ...(authentication.credentials ? { credentials: authentication.credentials } : {}),
          },
        }
      : {}),
  };
}

function checkSentHeaders(texts: Record<'token' | 'scheme' | 'credentials', string | undefined>): void {
  const errors = (['token', 'scheme', 'credentials'] as const)
    .filter((key) => !isHeaderValue(texts[key] ?? ''))
    .map((key) => ({
      pointer: key === 'token' ? '/token' : `/authentication/${key}`,
      code: 'invalid_header',
      message: `"${key}" has characters that a header cannot have`,
    }));
  if (errors.length > 0) throw invalid(errors);
}
