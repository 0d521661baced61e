/**
 * Converts between JSON values and the parts of HTTP messages; shared by agents of kind `api` and the DSL's
 * `call: http`.
 */
import { fault, type Fault } from '../../contracts/fault.ts';
import { headerNameProblem, isHeaderValue } from '../../contracts/header-rules.ts';
import type { EgressResponse } from '../egress/egress.ts';
import type { Sensitive } from '../secrets/sensitive.ts';
import { isJsonType, isTextual } from './media-types.ts';

/** How a counterpart's text gets into a message. */
export type Words = Pick<Sensitive, 'redact' | 'quote'>;

const MAX_MESSAGE_LENGTH = 300;

/** In upper case; throws `Fault` for an invalid method. */
export function methodOf(method: unknown): string {
  const name = typeof method === 'string' ? method.trim().toUpperCase() : '';
  if (!/^[A-Z]{1,20}$/.test(name) || name === 'CONNECT' || name === 'TRACE')
    throw fault('configuration', 'The HTTP method is not one that can be sent');
  return name;
}

/** Names are in lower case; null values are left out. */
export function headersOf(values: unknown): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(objectOf(values, 'headers'))) {
    if (value === null || value === undefined) continue;
    const key = name.toLowerCase();
    const problem = headerNameProblem(name);
    if (problem !== null) throw fault('configuration', `${JSON.stringify(key.slice(0, 60))} ${problem}`);
    const text = textOf(value);
    if (!isHeaderValue(text)) throw fault('validation', `The header ${key} has a value that cannot be sent`);
    headers[key] = text.trim();
  }
  return headers;
}

/** Lists repeat the parameter, objects are sent as JSON, null is left out. */
export function addQuery(url: string, values: unknown): string {
  const pairs = Object.entries(objectOf(values, 'query')).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value])
      .filter((item) => item !== null && item !== undefined)
      .map((item): [string, string] => [name, textOf(item)]),
  );
  if (pairs.length === 0) return url;
  const [rest = '', ...fragment] = url.split('#');
  const query = new URLSearchParams(pairs).toString();
  const joint = rest.includes('?') ? (/[?&]$/.test(rest) ? '' : '&') : '?';
  return [`${rest}${joint}${query}`, ...fragment].join('#');
}

/** Encodes by the content type. The default is JSON; with `plainStrings` it is plain text for strings. */
export function bodyOf(
  value: unknown,
  contentType: string | undefined,
  plainStrings: boolean,
): { body: string; contentType: string } {
  const type = contentType?.split(';')[0]?.trim().toLowerCase();
  if (type === undefined) {
    return typeof value === 'string' && plainStrings
      ? { body: value, contentType: 'text/plain; charset=utf-8' }
      : { body: JSON.stringify(value), contentType: 'application/json' };
  }
  const same = contentType ?? type;
  if (typeof value === 'string' && (plainStrings || !isJsonType(type)))
    return { body: value, contentType: same };
  if (type === 'application/x-www-form-urlencoded')
    return { body: addQuery('', value).slice(1), contentType: same };
  return { body: JSON.stringify(value), contentType: same };
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function objectOf(values: unknown, field: string): Record<string, unknown> {
  if (values === undefined || values === null) return {};
  if (typeof values !== 'object' || Array.isArray(values))
    throw fault('configuration', `The ${field} must be an object`);
  return { ...values };
}

/**
 * The content of a response: parsed JSON, text as a string, null without content, and other content as
 * `binary` presents its base64. Without a content type: JSON if it parses, else text. Throws `Fault` for
 * invalid JSON.
 */
export function contentOf(
  answer: EgressResponse,
  binary: (base64: string, type: string) => unknown,
): unknown {
  const { bytes } = answer;
  if (bytes.length === 0) return null;
  const [type = '', ...parameters] = (answer.headers['content-type'] ?? '')
    .split(';')
    .map((part) => part.trim().toLowerCase());
  const charset =
    parameters
      .find((parameter) => parameter.startsWith('charset='))
      ?.slice(8)
      .replaceAll('"', '') ?? 'utf-8';
  if (type !== '' && !isTextual(type)) return binary(Buffer.from(bytes).toString('base64'), type);
  const text = decodeText(bytes, charset);
  if (isJsonType(type)) {
    try {
      return JSON.parse(text);
    } catch (error) {
      throw fault('communication', `${new URL(answer.url).host} answered with JSON that is not valid`, {
        status: 502,
        cause: error,
      });
    }
  }
  if (type !== '') return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function decodeText(bytes: Uint8Array, charset: string): string {
  try {
    return new TextDecoder(charset).decode(bytes);
  } catch {
    return new TextDecoder().decode(bytes);
  }
}

/**
 * The fault for an unexpected status: 401 and 403 have their own types, all others are `communication` with
 * that status.
 */
export function statusFault(answer: EgressResponse, method: string, { redact, quote }: Words): Fault {
  const { status } = answer;
  const url = new URL(answer.url);
  const reason = quote(messageIn(answer), MAX_MESSAGE_LENGTH);
  const name = status === 401 ? 'authentication' : status === 403 ? 'authorization' : 'communication';
  return fault(
    name,
    redact(`${method} ${url.origin}${url.pathname} answered ${status}${reason === '' ? '' : `: ${reason}`}`),
    { status },
  );
}

/** The counterpart's own message, if it is in one of the usual places. */
function messageIn(answer: EgressResponse): string {
  let content: unknown;
  try {
    content = contentOf(answer, () => null);
  } catch {
    return '';
  }
  return typeof content === 'string' ? (/^\s*</.test(content) ? '' : content) : firstText(content);
}

function firstText(content: unknown, depth = 0): string {
  if (typeof content !== 'object' || content === null || depth > 3) return '';
  for (const key of ['detail', 'message', 'error_description', 'error', 'title']) {
    const value: unknown = Object.entries(content).find(([name]) => name === key)?.[1];
    if (typeof value === 'string') return value;
    const inner = firstText(value, depth + 1);
    if (inner !== '') return inner;
  }
  return '';
}
