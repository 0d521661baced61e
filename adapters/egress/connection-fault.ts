import { fault, type Fault } from '../../contracts/fault.ts';
import { codeOf } from './error-code.ts';

const CONNECTION_WORDS: Record<string, string> = {
  ECONNREFUSED: 'refused the connection',
  ECONNRESET: 'closed the connection',
  EPIPE: 'closed the connection',
  ENOTFOUND: 'has no address in DNS',
  EAI_AGAIN: 'could not be looked up in DNS',
  EHOSTUNREACH: 'cannot be reached',
  ENETUNREACH: 'cannot be reached',
  ETIMEDOUT: 'cannot be reached',
  UND_ERR_CONNECT_TIMEOUT: 'did not accept a connection in time',
  UND_ERR_SOCKET: 'closed the connection',
  UND_ERR_HEADERS_OVERFLOW: 'sent too many headers',
};

/**
 * Why there was no response. Uses our own wording, because messages of libraries may quote header values.
 * `otherwise` is said of failures that have no words here.
 */
export function connectionFault(
  request: { url: string },
  error: unknown,
  otherwise = 'did not give a valid HTTP answer',
): Fault {
  const host = hostOf(request.url);
  const code = codeOf(error);
  if (code === 'UND_ERR_INVALID_ARG')
    return fault('configuration', `The request to ${host} has an invalid method or header`, { cause: error });
  const words =
    CONNECTION_WORDS[code] ??
    (code.startsWith('ERR_TLS') || /CERT|VERIFY/.test(code) ? 'has a certificate that is not trusted' : null);
  return words === null
    ? fault('communication', `${host} ${otherwise}${code === '' ? '' : ` (${code})`}`, {
        status: 502,
        cause: error,
      })
    : fault('communication', `${host} ${words}`, { status: 503, cause: error });
}

export function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : 'The address';
}
