/** What the SDK's 0.3 translation takes for granted: missing or wrong fields are -32602, not a failure of ours. */
import { isRecord } from '../../contracts/is-record.ts';
import { invalid } from '../../domain/errors.ts';
import type { FieldError } from '../../domain/errors.ts';

export function checkLegacyParams(method: string, params: Record<string, unknown>): void {
  const errors: FieldError[] = [];
  const need = (condition: boolean, pointer: string, message: string): void => {
    if (!condition) errors.push({ pointer, code: 'invalid', message });
  };
  switch (method) {
    case 'message/send':
    case 'message/stream':
      checkMessage(params['message'], need);
      checkConfiguration(params['configuration'], need);
      break;
    case 'tasks/pushNotificationConfig/set': {
      const config = params['pushNotificationConfig'];
      need(isText(params['taskId']), '/taskId', 'taskId is required');
      need(isRecord(config) && isText(config['url']), '/pushNotificationConfig/url', 'pushNotificationConfig.url is required');
      break;
    }
    case 'tasks/pushNotificationConfig/delete':
      need(isText(params['id']), '/id', 'id is required');
      need(isText(params['pushNotificationConfigId']), '/pushNotificationConfigId', 'pushNotificationConfigId is required');
      break;
    case 'agent/getAuthenticatedExtendedCard':
      break;
    default:
      need(isText(params['id']), '/id', 'id is required');
      need(isLength(params['historyLength']), '/historyLength', 'historyLength must be an integer, 0 or more');
  }
  if (errors.length > 0) throw invalid(errors, errors.map(({ message }) => message).join('; '));
}

type Need = (condition: boolean, pointer: string, message: string) => void;

function checkMessage(message: unknown, need: Need): void {
  if (!isRecord(message)) {
    need(false, '/message', 'message is required');
    return;
  }
  need(isText(message['messageId']), '/message/messageId', 'message.messageId is required');
  need(message['role'] === 'user', '/message/role', 'message.role must be "user"');
  need(Array.isArray(message['parts']) && message['parts'].length > 0, '/message/parts', 'message.parts must have at least one part');
  for (const key of ['taskId', 'contextId']) need(message[key] === undefined || message[key] === null || typeof message[key] === 'string', `/message/${key}`, `message.${key} must be a string`);
  const parts: unknown[] = Array.isArray(message['parts']) ? message['parts'] : [];
  parts.forEach((part, index) => need(isPart(part), `/message/parts/${index}`, 'a part has kind text with text, file with file.bytes or file.uri, or data with data'));
}

function isPart(part: unknown): boolean {
  if (!isRecord(part)) return false;
  if (part['kind'] === 'text') return typeof part['text'] === 'string';
  if (part['kind'] === 'data') return part['data'] !== undefined;
  const { file } = part;
  return part['kind'] === 'file' && isRecord(file) && (typeof file['bytes'] === 'string' || typeof file['uri'] === 'string');
}

function checkConfiguration(configuration: unknown, need: Need): void {
  if (configuration === undefined || configuration === null) return;
  if (!isRecord(configuration)) {
    need(false, '/configuration', 'configuration must be an object');
    return;
  }
  const { historyLength, acceptedOutputModes, pushNotificationConfig: push } = configuration;
  need(isLength(historyLength), '/configuration/historyLength', 'historyLength must be an integer, 0 or more');
  need(acceptedOutputModes === undefined || acceptedOutputModes === null || Array.isArray(acceptedOutputModes), '/configuration/acceptedOutputModes', 'acceptedOutputModes must be a list');
  need(push === undefined || push === null || (isRecord(push) && isText(push['url'])), '/configuration/pushNotificationConfig/url', 'pushNotificationConfig.url is required');
}

function isLength(value: unknown): boolean {
  return value === undefined || value === null || (Number.isInteger(value) && Number(value) >= 0);
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value.trim() !== '';
}
