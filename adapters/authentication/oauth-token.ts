import { createHash } from 'node:crypto';
import { fault } from '../../contracts/fault.ts';
import type { EgressPolicy } from '../egress/egress.ts';
import { bodyOf } from '../http/message.ts';

const MAX_CACHED = 500;
const DEFAULT_LIFETIME_MS = 5 * 60_000;
/** A token is not used this shortly before its expiry, because it could expire in transit. */
const MARGIN_MS = 30_000;

export interface TokenRequest {
  tokenUrl: string;
  /** Parameters of the token request (RFC 6749 §4), except the client's. */
  parameters: Record<string, string>;
  clientId?: string;
  clientSecret?: string;
  clientAuthentication: 'client_secret_basic' | 'client_secret_post' | 'none';
  /** Default: form. */
  encoding?: 'application/json' | 'application/x-www-form-urlencoded';
}

export interface TokenSource {
  /** An access token, cached while it is valid. Throws a `Fault` without secrets in its text. */
  token(request: TokenRequest, limits: { timeoutMs: number; signal: AbortSignal }): Promise<string>;
  /** Call when a counterpart refuses the token, so that the next call fetches a new one. */
  forget(request: TokenRequest): void;
}

/** Caches tokens in this process only. The key covers the whole request, including credentials. */
export function createTokenSource(egress: EgressPolicy): TokenSource {
  const cache = new Map<string, { token: string; until: number }>();

  return {
    async token(request, limits) {
      const key = keyOf(request);
      const cached = cache.get(key);
      if (cached !== undefined && cached.until > Date.now()) return cached.token;
      const fetched = await fetchToken(egress, request, limits);
      cache.delete(key);
      const oldest = cache.keys().next();
      if (cache.size >= MAX_CACHED && oldest.done !== true) cache.delete(oldest.value);
      cache.set(key, { token: fetched.token, until: Date.now() + fetched.lifetimeMs - MARGIN_MS });
      return fetched.token;
    },
    forget(request) {
      cache.delete(keyOf(request));
    },
  };
}

async function fetchToken(
  egress: EgressPolicy,
  request: TokenRequest,
  limits: { timeoutMs: number; signal: AbortSignal },
) {
  const { clientId, clientSecret, clientAuthentication } = request;
  const inBody = clientAuthentication === 'client_secret_post';
  const parameters = {
    ...request.parameters,
    ...(clientId !== undefined && clientAuthentication !== 'client_secret_basic'
      ? { client_id: clientId }
      : {}),
    ...(clientSecret !== undefined && inBody ? { client_secret: clientSecret } : {}),
  };
  const { body, contentType } = bodyOf(
    parameters,
    request.encoding ?? 'application/x-www-form-urlencoded',
    true,
  );
  const answer = await egress.request({
    url: request.tokenUrl,
    method: 'POST',
    headers: {
      accept: 'application/json',
      'content-type': contentType,
      ...(clientAuthentication === 'client_secret_basic'
        ? { authorization: basicCredentials(formEncode(clientId ?? ''), formEncode(clientSecret ?? '')) }
        : {}),
    },
    body,
    ...limits,
    followRedirects: false,
  });
  const host = new URL(request.tokenUrl).host;
  const content = parseObject(answer.bytes);
  if (answer.status >= 500)
    throw fault('communication', `The token endpoint of ${host} answered ${answer.status}`, {
      status: answer.status,
    });
  if (answer.status !== 200 && answer.status !== 201) {
    const code =
      typeof content['error'] === 'string' && /^[a-z_]{1,60}$/.test(content['error'])
        ? ` (${content['error']})`
        : '';
    throw fault('authentication', `The token endpoint of ${host} refused with ${answer.status}${code}`);
  }
  const token = content['access_token'];
  if (typeof token !== 'string' || token === '')
    throw fault('authentication', `The token endpoint of ${host} answered without an access token`);
  const seconds = Number(content['expires_in'] ?? Number.NaN);
  return { token, lifetimeMs: Number.isFinite(seconds) ? seconds * 1000 : DEFAULT_LIFETIME_MS };
}

/** The value of an `Authorization` header (RFC 7617). */
export function basicCredentials(username: string, password: string): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
}

/** RFC 6749 §2.3.1: client id and secret are form-encoded before Basic encoding. */
function formEncode(text: string): string {
  return new URLSearchParams([['', text]]).toString().slice(1);
}

function keyOf(request: TokenRequest): string {
  return createHash('sha256').update(JSON.stringify(request)).digest('base64');
}

function parseObject(bytes: Uint8Array): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(Buffer.from(bytes).toString());
    return typeof value === 'object' && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}
