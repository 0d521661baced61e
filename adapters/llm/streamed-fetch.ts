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
/** The SDK keeps a line or a frame until it ends. */
const MAX_PIECE_BYTES = 1024 * 1024;
/** What a streamed answer may take in memory: its text and a piece. */
const RESERVED_BYTES = 4 * 1024 * 1024;
const LINE_END = 10;
const FRAME_LENGTH_BYTES = 4;

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
      const type = (headers['content-type'] ?? '').split(';')[0]?.trim() ?? '';
      const piece = Object.hasOwn(OPEN_PIECES, type) ? OPEN_PIECES[type]?.() : undefined;
      if (piece)
        return new Response(streamOf(noting(bounded(answer.chunks, piece, signal)), leave), {
          status,
          headers,
        });
      const response = new Response(await readWhole(answer.chunks, signal), { status, headers });
      if (response.ok) whole = response.clone();
      return response;
    },
  };
}

/** After each chunk: the size of the piece that has begun and not ended. */
type OpenPiece = (chunk: Uint8Array) => number;

/** By media type. */
const OPEN_PIECES: Record<string, () => OpenPiece> = {
  'text/event-stream': openLine,
  'application/vnd.amazon.eventstream': openFrame,
};

function openLine(): OpenPiece {
  let size = 0;
  return (chunk) => {
    const lastEnd = chunk.lastIndexOf(LINE_END);
    size = lastEnd < 0 ? size + chunk.length : chunk.length - lastEnd - 1;
    return size;
  };
}

/** Frames begin with their length, in four bytes. It counts as announced, because the SDK waits for it. */
function openFrame(): OpenPiece {
  let header: number[] = [];
  let left = 0;
  return (chunk) => {
    let largest = 0;
    for (let at = 0; at < chunk.length;) {
      if (left > 0) {
        const taken = Math.min(left, chunk.length - at);
        left -= taken;
        at += taken;
        continue;
      }
      header.push(chunk[at] ?? 0);
      at += 1;
      if (header.length < FRAME_LENGTH_BYTES) continue;
      const size = header.reduce((sum, byte) => sum * 256 + byte, 0);
      header = [];
      left = Math.max(0, size - FRAME_LENGTH_BYTES);
      largest = Math.max(largest, size);
    }
    return largest;
  };
}

async function* bounded(
  chunks: AsyncIterable<Uint8Array>,
  openPiece: OpenPiece,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  let size = 0;
  for await (const chunk of chunks) {
    if (size <= SMALL_ANSWER_BYTES && size + chunk.length > SMALL_ANSWER_BYTES)
      await reserveAnswer(RESERVED_BYTES, signal);
    size += chunk.length;
    if (size > MAX_STREAM_BYTES || openPiece(chunk) > MAX_PIECE_BYTES) throw tooLarge(MAX_STREAM_BYTES);
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
