/**
 * Server-Sent Events with a keep-alive comment every 3 s: the Python client's default timeout drops a stream
 * after 5 s of silence.
 */
import type { Context } from 'koa';

import { openEventStream } from '../streams/event-stream.ts';

const KEEP_ALIVE_MS = 3_000;
/**
 * Waits this long for the first event before it sends headers, so that an early error can be a plain
 * response.
 */
const FIRST_WAIT_MS = 1_000;

export interface SseSource {
  /** `data` of each event. Its first `next()` rejects if the stream cannot start. */
  events: AsyncGenerator<unknown, void, undefined>;
  /** `id:` of the last event. */
  lastId: () => string | null;
  /** `data` of the event for an error that occurs once the stream is open. */
  onError: (error: unknown) => unknown;
  /** Sends an error from before the first event as an event too, instead of as a plain response. */
  errorsInStream?: boolean;
}

/** Answers with the stream. @throws the source's error from before its first event */
export async function sendEvents(
  ctx: Context,
  { events, lastId, onError, errorsInStream = false }: SseSource,
): Promise<void> {
  const first = events.next();
  // Handled where it is awaited; this avoids an unhandled rejection until then.
  first.catch(() => {});
  await within(first, FIRST_WAIT_MS).catch((error: unknown) => {
    if (!errorsInStream) throw error;
  });
  openEventStream(ctx, chunks(events, first, lastId, onError));
}

async function* chunks(
  events: SseSource['events'],
  first: Promise<IteratorResult<unknown, void>>,
  lastId: SseSource['lastId'],
  onError: SseSource['onError'],
): AsyncGenerator<string> {
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

/** Resolves to null after `ms`. */
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
