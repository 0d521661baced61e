/** A `fetch` for answers of language models that are read as they arrive, under the egress policy. */
import { fault } from '../../contracts/fault.ts';
import { reserveAnswer, SMALL_ANSWER_BYTES } from '../egress/answer-memory.ts';
import type { EgressPolicy } from '../egress/egress.ts';
import { streamOf } from '../egress/response-stream.ts';

export interface StreamedFetch {
  fetch: typeof fetch;
  /** The answer of a server that does not stream, at most 8 MiB; null as long as there is none. */
  whole(): Response | null;
}

/** Of a streamed answer. Each word comes with hundreds of bytes around it. */
const MAX_STREAM_BYTES = 64 * 1024 * 1024;
const MAX_WHOLE_BYTES = 8 * 1024 * 1024;
/** The SDK keeps a line until it ends. */
const MAX_LINE_BYTES = 1024 * 1024;
/** What a streamed answer may take in memory: its text and a line. */
const RESERVED_BYTES = 4 * 1024 * 1024;
const LINE_END = 10;

/** `failed` gets the failure of the connection, which the SDK wraps. Aborts with the reason of `signal`. */
export function streamedFetch(
  egress: EgressPolicy,
  { timeoutMs, signal }: { timeoutMs: number; signal: AbortSignal },
  failed: (error: unknown) => void,
): StreamedFetch {
  let whole: Response | null = null;
  const noting = async function* (chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    try {
      yield* chunks;
    } catch (error) {
      failed(error);
      throw error;
    }
  };
  return {
    whole: () => whole,
    async fetch(resource, init) {
      const connection = new AbortController();
      const answer = await egress.stream({
        url: resource instanceof Request ? resource.url : String(resource),
        method: (init?.method ?? 'GET').toUpperCase(),
        headers: {
          ...Object.fromEntries(new Headers(init?.headers)),
          accept: 'text/event-stream, */*;q=0.5',
        },
        ...(typeof init?.body === 'string' ? { body: init.body } : {}),
        timeoutMs,
        signal: AbortSignal.any([signal, connection.signal]),
      });
      const leave = (): void => connection.abort(new Error('the reader left the stream'));
      const { status, headers } = answer;
      if ((headers['content-type'] ?? '').startsWith('text/event-stream'))
        return new Response(streamOf(noting(bounded(answer.chunks, signal)), leave), { status, headers });
      const response = new Response(await readWhole(answer.chunks, signal), { status, headers });
      if (response.ok) whole = response.clone();
      return response;
    },
  };
}

async function* bounded(chunks: AsyncIterable<Uint8Array>, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  let size = 0;
  let lineSize = 0;
  for await (const chunk of chunks) {
    if (size <= SMALL_ANSWER_BYTES && size + chunk.length > SMALL_ANSWER_BYTES)
      await reserveAnswer(RESERVED_BYTES, signal);
    size += chunk.length;
    const lastEnd = chunk.lastIndexOf(LINE_END);
    lineSize = lastEnd < 0 ? lineSize + chunk.length : chunk.length - lastEnd - 1;
    if (size > MAX_STREAM_BYTES || lineSize > MAX_LINE_BYTES) throw tooLarge(MAX_STREAM_BYTES);
    yield chunk;
  }
}

async function readWhole(
  chunks: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): Promise<Uint8Array<ArrayBuffer>> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    if (size <= SMALL_ANSWER_BYTES && size + chunk.length > SMALL_ANSWER_BYTES)
      await reserveAnswer(MAX_WHOLE_BYTES, signal);
    size += chunk.length;
    if (size > MAX_WHOLE_BYTES) throw tooLarge(MAX_WHOLE_BYTES);
    parts.push(chunk);
  }
  return Buffer.concat(parts);
}

function tooLarge(bytes: number): Error {
  return fault('communication', `The answer is larger than ${bytes} bytes`, { status: 502 });
}
