import type { EgressPolicy } from './egress.ts';

/**
 * A `fetch` for client libraries under the egress policy. Request bodies are text; responses are read
 * completely, so they are not streamed.
 */
export function textFetch(
  egress: EgressPolicy,
  limits: { timeoutMs: number; signal: AbortSignal; maxBytes?: number },
): typeof fetch {
  return async (resource, init) => {
    const url = resource instanceof Request ? resource.url : String(resource);
    const body = init?.body;
    if (body !== undefined && body !== null && typeof body !== 'string')
      throw new TypeError('textFetch sends text only');
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
