/** How we show ourselves to an agent: its `authentication_type` and `authentication_config` (interface-spec 4.5). */
import { fault } from '../contracts/fault.ts';
import type { AgentCall, PinnedAgent } from '../domain/ports.ts';
import { addQuery } from './http-message.ts';
import type { TokenRequest, TokenSource } from './oauth-token.ts';
import type { Sensitive } from './sensitive.ts';

/** What a request needs beside its own parts; `refused` is to be called on a 401. */
export interface AgentCredentials {
  headers: Record<string, string>;
  withQuery(url: string): string;
  refused(): void;
  /** After `refused`, others can be had. */
  renewable?: boolean;
}

const NONE: AgentCredentials = { headers: {}, withQuery: (url) => url, refused: () => undefined };

/**
 * - `none` or unset: nothing.
 * - `api_key`: `{api_key, in?: header | query | cookie, name?: X-API-Key, prefix?}`.
 * - `jwt`: `{token}`, sent as bearer.
 * - `oauth`: `{token_url, client_id, client_secret, scope? | scopes?, audience?, client_authentication?}`, by client credentials; or a fixed `{access_token}`.
 *
 * A key or token that is not there is looked for in `configuration`. Throws `Fault` (configuration) for what is missing.
 */
export async function agentCredentials(
  call: Pick<AgentCall, 'agent' | 'signal' | 'timeoutMs'>,
  sensitive: Sensitive,
  tokens: TokenSource,
): Promise<AgentCredentials> {
  const { agent } = call;
  const setting = settings(agent, sensitive);
  switch (agent.authentication_type) {
    case null:
    case 'none':
      return NONE;
    case 'api_key':
      return apiKey(setting);
    case 'jwt':
      return bearer(setting.first(['token', 'jwt', 'access_token', 'api_key']), sensitive);
    case 'oauth': {
      const fixed = setting.optional('access_token') ?? setting.optional('token');
      if (fixed !== undefined) return bearer(fixed, sensitive);
      const request = clientCredentials(setting);
      const token = await tokens.token(request, call);
      return { ...bearer(token, sensitive), refused: () => tokens.forget(request), renewable: true };
    }
    default:
      throw fault('configuration', `The authentication type "${agent.authentication_type}" is not known`);
  }
}

interface Settings {
  /** Of `authentication_config` only. */
  optional(key: string): string | undefined;
  /** Of `authentication_config`, else of `configuration`. */
  first(keys: readonly string[]): string;
}

function settings(agent: PinnedAgent, sensitive: Sensitive): Settings {
  const read = (from: Record<string, unknown> | null, key: string): string | undefined => {
    const value = from?.[key];
    if (Array.isArray(value)) return value.map((item) => sensitive.fill(String(item))).join(' ');
    return typeof value === 'string' && value !== '' ? sensitive.fill(value) : undefined;
  };
  return {
    optional: (key) => read(agent.authentication_config, key),
    first(keys) {
      for (const from of [agent.authentication_config, agent.configuration]) {
        for (const key of keys) {
          const value = read(from, key);
          if (value !== undefined) return value;
        }
      }
      throw fault('configuration', `authentication_config needs "${keys[0]}" for the authentication type ${agent.authentication_type}`);
    },
  };
}

function apiKey(setting: Settings): AgentCredentials {
  const key = setting.first(['api_key', 'key', 'value', 'token']);
  const name = setting.optional('name') ?? 'X-API-Key';
  const value = `${setting.optional('prefix') ?? ''}${key}`;
  const place = setting.optional('in') ?? 'header';
  if (place === 'header') return { ...NONE, headers: { [name.toLowerCase()]: value } };
  if (place === 'cookie') return { ...NONE, headers: { cookie: `${name}=${value}` } };
  if (place === 'query') return { ...NONE, withQuery: (url) => addQuery(url, { [name]: value }) };
  throw fault('configuration', 'authentication_config.in must be header, query or cookie');
}

function bearer(token: string, sensitive: Sensitive): AgentCredentials {
  sensitive.protect(token, '<TOKEN>');
  return { ...NONE, headers: { authorization: `Bearer ${token}` } };
}

function clientCredentials(setting: Settings): TokenRequest {
  const scope = setting.optional('scope') ?? setting.optional('scopes');
  const audience = setting.optional('audience');
  const how = setting.optional('client_authentication') ?? 'client_secret_post';
  if (how !== 'client_secret_post' && how !== 'client_secret_basic') {
    throw fault('configuration', 'authentication_config.client_authentication must be client_secret_post or client_secret_basic');
  }
  return {
    tokenUrl: setting.first(['token_url']),
    clientId: setting.first(['client_id']),
    clientSecret: setting.first(['client_secret']),
    clientAuthentication: how,
    parameters: {
      grant_type: 'client_credentials',
      ...(scope === undefined ? {} : { scope }),
      ...(audience === undefined ? {} : { audience }),
    },
  };
}
