import { fault } from '../contracts/fault.ts';
import type { EgressPolicy } from './egress.ts';
import { egressFetch } from './egress-fetch.ts';
import { watched } from './watched.ts';

export interface StreamingLimits {
  /** Of any one exchange. */
  timeoutMs: number;
  /** A stream that is silent for longer is broken off: comments of keep-alive count as life. */
  idleMs: number;
  maxBytes: number;
}

/**
 * A `fetch` through the egress policy whose answers come as streams where the request accepts `text/event-stream`; all
 * others are read whole. Ends with the reason of `init.signal`.
 */
export function streamingFetch(egress: EgressPolicy, limits: StreamingLimits): typeof fetch {
  return async (resource, init) => {
    const signal = init?.signal ?? new AbortController().signal;
    const headers = Object.fromEntries(new Headers(init?.headers ?? undefined));
    const whole = egressFetch(egress, { timeoutMs: limits.timeoutMs, signal, maxBytes: limits.maxBytes });
    if (headers['accept'] !== 'text/event-stream') return whole(resource, init);
    const url = resource instanceof Request ? resource.url : String(resource);
    const silence = new AbortController();
    const answer = await egress.stream({
      url,
      method: (init?.method ?? 'GET').toUpperCase(),
      headers,
      ...(typeof init?.body === 'string' ? { body: init.body } : {}),
      timeoutMs: limits.timeoutMs,
      signal: AbortSignal.any([signal, silence.signal]),
    });
    const events = (answer.headers['content-type'] ?? '').startsWith('text/event-stream');
    const chunks = events ? watched(answer.chunks, silence, limits.idleMs) : bounded(answer.chunks, limits.maxBytes);
    return new Response(streamOf(chunks, () => silence.abort(new Error('nobody reads on'))), { status: answer.status, headers: answer.headers });
  };
}

/** As `ReadableStream.from`, but leaving it ends the connection at once, not with the next chunk. */
function streamOf(chunks: AsyncGenerator<Uint8Array>, leave: () => void): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await chunks.next();
        if (done === true) controller.close();
        else controller.enqueue(value);
      },
      cancel: leave,
    },
    { highWaterMark: 0 },
  );
}

async function* bounded(chunks: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<Uint8Array> {
  let size = 0;
  for await (const chunk of chunks) {
    size += chunk.length;
    if (size > maxBytes) throw fault('communication', `The answer is larger than ${maxBytes} bytes`, { status: 502 });
    yield chunk;
  }
}
