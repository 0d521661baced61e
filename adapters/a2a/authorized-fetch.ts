/**
 * Sends every request to an A2A agent: adds current credentials, and turns refusals that are not A2A
 * responses into faults.
 */
import type { AgentCredentials } from '../authentication/agent-authentication.ts';
import { isRecord } from '../../contracts/is-record.ts';
import type { EgressResponse } from '../egress/egress.ts';
import { statusFault, type Words } from '../http/message.ts';

/**
 * `credentials` is called before each request, because a task may outlive a token. A 401 is repeated once
 * with fresh credentials if they are renewable. Throws `Fault` for a status outside 200–299, unless the body
 * is a protocol error.
 */
export function authorizedFetch(
  send: typeof fetch,
  credentials: () => Promise<AgentCredentials>,
  options: { headers: Record<string, string>; words: Words },
): typeof fetch {
  return async (resource, init) => {
    const url = resource instanceof Request ? resource.url : String(resource);
    const attempt = async (): Promise<{ answer: Response; renewable: boolean }> => {
      const current = await credentials();
      const headers = {
        ...Object.fromEntries(new Headers(init?.headers ?? undefined)),
        ...options.headers,
        ...current.headers,
      };
      const answer = await send(current.withQuery(url), { ...init, headers });
      if (answer.status === 401) current.refused();
      return { answer, renewable: current.renewable === true };
    };
    const first = await attempt();
    const { answer } = first.answer.status === 401 && first.renewable ? await attempt() : first;
    if (answer.ok) return answer;
    const text = await answer.text();
    if (answer.status !== 401 && answer.status !== 403 && isProtocolError(text))
      return new Response(text, { status: answer.status, headers: answer.headers });
    const refused: EgressResponse = {
      status: answer.status,
      headers: Object.fromEntries(answer.headers),
      bytes: Buffer.from(text),
      url,
    };
    throw statusFault(refused, (init?.method ?? 'GET').toUpperCase(), options.words);
  };
}

/** `{error: {…}}`, the error format of JSON-RPC and of the REST binding of 1.0. */
function isProtocolError(text: string): boolean {
  try {
    const body: unknown = JSON.parse(text);
    return isRecord(body) && isRecord(body['error']);
  } catch {
    return false;
  }
}
