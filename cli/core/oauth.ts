/** Requests for tokens (RFC 6749, 8628, 7009). Errors are OAuth's own, not problem documents. */
import { platform } from 'node:os';

import { isLasting } from '../../client/index.ts';
import { isRecord } from '../../contracts/is-record.ts';
import { CliError, EXIT } from './errors.ts';

export interface Tokens {
  access_token: string;
  refresh_token?: string;
  expires_in: number;
}

/** How the session is named in the list of the user's sessions: `cadenza-cli on Linux`. */
export const USER_AGENT = `cadenza-cli (${platform() === 'darwin' ? 'Macintosh' : 'Linux'})`;

/** A refusal such as `invalid_grant` or `authorization_pending`. */
export class OAuthRefusal extends CliError {
  /** Of `mfa_required`: what the second step answers. */
  challenge: string | undefined;
  /** Of the answer of the server, or of a proxy before it. */
  status: number | undefined;
}

export async function requestTokens(
  url: string,
  form: Record<string, string>,
  signal?: AbortSignal,
): Promise<Tokens> {
  const answer = await postForm(url, '/auth/token', form, signal);
  if (typeof answer['access_token'] !== 'string' || typeof answer['expires_in'] !== 'number')
    throw notCadenza(url, 'token');
  const { access_token: access, refresh_token: refresh, expires_in: expires } = answer;
  return {
    access_token: access,
    expires_in: expires,
    ...(typeof refresh === 'string' ? { refresh_token: refresh } : {}),
  };
}

export const notCadenza = (url: string, missing: string): CliError =>
  new CliError(`${url} is no Cadenza: its answer has no ${missing}.`, { code: 'not_cadenza' });

export async function postForm(
  url: string,
  path: string,
  form: Record<string, string>,
  signal?: AbortSignal,
): Promise<Record<string, unknown>> {
  const response = await send(`${url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded', 'user-agent': USER_AGENT },
    body: new URLSearchParams(form).toString(),
    ...(signal ? { signal } : {}),
  });
  const body: unknown = await response.json().catch(() => ({}));
  const answer = isRecord(body) ? body : {};
  if (response.ok) return answer;
  const code = textOf(answer['error']) ?? textOf(answer['code']) ?? `http_${response.status}`;
  const detail = textOf(answer['error_description']) ?? textOf(answer['detail']);
  const refusal = new OAuthRefusal(detail ?? `${url} answered with status ${response.status}.`, {
    code,
    // What passes by itself ends no session.
    exitCode: isLasting(response.status) ? EXIT.logIn : EXIT.failed,
  });
  refusal.challenge = textOf(answer['challenge']);
  refusal.status = response.status;
  throw refusal;
}

/** `fetch` that says which server it cannot reach, and why. */
export const send: typeof fetch = async (input, init) => {
  try {
    return await fetch(input, init);
  } catch (error) {
    if (init?.signal?.aborted === true || !(error instanceof TypeError)) throw error;
    const { origin } = new URL(input instanceof Request ? input.url : input);
    const cause = error.cause instanceof Error ? (reasonOf(error.cause) ?? error.message) : error.message;
    throw new CliError(`Cannot reach ${origin}: ${cause}. Is it running?`, {
      code: 'server_unreachable',
      hint: 'Look closer: cadenza doctor',
    });
  }
};

const reasonOf = (cause: Error): string | undefined =>
  'code' in cause && typeof cause.code === 'string' ? cause.code : cause.message || undefined;

const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;
