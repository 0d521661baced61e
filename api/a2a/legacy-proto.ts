/**
 * Translates between the two REST dialects of A2A 0.3: its JSON (`kind`, lower-case states; the JS SDK) and
 * the ProtoJSON of its a2a.proto (`content`, TASK_STATE_…; the Python SDK). The server uses the JSON dialect
 * internally. Pure.
 */
import { isRecord } from '../../contracts/is-record.ts';

type Json = Record<string, unknown>;

/** ProtoJSON writes the role in upper case and names the parts `content`. */
export function isProtoMessage(message: unknown): boolean {
  return (
    isRecord(message) &&
    ('content' in message ||
      (typeof message['role'] === 'string' && message['role'].startsWith('ROLE_')) ||
      'message_id' in message)
  );
}

/** SendMessageRequest → MessageSendParams. */
export function sendParamsFromProto(body: Json): Json {
  const configuration = body['configuration'];
  return {
    message: messageFromProto(body['message']),
    ...(isRecord(configuration)
      ? {
          configuration: {
            ...camel(configuration),
            ...(isRecord(camel(configuration)['pushNotification'])
              ? { pushNotificationConfig: camel(camel(configuration)['pushNotification'] as Json) }
              : {}),
          },
        }
      : {}),
    ...(isRecord(body['metadata']) ? { metadata: body['metadata'] } : {}),
  };
}

function messageFromProto(message: unknown): unknown {
  if (!isRecord(message)) return message;
  const { content, parts, role, ...rest } = camel(message);
  const list = content ?? parts;
  return {
    ...rest,
    kind: 'message',
    role: role === 'ROLE_USER' ? 'user' : role === 'ROLE_AGENT' ? 'agent' : role,
    parts: Array.isArray(list) ? list.map(partFromProto) : list,
  };
}

function partFromProto(part: unknown): unknown {
  if (!isRecord(part)) return part;
  const metadata = isRecord(part['metadata']) ? { metadata: part['metadata'] } : {};
  if (typeof part['text'] === 'string') return { kind: 'text', text: part['text'], ...metadata };
  if (isRecord(part['file'])) {
    const { fileWithUri, fileWithBytes, mimeType, name } = camel(part['file']);
    return {
      kind: 'file',
      file: {
        ...(fileWithBytes ? { bytes: fileWithBytes } : fileWithUri ? { uri: fileWithUri } : {}),
        ...(mimeType ? { mimeType } : {}),
        ...(name ? { name } : {}),
      },
      ...metadata,
    };
  }
  if (isRecord(part['data']))
    return { kind: 'data', data: part['data']['data'] ?? part['data'], ...metadata };
  return part;
}

/** CreateTaskPushNotificationConfigRequest → TaskPushNotificationConfig; accepts both dialects. */
export function pushConfigFrom(body: Json, taskId: string): Json {
  const outer = camel(body);
  const config = isRecord(outer['config']) ? camel(outer['config']) : outer;
  const inner = isRecord(config['pushNotificationConfig']) ? camel(config['pushNotificationConfig']) : config;
  const { id, url, token, authentication } = inner;
  const named = id || outer['configId'];
  return {
    taskId,
    pushNotificationConfig: {
      url,
      ...(named ? { id: named } : {}),
      ...(token ? { token } : {}),
      ...(isRecord(authentication) ? { authentication } : {}),
    },
  };
}

/** Task, Message or an update → the `SendMessageResponse`/`StreamResponse` that holds it. */
export function responseToProto(result: unknown): Json {
  if (!isRecord(result)) return {};
  switch (result['kind']) {
    case 'task':
      return { task: taskToProto(result) };
    case 'message':
      return { message: messageToProto(result) };
    case 'status-update': {
      const { kind: _, status, ...rest } = result;
      return { statusUpdate: { ...rest, status: statusToProto(status) } };
    }
    case 'artifact-update': {
      const { kind: _, artifact, ...rest } = result;
      return { artifactUpdate: { ...rest, artifact: artifactToProto(artifact) } };
    }
    default:
      return result;
  }
}

export function taskToProto(task: unknown): Json {
  if (!isRecord(task)) return {};
  const { kind: _, status, artifacts, history, ...rest } = task;
  return {
    ...rest,
    status: statusToProto(status),
    ...(Array.isArray(artifacts) ? { artifacts: artifacts.map(artifactToProto) } : {}),
    ...(Array.isArray(history) ? { history: history.map(messageToProto) } : {}),
  };
}

/** Adds the resource name of the proto: `tasks/{id}/pushNotificationConfigs/{config}`. */
export function pushConfigToProto(config: unknown): Json {
  const { taskId, pushNotificationConfig: inner } = isRecord(config) ? config : {};
  const id = isRecord(inner) ? inner['id'] : undefined;
  return {
    name: `tasks/${String(taskId)}/pushNotificationConfigs/${String(id)}`,
    pushNotificationConfig: inner,
  };
}

function statusToProto(status: unknown): Json {
  if (!isRecord(status)) return {};
  const { state, message, timestamp } = status;
  // The 0.3 enum spells it CANCELLED, with two l.
  const name = state === 'canceled' ? 'CANCELLED' : String(state).toUpperCase().replaceAll('-', '_');
  return {
    state: `TASK_STATE_${name}`,
    ...(message === undefined ? {} : { message: messageToProto(message) }),
    ...(timestamp === undefined ? {} : { timestamp }),
  };
}

function messageToProto(message: unknown): Json {
  if (!isRecord(message)) return {};
  const { messageId, contextId, taskId, role, parts, metadata, extensions } = message;
  return defined({
    messageId,
    contextId,
    taskId,
    role: role === 'user' ? 'ROLE_USER' : 'ROLE_AGENT',
    content: Array.isArray(parts) ? parts.map(partToProto) : [],
    metadata,
    extensions,
  });
}

function artifactToProto(artifact: unknown): Json {
  if (!isRecord(artifact)) return {};
  const { parts } = artifact;
  return { ...artifact, parts: Array.isArray(parts) ? parts.map(partToProto) : [] };
}

function partToProto(part: unknown): Json {
  if (!isRecord(part)) return {};
  const { kind, text, file, data, metadata } = part;
  if (kind === 'text') return defined({ text, metadata });
  if (kind === 'data') return defined({ data: { data }, metadata });
  const { bytes, uri, mimeType, name } = isRecord(file) ? file : {};
  return defined({ file: defined({ fileWithBytes: bytes, fileWithUri: uri, mimeType, name }), metadata });
}

/**
 * Whether a client uses the proto's field names (snake_case) instead of ProtoJSON's. Such a client may not
 * understand camelCase, whereas every ProtoJSON parser must accept both.
 */
export function spellsLikeProto(body: Json): boolean {
  return isRecord(body['message']) && 'message_id' in body['message'];
}

/** Converts field names to snake_case. User data (`metadata`, `data`) stays as it is. */
export function snake(value: unknown, isUserData = false): unknown {
  if (isUserData) return value;
  if (Array.isArray(value)) return value.map((entry) => snake(entry));
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, entry]) => [
      key.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      snake(entry, key === 'metadata' || key === 'data'),
    ]),
  );
}

/** ProtoJSON parsers must accept both spellings of field names. */
function camel(record: Json): Json {
  return Object.fromEntries(
    Object.entries(record).map(([key, value]) => [
      key.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
      value,
    ]),
  );
}

function defined(record: Json): Json {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined));
}
