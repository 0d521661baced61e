import { fault } from '../../contracts/fault.ts';
import type { EgressPolicy } from './egress.ts';
import { limitSilence } from './limit-silence.ts';
import { streamOf } from './response-stream.ts';
import { textFetch } from './text-fetch.ts';

const EVENT_STREAM = 'text/event-stream';

export interface StreamingLimits {
  /** For one exchange. */
  timeoutMs: number;
  /** A stream that is silent for longer is cancelled; keep-alive comments count as activity. */
  idleMs: number;
  maxBytes: number;
}

/**
 * A `fetch` under the egress policy. Responses are streamed if the request accepts `text/event-stream`, else
 * read completely. Aborts with the reason of `init.signal`.
 */
export function streamingFetch(egress: EgressPolicy, limits: StreamingLimits): typeof fetch {
  const { timeoutMs, idleMs, maxBytes } = limits;
  return async (resource, init) => {
    const signal = init?.signal ?? new AbortController().signal;
    const headers = Object.fromEntries(new Headers(init?.headers ?? undefined));
    if (headers['accept'] !== EVENT_STREAM)
      return textFetch(egress, { timeoutMs, signal, maxBytes })(resource, init);
    const connection = new AbortController();
    const answer = await egress.stream({
      url: resource instanceof Request ? resource.url : String(resource),
      method: (init?.method ?? 'GET').toUpperCase(),
      headers,
      ...(typeof init?.body === 'string' ? { body: init.body } : {}),
      timeoutMs,
      signal: AbortSignal.any([signal, connection.signal]),
    });
    // A server may answer with something else, an error for example, which is not read without a bound.
    const isStream = (answer.headers['content-type'] ?? '').startsWith(EVENT_STREAM);
    const chunks = isStream
      ? limitSilence(answer.chunks, connection, idleMs)
      : limitSize(answer.chunks, maxBytes);
    const leave = (): void => connection.abort(new Error('the reader left the stream'));
    return new Response(streamOf(chunks, leave), { status: answer.status, headers: answer.headers });
  };
}

async function* limitSize(chunks: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<Uint8Array> {
  let size = 0;
  for await (const chunk of chunks) {
    size += chunk.length;
    if (size > maxBytes)
      throw fault('communication', `The answer is larger than ${maxBytes} bytes`, { status: 502 });
    yield chunk;
  }
}
