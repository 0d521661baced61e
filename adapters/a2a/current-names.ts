/** Translates methods and parameters from protocol 0.3, which the DSL uses, to 1.0. */
import { isRecord } from '../../contracts/is-record.ts';

const METHODS: Record<string, string> = {
  'message/send': 'SendMessage',
  'message/stream': 'SendStreamingMessage',
  'tasks/get': 'GetTask',
  'tasks/list': 'ListTasks',
  'tasks/cancel': 'CancelTask',
  'tasks/resubscribe': 'SubscribeToTask',
  'tasks/pushNotificationConfig/set': 'CreateTaskPushNotificationConfig',
  'tasks/pushNotificationConfig/get': 'GetTaskPushNotificationConfig',
  'tasks/pushNotificationConfig/list': 'ListTaskPushNotificationConfigs',
  'tasks/pushNotificationConfig/delete': 'DeleteTaskPushNotificationConfig',
  'agent/getAuthenticatedExtendedCard': 'GetExtendedAgentCard',
};

const ROLES: Record<string, string> = { user: 'ROLE_USER', agent: 'ROLE_AGENT' };

export function currentMethod(method: string): string {
  return METHODS[method] ?? method;
}

/**
 * Translates the message and `configuration.blocking`; the rest is the same in both versions. Parameters that
 * already follow 1.0 are accepted.
 */
export function currentParameters(parameters: Record<string, unknown>): Record<string, unknown> {
  const { message, configuration } = parameters;
  return {
    ...parameters,
    ...(isRecord(message) ? { message: currentMessage(message) } : {}),
    ...(isRecord(configuration) ? { configuration: currentConfiguration(configuration) } : {}),
  };
}

function currentMessage(message: Record<string, unknown>): Record<string, unknown> {
  const { kind: _, role, parts, ...rest } = message;
  return {
    ...rest,
    role: typeof role === 'string' ? (ROLES[role] ?? role) : role,
    parts: Array.isArray(parts)
      ? parts.map((part: unknown) => (isRecord(part) ? currentPart(part) : part))
      : parts,
  };
}

function currentPart(given: Record<string, unknown>): Record<string, unknown> {
  const { kind: _, file, ...part } = given;
  if (!isRecord(file)) return part;
  const { bytes, uri, mimeType, name } = file;
  return {
    ...part,
    ...(bytes === undefined ? {} : { raw: bytes }),
    ...(uri === undefined ? {} : { url: uri }),
    ...(mimeType === undefined ? {} : { mediaType: mimeType }),
    ...(name === undefined ? {} : { filename: name }),
  };
}

function currentConfiguration({
  blocking,
  ...configuration
}: Record<string, unknown>): Record<string, unknown> {
  return { ...configuration, ...(typeof blocking === 'boolean' ? { returnImmediately: !blocking } : {}) };
}
