import { getRandomValues } from 'node:crypto';
import type { Middleware } from 'koa';
import { v7 as uuidv7 } from 'uuid';

import type { Logger } from '../../config/logger.ts';
import { inThisTrace } from '../../tracing/context.ts';

/**
 * Gives every request an id, keeping a valid one from the caller, and logs one line when the response ends.
 */
export function requestIdMiddleware(logger: Logger): Middleware {
  return (ctx, next) => {
    const own = ctx.get('x-request-id');
    const requestId = /^[\x21-\x7e]{1,128}$/.test(own) ? own : newRequestId();
    const startedMs = performance.now();
    ctx.state['requestId'] = requestId;
    ctx.set('X-Request-Id', requestId);
    ctx.set('X-Content-Type-Options', 'nosniff');
    const log = inThisTrace(() => {
      const durationMs = Math.round(performance.now() - startedMs);
      logger.info(
        {
          request_id: requestId,
          method: ctx.method,
          path: loggedPath(ctx.path),
          status: ctx.status,
          duration_ms: durationMs,
          user_id: ctx.state['actor']?.id,
        },
        'request',
      );
    });
    ctx.res.once('close', log);
    return next();
  };
}

/** Random bytes for many ids: the system is asked once for all of them. */
const random = { bytes: new Uint8Array(16 * 256), used: Number.POSITIVE_INFINITY };

function newRequestId(): string {
  if (random.used >= random.bytes.length) {
    getRandomValues(random.bytes);
    random.used = 0;
  }
  const end = random.used + 16;
  const id = uuidv7({ random: random.bytes.subarray(random.used, end) });
  random.used = end;
  return id;
}

const MAX_LOGGED_PATH = 1_000;

/** The beginning of the path, without the secrets in addresses of the codec, of callbacks and of mails. */
export function loggedPath(path: string): string {
  return path
    .slice(0, MAX_LOGGED_PATH)
    .replace(
      /^((?:\/api\/v1)?\/(?:temporal-codec|callbacks|notifications\/unsubscribe|decide)\/)[^/]+/,
      '$1[redacted]',
    );
}
