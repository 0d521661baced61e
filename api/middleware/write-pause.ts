import type { Middleware, Next } from 'koa';

import { AppError } from '../../domain/errors.ts';
import type { WritePause, WritePauseWatch } from '../../domain/operations/write-pause.ts';

const READS = new Set(['GET', 'HEAD', 'OPTIONS']);
/** Who works on a job keeps it, else the job would be lost to them. */
const HEARTBEAT = /^(?:\/api\/v1)?\/jobs\/[^/]+\/heartbeat$/;
/** While an operator looks at a copy that is paused. Nothing outside is told of it. */
const LOG_IN =
  /^(?:\/api\/v1)?\/(?:console\/session|auth\/(?:token|revoke|passkey|authorize|device|device\/decision))$/;
/** A pause is prolonged as long as it is needed, so clients ask again before the lease would end. */
const MAX_RETRY_SECONDS = 10;

/** Refuses what changes something while writes are paused. */
export function writePauseMiddleware(watch: WritePauseWatch): Middleware {
  const unlessPaused = async (path: string, next: Next): Promise<void> => {
    const pause = await watch.current();
    if (pause !== null && !(pause.leftMs === null && LOG_IN.test(path))) throw writesPaused(pause);
    await next();
  };
  return (ctx, next) =>
    READS.has(ctx.method) || HEARTBEAT.test(ctx.path) ? next() : unlessPaused(ctx.path, next);
}

export function writesPaused({ reason, leftMs }: WritePause): AppError {
  const wait = leftMs === null ? MAX_RETRY_SECONDS : Math.max(1, Math.ceil(leftMs / 1_000));
  const seconds = Math.min(wait, MAX_RETRY_SECONDS);
  const [until, then] =
    leftMs === null
      ? ['until an operator ends the pause', '']
      : ['for a moment', ` Try again in ${seconds} seconds.`];
  const what = `Changes are not possible ${until} (${reason}). Reading goes on.${then}`;
  return new AppError('unavailable', 'writes_paused', what, { headers: { 'Retry-After': String(seconds) } });
}
