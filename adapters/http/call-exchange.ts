/**
 * Shared by `call: http` and `call: openapi`: authentication, the exchange, and the response as output
 * (dsl-reference.md "HTTP Response").
 */
import { fault } from '../../contracts/fault.ts';
import { isRecord } from '../../contracts/is-record.ts';
import type { HttpCall, HttpResult } from '../../domain/ports.ts';
import { headerSafe, withoutSecrets } from '../call-settings.ts';
import { dslCredentials } from '../authentication/dsl-authentication.ts';
import type { EgressPolicy, EgressRequest, EgressResponse } from '../egress/egress.ts';
import { contentOf, statusFault, type Words } from './message.ts';
import type { TokenSource } from '../authentication/oauth-token.ts';
import { createSensitive } from '../secrets/sensitive.ts';

/** Headers that the `response` output omits. */
const CREDENTIAL_HEADERS = new Set(['authorization', 'cookie', 'set-cookie', 'x-api-key']);

export interface HttpTools {
  egress: EgressPolicy;
  tokens: TokenSource;
}

export interface HttpRequest {
  /** Upper case; `shownMethod` is as the definition writes it. */
  method: string;
  shownMethod: string;
  url: string;
  /** Names are in lower case. */
  headers: Record<string, string>;
  body: string | null;
  /** A policy of the DSL, or undefined. */
  authentication: unknown;
  output: unknown;
  redirect: unknown;
}

type Sent = { answer: EgressResponse; requests: number };
export type Send = (
  request: Omit<EgressRequest, 'timeoutMs' | 'signal'>,
  authentication: unknown,
) => Promise<Sent>;

/** The default headers of every call. */
export function standardHeaders(call: HttpCall): Record<string, string> {
  return {
    accept: 'application/json, */*;q=0.8',
    'user-agent': 'Cadenza',
    'idempotency-key': headerSafe(call.idempotencyKey),
  };
}

/**
 * Builds a request, sends it (twice with digest) and returns the response as `output` selects: `content`
 * (parsed JSON, text, or base64), `raw` (base64), or `response`. With `redirect: true` redirects are followed
 * and 300–399 is not an error; otherwise it is one. `build` may send requests of its own. Throws a `Fault`
 * without secrets in its text.
 */
export async function exchange(
  tools: HttpTools,
  call: HttpCall,
  build: (send: Send, words: Words) => Promise<HttpRequest>,
): Promise<HttpResult> {
  const startedAt = performance.now();
  const leftMs = (): number => Math.max(1, Math.round(call.timeoutMs - (performance.now() - startedAt)));
  const sensitive = createSensitive();
  for (const value of call.sensitive ?? []) sensitive.protect(value, '<SECRET>');
  const send: Send = async (request, authentication) => {
    const { signal } = call;
    const credentials = await dslCredentials(authentication, call, {
      ...tools,
      sensitive,
      limits: { timeoutMs: leftMs(), signal },
    });
    const once = (more: Record<string, string>): Promise<EgressResponse> =>
      tools.egress.request({
        ...request,
        headers: { ...request.headers, ...more },
        timeoutMs: leftMs(),
        signal,
      });
    const answer = await once(credentials.headers);
    const again = answer.status === 401 ? credentials.challenged(answer, request) : null;
    return again === null ? { answer, requests: 1 } : { answer: await once(again), requests: 2 };
  };
  try {
    const request = await build(send, sensitive);
    const { method, url, headers, body, redirect } = request;
    const { answer, requests } = await send(
      { url, method, headers, ...(body === null ? {} : { body }), followRedirects: redirect === true },
      request.authentication,
    );
    if (answer.status < 200 || answer.status > (redirect === true ? 399 : 299))
      throw statusFault(answer, method, sensitive);
    const output = outputOf(request.output, answer, { method: request.shownMethod, uri: url, headers });
    return {
      output: sensitive.clean(output),
      usage: { requests, duration_ms: Math.round(performance.now() - startedAt) },
    };
  } catch (error) {
    throw withoutSecrets(error, sensitive);
  }
}

/**
 * The `$authorization` of a call (dsl.md "Authorization Descriptor"); null without an authentication. Digest
 * credentials depend on the request, so their parameter is empty.
 */
export async function authorizationOf(
  tools: HttpTools,
  policy: unknown,
  call: HttpCall,
): Promise<{ scheme: string; parameter: string } | null> {
  if (!isRecord(policy)) return null;
  const sensitive = createSensitive();
  try {
    const { timeoutMs, signal } = call;
    const credentials = await dslCredentials(policy, call, {
      ...tools,
      sensitive,
      limits: { timeoutMs, signal },
    });
    const [scheme = '', ...parameter] = (credentials.headers['authorization'] ?? 'Digest').split(' ');
    return { scheme, parameter: parameter.join(' ') };
  } catch (error) {
    throw withoutSecrets(error, sensitive);
  }
}

/** An endpoint of the DSL: a URI, or an object with a URI and an authentication. */
export function endpointOf(endpoint: unknown, field = 'endpoint'): { uri: string; authentication: unknown } {
  if (typeof endpoint === 'string') return { uri: endpoint, authentication: undefined };
  if (isRecord(endpoint) && typeof endpoint['uri'] === 'string')
    return { uri: endpoint['uri'], authentication: endpoint['authentication'] };
  throw fault('configuration', `The ${field} must be a URI, or an object with a "uri"`);
}

function outputOf(
  output: unknown,
  answer: EgressResponse,
  request: { method: string; uri: string; headers: Record<string, string> },
): unknown {
  if (output === 'raw') return Buffer.from(answer.bytes).toString('base64');
  const content = contentOf(answer, (base64) => base64);
  if (output === undefined || output === 'content') return content;
  if (output !== 'response') throw fault('configuration', 'output must be raw, content or response');
  return {
    request: { ...request, headers: shownHeaders(request.headers) },
    statusCode: answer.status,
    headers: shownHeaders(answer.headers),
    content,
  };
}

function shownHeaders(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !CREDENTIAL_HEADERS.has(name)));
}
