/**
 * Authenticates to an agent by its `authentication_type` and `authentication_config`
 * (docs/agents.md#credentials).
 */
import { CREDENTIAL_KEYS, FIXED_OAUTH_TOKEN } from '../../contracts/credential-keys.ts';
import { fault } from '../../contracts/fault.ts';
import type { AgentCall, PinnedAgent } from '../../domain/ports.ts';
import { addQuery, headersOf } from '../http/message.ts';
import type { TokenRequest, TokenSource } from './oauth-token.ts';
import type { Sensitive } from '../secrets/sensitive.ts';

/** What authentication adds to a request. Call `refused` on a 401. */
export interface AgentCredentials {
  headers: Record<string, string>;
  withQuery(url: string): string;
  refused(): void;
  /** Whether other credentials are available after `refused`. */
  renewable?: boolean;
}

const NONE: AgentCredentials = { headers: {}, withQuery: (url) => url, refused: () => undefined };

/**
 * - `none` or unset: no credentials.
 * - `api_key`: `{api_key, in?: header | query | cookie, name?: X-API-Key, prefix?}`.
 * - `jwt`: `{token}`, sent as a bearer token.
 * - `oauth`: `{token_url, client_id, client_secret, scope? | scopes?, audience?, client_authentication?}`
 * with the client credentials grant; or a fixed `{access_token}`.
 *
 * A missing key or token is looked up in `configuration`. Throws `Fault` (configuration) if it is missing
 * there too.
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
      return bearer(setting.first(CREDENTIAL_KEYS.jwt[0]), sensitive);
    case 'oauth': {
      const [first, second] = FIXED_OAUTH_TOKEN;
      const fixed = setting.optional(first) ?? setting.optional(second);
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
  /** From `authentication_config` only. */
  optional(key: string): string | undefined;
  /** From `authentication_config`, else from `configuration`. */
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
      throw fault(
        'configuration',
        `authentication_config needs "${keys[0]}" for the authentication type ${agent.authentication_type}`,
      );
    },
  };
}

function apiKey(setting: Settings): AgentCredentials {
  const key = setting.first(CREDENTIAL_KEYS.api_key[0]);
  const name = setting.optional('name') ?? 'X-API-Key';
  const value = `${setting.optional('prefix') ?? ''}${key}`;
  const place = setting.optional('in') ?? 'header';
  if (place === 'header') return { ...NONE, headers: headersOf({ [name]: value }) };
  if (place === 'cookie') return { ...NONE, headers: headersOf({ cookie: `${name}=${value}` }) };
  if (place === 'query') return { ...NONE, withQuery: (url) => addQuery(url, { [name]: value }) };
  throw fault('configuration', 'authentication_config.in must be header, query or cookie');
}

function bearer(token: string, sensitive: Sensitive): AgentCredentials {
  sensitive.protect(token, '<TOKEN>');
  return { ...NONE, headers: headersOf({ authorization: `Bearer ${token}` }) };
}

function clientCredentials(setting: Settings): TokenRequest {
  const scope = setting.optional('scope') ?? setting.optional('scopes');
  const audience = setting.optional('audience');
  const how = setting.optional('client_authentication') ?? 'client_secret_post';
  if (how !== 'client_secret_post' && how !== 'client_secret_basic') {
    throw fault(
      'configuration',
      'authentication_config.client_authentication must be client_secret_post or client_secret_basic',
    );
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
