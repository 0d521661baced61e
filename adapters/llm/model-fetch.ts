/** The `fetch` of a language model's client: under the egress policy, with the call's own headers. */
import type { EgressPolicy } from '../egress/egress.ts';
import { textFetch } from '../egress/text-fetch.ts';
import { streamedFetch } from './streamed-fetch.ts';

export interface ModelFetch {
  fetch: typeof fetch;
  /** Whether the server has answered without streaming, though it was asked to stream. */
  isWhole: () => boolean;
  /** The original failure of a request; the SDK wraps what its fetch throws. */
  failure: () => unknown;
}

/** What the call adds to each request. */
export interface OwnParts {
  headers: Record<string, string>;
  withQuery: (url: string) => string;
  /** Removes the credentials that the SDK adds. */
  withoutKey: boolean;
}

/** Where the providers' packages put an API key. */
const KEY_HEADERS = ['authorization', 'x-api-key', 'api-key', 'x-goog-api-key'];

/** `streams`: answers are read as they arrive. */
export function modelFetch(
  egress: EgressPolicy,
  limits: { timeoutMs: number; signal: AbortSignal },
  own: OwnParts,
  streams: boolean,
): ModelFetch {
  let failure: unknown;
  const note = (error: unknown): void => {
    failure = error;
  };
  const streamed = streams ? streamedFetch(egress, limits, note) : null;
  const checkedFetch = streamed?.fetch ?? textFetch(egress, limits);
  return {
    failure: () => failure,
    isWhole: () => streamed !== null && streamed.whole() !== null,
    async fetch(resource, init) {
      const whole = streamed?.whole();
      if (whole) return whole;
      const url = own.withQuery(resource instanceof Request ? resource.url : String(resource));
      try {
        return await checkedFetch(url, { ...init, headers: headersOf(init, own) });
      } catch (error) {
        note(error);
        throw error;
      }
    },
  };
}

function headersOf(init: RequestInit | undefined, own: OwnParts): Headers {
  const headers = new Headers(init?.headers);
  if (own.withoutKey) for (const name of KEY_HEADERS) headers.delete(name);
  for (const [name, value] of Object.entries(own.headers)) headers.set(name, value);
  return headers;
}
