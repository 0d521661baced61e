/** A response of server-sent events that the API of another standard writes itself. */
import { Readable } from 'node:stream';
import type { Context } from 'koa';

/** Buffered bytes per client, besides its socket; nothing more is read until the client takes them. */
export const UNREAD_BYTES = 64 * 1024;

export function openEventStream(ctx: Context, chunks: AsyncIterable<string>): void {
  ctx.status = 200;
  ctx.set({
    'Content-Type': 'text/event-stream; charset=utf-8',
    'Cache-Control': 'no-store',
    'X-Accel-Buffering': 'no',
  });
  ctx.req.socket.setNoDelay(true);
  ctx.body = Readable.from(chunks, { objectMode: false, highWaterMark: UNREAD_BYTES });
  ctx.flushHeaders();
}
