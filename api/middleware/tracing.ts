import type { Middleware } from 'koa';
import { contextOfCaller, failed, inSpan, SpanKind } from '../../tracing/context.ts';
import { loggedPath } from './request-id.ts';

/** What probes and scrapers ask for all the time. */
const UNTRACED = /^(?:\/api\/v1)?\/(?:healthz|readyz|metrics)$/;
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/**
 * A span for each request, until the end of its response, in the trace of the caller if they have sent one
 * (semantic conventions "HTTP server"). It has no query, headers or bodies.
 */
export const tracingMiddleware: Middleware = (ctx, next) => {
  if (UNTRACED.test(ctx.path)) return next();
  const method = METHODS.has(ctx.method) ? ctx.method : '_OTHER';
  const ended = new Promise<void>((resolve) => ctx.res.once('close', resolve));
  const attributes = {
    'http.request.method': method,
    'url.scheme': ctx.protocol,
    'url.path': loggedPath(ctx.path),
    'network.protocol.version': ctx.req.httpVersion,
  };
  const { promise: handled, resolve, reject } = Promise.withResolvers<void>();
  void inSpan(
    method,
    { kind: SpanKind.SERVER, attributes },
    async (span) => {
      await Promise.resolve(next()).then(resolve, reject);
      await ended;
      const route: unknown = ctx.state['route'];
      if (typeof route === 'string') {
        span.updateName(`${method} ${route}`);
        span.setAttribute('http.route', route);
      }
      span.setAttribute('http.response.status_code', ctx.status);
      if (ctx.status >= 500) failed(span, String(ctx.status));
    },
    { parent: contextOfCaller(ctx.headers) },
  );
  return handled;
};
