import type { Middleware, Next } from 'koa';

import { AppError } from '../../domain/errors.ts';
import type { WritePause, WritePauseWatch } from '../../domain/operations/write-pause.ts';

const READS = new Set(['GET', 'HEAD', 'OPTIONS']);
/** Who works on a job keeps it, else the job would be lost to them. */
const HEARTBEAT = /^(?:\/api\/v1)?\/jobs\/[^/]+\/heartbeat$/;
/** A pause is prolonged as long as it is needed, so clients ask again before the lease would end. */
const MAX_RETRY_SECONDS = 10;

/** Refuses what changes something while writes are paused. */
export function writePauseMiddleware(watch: WritePauseWatch): Middleware {
  const unlessPaused = async (next: Next): Promise<void> => {
    const pause = await watch.current();
    if (pause !== null) throw writesPaused(pause);
    await next();
  };
  return (ctx, next) => (READS.has(ctx.method) || HEARTBEAT.test(ctx.path) ? next() : unlessPaused(next));
}

export function writesPaused({ reason, leftMs }: WritePause): AppError {
  const seconds = Math.min(Math.max(1, Math.ceil(leftMs / 1_000)), MAX_RETRY_SECONDS);
  return new AppError(
    'unavailable',
    'writes_paused',
    `Changes are not possible for a moment (${reason}). Reading goes on. Try again in ${seconds} seconds.`,
    { headers: { 'Retry-After': String(seconds) } },
  );
}
