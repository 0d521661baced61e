import { isRecord } from '../../contracts/is-record.ts';
import type { PinnedAgent } from '../../domain/ports.ts';
import type { AgentCredentials } from '../authentication/agent-authentication.ts';
import type { TokenSource } from '../authentication/oauth-token.ts';
import type { EgressPolicy, EgressResponse } from '../egress/egress.ts';
import type { CallGuard } from '../guarded-call.ts';

/** What reading a source works with. */
export interface SourceCall {
  agent: PinnedAgent;
  url: string;
  egress: EgressPolicy;
  tokens: TokenSource;
  guard: CallGuard;
  credentials: AgentCredentials;
  /** With credentials, unless `bare`; throws `Fault` if there is no answer. */
  send(
    url: string,
    more?: { method?: string; body?: unknown; headers?: Record<string, string>; bare?: boolean },
  ): Promise<EgressResponse>;
  /** The JSON of an answer with status 200. Throws `Fault`. */
  json(url: string, more?: { method?: string; body?: unknown }): Promise<unknown>;
}

/** Text of a field, cut to what a record takes; null if it is none. */
export function fieldText(from: unknown, name: string, max = 10_000): string | null {
  const value = isRecord(from) ? from[name] : undefined;
  return typeof value === 'string' && value.trim() !== '' ? [...value.trim()].slice(0, max).join('') : null;
}
