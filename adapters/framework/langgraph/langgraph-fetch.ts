/** A `fetch` for LangGraph's client, under the egress policy. */
import { fault } from '../../../contracts/fault.ts';
import type { EgressPolicy } from '../../egress/egress.ts';
import { limitSilence } from '../../egress/limit-silence.ts';
import { streamOf } from '../../egress/response-stream.ts';
import { textFetch } from '../../egress/text-fetch.ts';

/** Servers say every few seconds that they are there. */
const IDLE_MS = 120_000;
/** The client keeps an event until the empty line after it. */
const MAX_EVENT_BYTES = 1024 * 1024;
const LINE_END = 10;
const RETURN = 13;

interface Options {
  egress: EgressPolicy;
  /** Of the server: the only origin that is called, with its query parameters. */
  base: URL;
  leftMs: () => number;
}

export interface LanggraphFetch {
  fetch: typeof globalThis.fetch;
  /** The failure of the last request, which the client may wrap. */
  failure: () => unknown;
}

export function langgraphFetch({ egress, base, leftMs }: Options): LanggraphFetch {
  let failure: unknown = null;
  const note = <T>(error: T): T => {
    failure = error;
    return error;
  };
  const send: typeof fetch = async (resource, init = {}) => {
    const url = new URL(resource instanceof Request ? resource.url : String(resource));
    // Ids and addresses in the server's answers become parts of later addresses.
    if (url.origin !== base.origin) throw fault('authorization', 'The server leads to another host');
    for (const [name, value] of base.searchParams) url.searchParams.append(name, value);
    const signal = init.signal ?? new AbortController().signal;
    if (!url.pathname.endsWith('/stream'))
      return textFetch(egress, { timeoutMs: leftMs(), signal })(url, init);
    const connection = new AbortController();
    const answer = await egress.stream({
      url: url.href,
      method: (init.method ?? 'GET').toUpperCase(),
      headers: { ...Object.fromEntries(new Headers(init.headers ?? undefined)), accept: 'text/event-stream' },
      timeoutMs: leftMs(),
      signal: AbortSignal.any([signal, connection.signal]),
    });
    const leave = (): void => connection.abort(new Error('the reader left the stream'));
    const chunks = noting(shortEvents(limitSilence(answer.chunks, connection, IDLE_MS)), note);
    return new Response(streamOf(chunks, leave), { status: answer.status, headers: answer.headers });
  };
  return {
    failure: () => failure,
    async fetch(resource, init) {
      failure = null;
      try {
        return await send(resource, init);
      } catch (error) {
        throw note(error);
      }
    },
  };
}

async function* noting(
  chunks: AsyncIterable<Uint8Array>,
  note: (error: unknown) => unknown,
): AsyncGenerator<Uint8Array> {
  try {
    yield* chunks;
  } catch (error) {
    throw note(error);
  }
}

async function* shortEvents(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let eventBytes = 0;
  // Of the line that has begun, without a carriage return.
  let lineBytes = 0;
  for await (const chunk of chunks) {
    for (const byte of chunk) {
      eventBytes += 1;
      if (byte === LINE_END) {
        if (lineBytes === 0) eventBytes = 0;
        lineBytes = 0;
      } else if (byte !== RETURN) lineBytes += 1;
    }
    if (eventBytes > MAX_EVENT_BYTES)
      throw fault('communication', `The server sent an event of more than ${MAX_EVENT_BYTES} bytes`, {
        status: 502,
      });
    yield chunk;
  }
}
