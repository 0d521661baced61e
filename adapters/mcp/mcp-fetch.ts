/** The requests of one MCP call over Streamable HTTP, under the egress policy. */
import { fault } from '../../contracts/fault.ts';
import type { DslCredentials } from '../authentication/dsl-authentication.ts';
import { reserveAnswer, SMALL_ANSWER_BYTES } from '../egress/answer-memory.ts';
import type { EgressPolicy } from '../egress/egress.ts';
import { streamOf } from '../egress/response-stream.ts';

/** Of all answers of one call together. */
const MAX_BYTES = 8 * 1024 * 1024;

interface Options {
  egress: EgressPolicy;
  headers: Record<string, string>;
  credentials: DslCredentials;
  /** For one request. */
  timeoutMs: () => number;
  /** Called with each failure of a request. */
  failed: (error: unknown) => void;
}

export function mcpFetch({ egress, headers, credentials, timeoutMs, failed }: Options): typeof fetch {
  let received = 0;
  const limited = async function* (chunks: AsyncIterable<Uint8Array>, signal: AbortSignal) {
    try {
      for await (const chunk of chunks) {
        const before = received;
        received += chunk.length;
        if (received > MAX_BYTES)
          throw fault('communication', `The server answered with more than ${MAX_BYTES} bytes`, {
            status: 502,
          });
        if (before <= SMALL_ANSWER_BYTES && received > SMALL_ANSWER_BYTES)
          await reserveAnswer(MAX_BYTES, signal);
        yield chunk;
      }
    } catch (error) {
      failed(error);
      throw error;
    }
  };
  const send = async (url: string, init: RequestInit, more: Record<string, string>) => {
    const connection = new AbortController();
    const signal = AbortSignal.any([connection.signal, ...(init.signal ? [init.signal] : [])]);
    const answer = await egress.stream({
      url,
      method: (init.method ?? 'GET').toUpperCase(),
      headers: { ...headers, ...Object.fromEntries(new Headers(init.headers ?? undefined)), ...more },
      ...(typeof init.body === 'string' ? { body: init.body } : {}),
      timeoutMs: timeoutMs(),
      signal,
      // The client follows redirects to the same origin by itself.
      followRedirects: false,
    });
    const leave = (): void => connection.abort(new Error('the reader left the answer'));
    return { answer, leave, body: () => streamOf(limited(answer.chunks, signal), leave) };
  };
  return async (resource, init = {}) => {
    const url = resource instanceof Request ? resource.url : String(resource);
    const isListening = (init.method ?? 'GET') === 'GET' && !new Headers(init.headers).has('last-event-id');
    // What a server says on this stream belongs to no request, so a single call needs none of it.
    if (isListening) return new Response(null, { status: 405 });
    try {
      let sent = await send(url, init, credentials.headers);
      if (sent.answer.status === 401) {
        const method = init.method ?? 'GET';
        const again = credentials.challenged({ ...sent.answer, bytes: new Uint8Array() }, { method, url });
        if (again !== null) {
          sent.leave();
          sent = await send(url, init, again);
        }
      }
      const { status, headers: answered } = sent.answer;
      const empty = status === 204 || status === 205 || status === 304;
      if (empty) sent.leave();
      return new Response(empty ? null : sent.body(), { status, headers: answered });
    } catch (error) {
      failed(error);
      throw error;
    }
  };
}
