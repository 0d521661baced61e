/** Server-Sent Events with a sign of life every 3 s: a default Python client drops a stream after 5 s of silence. */
import { Readable } from 'node:stream';
import type { Context } from 'koa';

const KEEP_ALIVE_MS = 3_000;
/** So long the first event may take before the stream is opened without it; an error before is a plain answer. */
const FIRST_WAIT_MS = 1_000;

export interface SseSource {
  /** What each event's `data` is; throws for what could not begin. */
  events: AsyncGenerator<unknown, void, undefined>;
  /** `id:` of the event that came last. */
  lastId: () => string | null;
  /** `data` of an error that comes when the stream is open. */
  onError: (error: unknown) => unknown;
  /** An error before the first event is an event too, not an answer of its own. */
  errorsInStream?: boolean;
}

/** Answers with the stream. @throws what the source throws before its first event. */
export async function sendEvents(ctx: Context, { events, lastId, onError, errorsInStream = false }: SseSource): Promise<void> {
  const first = events.next();
  // Whoever awaits it later sees the failure; until then it is not unhandled.
  first.catch(() => {});
  await within(first, FIRST_WAIT_MS).catch((error: unknown) => {
    if (!errorsInStream) throw error;
  });
  ctx.status = 200;
  ctx.set({ 'Content-Type': 'text/event-stream; charset=utf-8', 'Cache-Control': 'no-store', 'X-Accel-Buffering': 'no' });
  ctx.req.socket.setNoDelay(true);
  ctx.body = Readable.from(chunks(events, first, lastId, onError), { objectMode: false, highWaterMark: 64 * 1024 });
  ctx.flushHeaders();
}

async function* chunks(events: SseSource['events'], first: Promise<IteratorResult<unknown, void>>, lastId: SseSource['lastId'], onError: SseSource['onError']): AsyncGenerator<string> {
  try {
    for (let next = first; ; next = events.next()) {
      next.catch(() => {});
      let result = await within(next, KEEP_ALIVE_MS);
      while (result === null) {
        yield ': keep-alive\n\n';
        result = await within(next, KEEP_ALIVE_MS);
      }
      if (result.done) return;
      const id = lastId();
      yield `${id === null ? '' : `id: ${id}\n`}data: ${JSON.stringify(result.value)}\n\n`;
    }
  } catch (error) {
    yield `data: ${JSON.stringify(onError(error))}\n\n`;
  } finally {
    await events.return();
  }
}

/** Null if it takes longer. */
async function within<T>(promise: Promise<T>, ms: number): Promise<T | null> {
  let timer: NodeJS.Timeout | undefined;
  try {
    return await Promise.race([
      promise,
      new Promise<null>((resolve) => {
        timer = setTimeout(resolve, ms, null);
      }),
    ]);
  } finally {
    clearTimeout(timer);
  }
}
