import type { EgressPolicy } from './egress.ts';

/**
 * A `fetch` for client libraries that goes out through the egress policy. Bodies are text, answers are read whole before they
 * are given on, so no stream comes out of it.
 */
export function egressFetch(egress: EgressPolicy, limits: { timeoutMs: number; signal: AbortSignal; maxBytes?: number }): typeof fetch {
  return async (resource, init) => {
    const url = resource instanceof Request ? resource.url : String(resource);
    const body = init?.body;
    if (body !== undefined && body !== null && typeof body !== 'string') throw new TypeError('egressFetch sends text only');
    const answer = await egress.request({
      url,
      method: (init?.method ?? 'GET').toUpperCase(),
      headers: Object.fromEntries(new Headers(init?.headers ?? undefined)),
      ...(typeof body === 'string' ? { body } : {}),
      ...limits,
    });
    const empty = answer.status === 204 || answer.status === 205 || answer.status === 304;
    // The body is decoded already.
    const { 'content-encoding': _, 'content-length': __, ...headers } = answer.headers;
    return new Response(empty ? null : Buffer.from(answer.bytes), { status: answer.status, headers });
  };
}
