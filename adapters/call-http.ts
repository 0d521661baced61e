/** The DSL's `call: http` (dsl-reference.md "HTTP Call", "HTTP Response"). */
import { fault } from '../contracts/fault.ts';
import type { HttpCall, HttpResult } from '../domain/ports.ts';
import { dslCredentials } from './dsl-authentication.ts';
import type { EgressPolicy, EgressResponse } from './egress.ts';
import { headerSafe, withoutSecrets } from './call-settings.ts';
import { addQuery, bodyOf, contentOf, headersOf, methodOf, statusFault } from './http-message.ts';
import type { TokenSource } from './oauth-token.ts';
import { createSensitive } from './sensitive.ts';
import { expandUri } from './uri-template.ts';

/** Header names that the `response` output does not repeat. */
const CREDENTIAL_HEADERS = new Set(['authorization', 'cookie', 'set-cookie', 'x-api-key']);

/**
 * One request (two with digest). With `redirect: true` redirects are followed and 300–399 is no error; without it they are one.
 * Output as `output` says: `content` (JSON parsed, text, other content base64), `raw` (base64), `response`.
 */
export function createHttpCaller(deps: { egress: EgressPolicy; tokens: TokenSource }): { http(call: HttpCall): Promise<HttpResult> } {
  return {
    async http(call) {
      const startedAt = performance.now();
      const leftMs = (): number => Math.max(1, Math.round(call.timeoutMs - (performance.now() - startedAt)));
      const sensitive = createSensitive();
      for (const value of call.sensitive ?? []) sensitive.protect(value, '<SECRET>');
      try {
        const { method: given, endpoint, body, query, output = 'content', redirect = false } = call.with;
        const method = methodOf(given);
        const { uri, authentication } = endpointOf(endpoint);
        const url = addQuery(expandUri(uri, call.variables), query);
        const headers: Record<string, string> = { accept: 'application/json, */*;q=0.8', 'user-agent': 'Cadenza', 'idempotency-key': headerSafe(call.idempotencyKey), ...headersOf(call.with['headers']) };
        const encoded = body === undefined || body === null ? null : bodyOf(body, headers['content-type'], true);
        if (encoded !== null) headers['content-type'] = encoded.contentType;

        const credentials = await dslCredentials(authentication, call, { ...deps, sensitive, limits: { timeoutMs: leftMs(), signal: call.signal } });
        const send = (more: Record<string, string>): Promise<EgressResponse> =>
          deps.egress.request({
            url,
            method,
            headers: { ...headers, ...more },
            ...(encoded === null ? {} : { body: encoded.body }),
            timeoutMs: leftMs(),
            signal: call.signal,
            followRedirects: redirect === true,
          });
        let requests = 1;
        let answer = await send(credentials.headers);
        const again = answer.status === 401 ? credentials.challenged(answer, { method, url }) : null;
        if (again !== null) {
          requests = 2;
          answer = await send(again);
        }
        if (answer.status < 200 || answer.status > (redirect === true ? 399 : 299)) throw statusFault(answer, method, sensitive.redact);
        const result = outputOf(output, answer, { method: typeof given === 'string' ? given : method, uri: url, headers });
        return { output: sensitive.clean(result), usage: { requests, duration_ms: Math.round(performance.now() - startedAt) } };
      } catch (error) {
        throw withoutSecrets(error, sensitive);
      }
    },
  };
}

function endpointOf(endpoint: unknown): { uri: string; authentication: unknown } {
  if (typeof endpoint === 'string') return { uri: endpoint, authentication: undefined };
  if (typeof endpoint === 'object' && endpoint !== null && 'uri' in endpoint && typeof endpoint.uri === 'string') {
    return { uri: endpoint.uri, authentication: 'authentication' in endpoint ? endpoint.authentication : undefined };
  }
  throw fault('configuration', 'The endpoint must be a URI, or an object with a "uri"');
}

function outputOf(output: unknown, answer: EgressResponse, request: { method: string; uri: string; headers: Record<string, string> }): unknown {
  if (output === 'raw') return Buffer.from(answer.bytes).toString('base64');
  const content = contentOf(answer, (base64) => base64);
  if (output === 'content') return content;
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
