/**
 * Checks the fields of 0.3 requests that the SDK's translation assumes. Missing or invalid ones are -32602
 * instead of an internal error.
 */
import { isRecord } from '../../contracts/is-record.ts';
import { invalid, MAX_LISTED_ERRORS, type FieldError } from '../../domain/errors.ts';
import { HISTORY_LENGTH_RULE, isHistoryLength } from './methods/fields.ts';

export function checkLegacyParams(method: string, params: Record<string, unknown>): void {
  const errors: FieldError[] = [];
  const requireThat = (condition: boolean, pointer: string, message: string): void => {
    if (!condition && errors.length <= MAX_LISTED_ERRORS) errors.push({ pointer, code: 'invalid', message });
  };
  switch (method) {
    case 'message/send':
    case 'message/stream':
      checkMessage(params['message'], requireThat);
      checkConfiguration(params['configuration'], requireThat);
      break;
    case 'tasks/pushNotificationConfig/set': {
      const config = params['pushNotificationConfig'];
      requireThat(isText(params['taskId']), '/taskId', 'taskId is required');
      requireThat(
        isRecord(config) && isText(config['url']),
        '/pushNotificationConfig/url',
        'pushNotificationConfig.url is required',
      );
      break;
    }
    case 'tasks/pushNotificationConfig/delete':
      requireThat(isText(params['id']), '/id', 'id is required');
      requireThat(
        isText(params['pushNotificationConfigId']),
        '/pushNotificationConfigId',
        'pushNotificationConfigId is required',
      );
      break;
    case 'agent/getAuthenticatedExtendedCard':
      break;
    default:
      requireThat(isText(params['id']), '/id', 'id is required');
      requireThat(isLength(params['historyLength']), '/historyLength', HISTORY_LENGTH_RULE);
  }
  if (errors.length > 0) throw invalid(errors, errors.map(({ message }) => message).join('; '));
}

type RequireThat = (condition: boolean, pointer: string, message: string) => void;

function checkMessage(message: unknown, requireThat: RequireThat): void {
  if (!isRecord(message)) {
    requireThat(false, '/message', 'message is required');
    return;
  }
  requireThat(isText(message['messageId']), '/message/messageId', 'message.messageId is required');
  requireThat(message['role'] === 'user', '/message/role', 'message.role must be "user"');
  requireThat(
    Array.isArray(message['parts']) && message['parts'].length > 0,
    '/message/parts',
    'message.parts must have at least one part',
  );
  for (const key of ['taskId', 'contextId'])
    requireThat(
      message[key] === undefined || message[key] === null || typeof message[key] === 'string',
      `/message/${key}`,
      `message.${key} must be a string`,
    );
  const parts: unknown[] = Array.isArray(message['parts']) ? message['parts'] : [];
  parts.forEach((part, index) =>
    requireThat(
      isPart(part),
      `/message/parts/${index}`,
      'a part must be of kind text (with text), file (with file.bytes or file.uri) or data (with data)',
    ),
  );
}

function isPart(part: unknown): boolean {
  if (!isRecord(part)) return false;
  if (part['kind'] === 'text') return typeof part['text'] === 'string';
  if (part['kind'] === 'data') return part['data'] !== undefined;
  const { file } = part;
  return (
    part['kind'] === 'file' &&
    isRecord(file) &&
    (typeof file['bytes'] === 'string' || typeof file['uri'] === 'string')
  );
}

function checkConfiguration(configuration: unknown, requireThat: RequireThat): void {
  if (configuration === undefined || configuration === null) return;
  if (!isRecord(configuration)) {
    requireThat(false, '/configuration', 'configuration must be an object');
    return;
  }
  const { historyLength, acceptedOutputModes, pushNotificationConfig: push } = configuration;
  requireThat(isLength(historyLength), '/configuration/historyLength', HISTORY_LENGTH_RULE);
  requireThat(
    acceptedOutputModes === undefined || acceptedOutputModes === null || Array.isArray(acceptedOutputModes),
    '/configuration/acceptedOutputModes',
    'acceptedOutputModes must be a list',
  );
  requireThat(
    push === undefined || push === null || (isRecord(push) && isText(push['url'])),
    '/configuration/pushNotificationConfig/url',
    'pushNotificationConfig.url is required',
  );
}

function isLength(value: unknown): boolean {
  return value === undefined || value === null || isHistoryLength(value);
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value.trim() !== '';
}
