import { isRecord } from '../contracts/is-record.ts';
import type { HttpCall } from '../domain/ports.ts';
import { dslCredentials } from './authentication/dsl-authentication.ts';
import type { EgressResponse } from './egress/egress.ts';
import type { CallGuard } from './guarded-call.ts';
import type { HttpTools } from './http/call-exchange.ts';

/** Sends one GET request of a call, with a policy of the DSL, which digest may need twice. */
export async function guardedGet(
  tools: HttpTools,
  call: HttpCall,
  { sensitive, signal, leftMs }: CallGuard,
  request: { url: string; headers: Record<string, string>; maxBytes: number; authentication: unknown },
): Promise<EgressResponse> {
  const { url, maxBytes, authentication } = request;
  const limits = { timeoutMs: leftMs(), signal };
  const credentials = await dslCredentials(isRecord(authentication) ? authentication : undefined, call, {
    ...tools,
    sensitive,
    limits,
  });
  const send = (more: Record<string, string>): Promise<EgressResponse> =>
    tools.egress.request({
      url,
      method: 'GET',
      headers: { 'user-agent': 'Cadenza', ...request.headers, ...more },
      maxBytes,
      timeoutMs: leftMs(),
      signal,
    });
  const answer = await send(credentials.headers);
  const again = answer.status === 401 ? credentials.challenged(answer, { method: 'GET', url }) : null;
  return again === null ? answer : await send(again);
}
