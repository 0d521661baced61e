/** Every request to an A2A agent: credentials of this moment, and refusals that are no A2A answers as faults. */
import type { AgentCredentials } from '../agent-authentication.ts';
import type { EgressResponse } from '../egress.ts';
import { statusFault } from '../http-message.ts';

/**
 * `credentials` is asked before each request: a task may outlive a token. A 401 is repeated once with fresh ones where they
 * can be renewed. Throws `Fault` for a status outside 200–299 whose body is no error of a binding.
 */
export function authorizedFetch(
  send: typeof fetch,
  credentials: () => Promise<AgentCredentials>,
  options: { headers: Record<string, string>; redact: (text: string) => string },
): typeof fetch {
  return async (resource, init) => {
    const url = resource instanceof Request ? resource.url : String(resource);
    const once = async (): Promise<{ answer: Response; renewable: boolean }> => {
      const shown = await credentials();
      const headers = { ...Object.fromEntries(new Headers(init?.headers ?? undefined)), ...options.headers, ...shown.headers };
      const answer = await send(shown.withQuery(url), { ...init, headers });
      if (answer.status === 401) shown.refused();
      return { answer, renewable: shown.renewable === true };
    };
    const first = await once();
    const { answer } = first.answer.status === 401 && first.renewable ? await once() : first;
    if (answer.ok) return answer;
    const text = await answer.text();
    if (answer.status !== 401 && answer.status !== 403 && isProtocolError(text)) return new Response(text, { status: answer.status, headers: answer.headers });
    const refused: EgressResponse = { status: answer.status, headers: Object.fromEntries(answer.headers), bytes: Buffer.from(text), url };
    throw statusFault(refused, (init?.method ?? 'GET').toUpperCase(), options.redact);
  };
}

/** `{error: {…}}`, as JSON-RPC and the REST binding of 1.0 have it. */
function isProtocolError(text: string): boolean {
  try {
    const body: unknown = JSON.parse(text);
    return typeof body === 'object' && body !== null && 'error' in body && typeof body.error === 'object' && body.error !== null;
  } catch {
    return false;
  }
}
