import { fault } from '../../contracts/fault.ts';
import type { EgressPolicy } from '../egress/egress.ts';

/** For one request to an issuer. People wait for it. */
const TIMEOUT_MS = 8_000;
/** Configurations and key sets have a few kilobytes. */
const MAX_BYTES = 512 * 1024;

export type IssuerFetch = (url: string, init?: IssuerRequest) => Promise<Response>;

interface IssuerRequest {
  method?: string;
  headers?: RequestInit['headers'];
  body?: unknown;
  signal?: AbortSignal | null | undefined;
}

/**
 * `fetch` for the libraries that talk to issuers: under the egress policy, http only to hosts that the
 * operator allows, no redirects, small answers.
 */
export function issuerFetch(egress: EgressPolicy): IssuerFetch {
  return async (url, { method = 'GET', headers, body, signal } = {}) => {
    const answer = await egress.request({
      url,
      method: method.toUpperCase(),
      headers: { 'user-agent': 'Cadenza', ...Object.fromEntries(new Headers(headers ?? undefined)) },
      ...(body === undefined || body === null ? {} : { body: textOf(body) }),
      timeoutMs: TIMEOUT_MS,
      maxBytes: MAX_BYTES,
      signal: signal ?? new AbortController().signal,
      followRedirects: false,
      plainOnlyAllowed: true,
    });
    // The body is decoded already.
    const { 'content-encoding': _, 'content-length': __, ...rest } = answer.headers;
    const isEmpty = answer.status === 204 || answer.status === 304;
    return new Response(isEmpty ? null : Buffer.from(answer.bytes), { status: answer.status, headers: rest });
  };
}

function textOf(body: unknown): string {
  if (typeof body === 'string') return body;
  if (body instanceof URLSearchParams) return body.toString();
  throw fault('configuration', 'only texts and forms are sent to issuers');
}
