/** Follows an event stream with `fetch`, and resumes it after the last event when the connection is lost. */
import { ApiError } from './problem.ts';
import { SseParser } from './sse.ts';

export interface ServerEvent<Data> {
  id: string;
  type: string;
  data: Data;
}

export interface StreamOptions {
  /** Ends the stream without an error. */
  signal?: AbortSignal | undefined;
  /** Continues after this event. */
  lastEventId?: string | undefined;
  /** A stream that is silent for this long is taken as lost. The server sends heartbeats every 15 s. */
  quietMs?: number | undefined;
  /** The pause before the first reconnect. It doubles with each failed one, up to 30 s. */
  retryMs?: number | undefined;
  onState?: ((state: StreamState) => void) | undefined;
}

export type StreamState = 'open' | 'reconnecting';

/** @throws ApiError if the server refuses */
type Connect = (headers: Record<string, string>, signal: AbortSignal) => Promise<Response>;

const QUIET_MS = 45_000;
const RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 30_000;
/** Refusals that pass by themselves. */
const TEMPORARY = new Set([408, 425, 429, 500, 502, 503, 504]);

/**
 * Yields events until the server ends the stream for good (204), or `signal` is aborted.
 * @throws ApiError if the server refuses the stream
 */
export async function* followEvents<Data>(
  connect: Connect,
  options: StreamOptions = {},
): AsyncGenerator<ServerEvent<Data>, void, undefined> {
  const { signal = new AbortController().signal, quietMs = QUIET_MS, onState } = options;
  let { lastEventId = '', retryMs = RETRY_MS } = options;
  let failures = 0;
  while (!signal.aborted) {
    const attempt = new Attempt(signal, quietMs);
    let pauseMs = 0;
    try {
      const response = await connect(headersOf(lastEventId), attempt.signal);
      if (response.status === 204) return;
      if (response.body === null) throw new TypeError('the stream has no body');
      onState?.('open');
      const parser = new SseParser(lastEventId);
      let received = 0;
      for await (const chunk of attempt.chunksOf(response.body)) {
        failures = 0;
        for (const event of parser.push(chunk)) {
          received += 1;
          // The data of an event is JSON of the operation's declared shape.
          yield { ...event, data: JSON.parse(event.data) as Data };
        }
        lastEventId = parser.lastEventId;
        retryMs = parser.retryMs ?? retryMs;
      }
      // The server has ended the stream. Whether for good, only the next request tells.
      if (received === 0) pauseMs = pauseAfter(1, retryMs);
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof ApiError && !TEMPORARY.has(error.status)) throw error;
      failures += 1;
      pauseMs = Math.max(pauseAfter(failures, retryMs), retryAfter(error));
    } finally {
      attempt.end();
    }
    if (pauseMs > 0) onState?.('reconnecting');
    await pause(pauseMs, signal);
  }
}

/** One connection: aborted by the caller, or when nothing arrives for too long. */
class Attempt {
  readonly #abort = new AbortController();
  readonly #outer: AbortSignal;
  readonly #quietMs: number;
  readonly #follow = () => this.#abort.abort();
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(outer: AbortSignal, quietMs: number) {
    this.#outer = outer;
    this.#quietMs = quietMs;
    outer.addEventListener('abort', this.#follow, { once: true });
    this.#arm();
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  async *chunksOf(body: ReadableStream<Uint8Array>): AsyncGenerator<string, void, undefined> {
    const reader = body.getReader();
    const decoder = new TextDecoder();
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        this.#arm();
        yield decoder.decode(value, { stream: true });
      }
    } finally {
      await reader.cancel().catch(() => undefined);
    }
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#outer.removeEventListener('abort', this.#follow);
    this.#abort.abort();
  }

  #arm(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(this.#follow, this.#quietMs);
  }
}

function headersOf(lastEventId: string): Record<string, string> {
  return { accept: 'text/event-stream', ...(lastEventId === '' ? {} : { 'last-event-id': lastEventId }) };
}

/** Random within the upper half, so that the clients of a restarted server do not return all at once. */
function pauseAfter(failures: number, first: number): number {
  const longest = Math.min(first * 2 ** Math.min(failures - 1, 16), LONGEST_RETRY_MS);
  return longest * (0.5 + Math.random() / 2);
}

function retryAfter(error: unknown): number {
  return error instanceof ApiError ? (error.retryAfterMs ?? 0) : 0;
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (ms === 0 || signal.aborted) return;
  await new Promise<void>((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done, { once: true });
  });
}
