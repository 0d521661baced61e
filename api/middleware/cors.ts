import type { Middleware } from 'koa';

import { CODEC_PATH } from './codec-cors.ts';

const ALLOWED_HEADERS =
  'Authorization, Content-Type, Idempotency-Key, If-Match, Last-Event-ID, Mcp-Method, Mcp-Name, ' +
  'Mcp-Protocol-Version, Mcp-Session-Id, Prefer, X-Request-Id';
const EXPOSED_HEADERS =
  'ETag, Idempotency-Replayed, Link, Location, Mcp-Session-Id, Preference-Applied, Retry-After, ' +
  'WWW-Authenticate, X-Request-Id, X-Run-Id';

/** Allows these origins. Tokens travel in a header, so credentials mode is not needed. */
export function corsMiddleware(origins: readonly string[]): Middleware {
  const allowed = new Set(origins.map((origin) => new URL(origin).origin));
  return (ctx, next) => {
    if (CODEC_PATH.test(ctx.path)) return next();
    ctx.vary('Origin');
    const origin = ctx.get('origin');
    if (!allowed.has(origin)) return next();
    ctx.set('Access-Control-Allow-Origin', origin);
    ctx.set('Access-Control-Expose-Headers', EXPOSED_HEADERS);
    if (ctx.method === 'OPTIONS' && ctx.get('access-control-request-method')) {
      ctx.set('Access-Control-Allow-Methods', 'GET, HEAD, POST, PUT, PATCH, DELETE');
      ctx.set('Access-Control-Allow-Headers', ALLOWED_HEADERS);
      ctx.set('Access-Control-Max-Age', '600');
      ctx.status = 204;
      return undefined;
    }
    return next();
  };
}
