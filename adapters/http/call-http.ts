/** The DSL's `call: http` (dsl-reference.md "HTTP Call"). */
import type { HttpCall, HttpResult } from '../../domain/ports.ts';
import { endpointOf, exchange, standardHeaders, type HttpTools } from './call-exchange.ts';
import { addQuery, bodyOf, headersOf, methodOf } from './message.ts';

export function createHttpCaller(tools: HttpTools): { http(call: HttpCall): Promise<HttpResult> } {
  return {
    http: (call) =>
      exchange(tools, call, async () => {
        const { method: configured, endpoint, body, query, output, redirect } = call.with;
        const method = methodOf(configured);
        const { uri, authentication } = endpointOf(endpoint);
        const headers = { ...standardHeaders(call), ...headersOf(call.with['headers']) };
        const encoded =
          body === undefined || body === null ? null : bodyOf(body, headers['content-type'], true);
        if (encoded !== null) headers['content-type'] = encoded.contentType;
        const shownMethod = typeof configured === 'string' ? configured : method;
        return {
          method,
          shownMethod,
          url: addQuery(uri, query),
          headers,
          body: encoded?.body ?? null,
          authentication,
          output,
          redirect,
        };
      }),
  };
}
