import type { Middleware } from 'koa';
import { v7 as uuidv7 } from 'uuid';

import type { Logger } from '../../config/logger.ts';

/** Gives every request an id (a caller's own is kept), and logs one line when it is answered. */
export function requestIdMiddleware(logger: Logger): Middleware {
  return async (ctx, next) => {
    const own = ctx.get('x-request-id');
    const requestId = /^[\x21-\x7e]{1,128}$/.test(own) ? own : uuidv7();
    const startedMs = performance.now();
    ctx.state['requestId'] = requestId;
    ctx.set('X-Request-Id', requestId);
    ctx.set('X-Content-Type-Options', 'nosniff');
    ctx.res.once('close', () => {
      const durationMs = Math.round(performance.now() - startedMs);
      logger.info(
        { request_id: requestId, method: ctx.method, path: loggedPath(ctx.path), status: ctx.status, duration_ms: durationMs, user_id: ctx.state['actor']?.id },
        'request',
      );
    });
    await next();
  };
}

/** Without a capability that it may hold. */
export function loggedPath(path: string): string {
  return path.replace(/^((?:\/api\/v1)?\/temporal-codec\/)[^/]+/, '$1[redacted]');
}
