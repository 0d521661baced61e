/** The keys of an agent's credentials, shared by the adapters and the warnings about missing credentials. */

/**
 * By `authentication_type`. Each row is one value: the first of its keys that is set in
 * `authentication_config`, else in `configuration`.
 */
export const CREDENTIAL_KEYS = {
  api_key: [['api_key', 'key', 'value', 'token']],
  jwt: [['token', 'jwt', 'access_token', 'api_key']],
  oauth: [['token_url'], ['client_id'], ['client_secret']],
} as const satisfies Record<string, readonly (readonly [string, ...string[]])[]>;

/** A fixed token that replaces client credentials; only in `authentication_config`. */
export const FIXED_OAUTH_TOKEN = ['access_token', 'token'] as const;

const API_KEY_PLACES = ['header', 'query', 'cookie'] as const;
const CLIENT_AUTHENTICATIONS = ['client_secret_post', 'client_secret_basic'] as const;

type Settings = Record<string, unknown> | null | undefined;

/** A non-empty text or a list; anything else counts as missing. */
function isCredential(value: unknown): boolean {
  return Array.isArray(value) || (typeof value === 'string' && value !== '');
}

/** Missing or invalid credentials that would make a call fault, as `{pointer, message}`. */
export function credentialProblems(
  type: string | null | undefined,
  config: Settings,
  configuration: Settings,
): { pointer: string; message: string }[] {
  if (type !== 'api_key' && type !== 'jwt' && type !== 'oauth') return [];
  const has = (keys: readonly string[], places: readonly Settings[]): boolean =>
    places.some((place) => keys.some((key) => isCredential(place?.[key])));
  if (type === 'oauth' && has(FIXED_OAUTH_TOKEN, [config])) return [];
  const missing = CREDENTIAL_KEYS[type]
    .filter((keys) => !has(keys, [config, configuration]))
    .map(([key]) => ({
      pointer: `/authentication_config/${key}`,
      message:
        `"${key}" is missing, which authentication_type "${type}" requires; ` +
        'invoking the agent will fault',
    }));
  return [...missing, ...unknownChoice(type, config)];
}

function unknownChoice(
  type: 'api_key' | 'jwt' | 'oauth',
  config: Settings,
): { pointer: string; message: string }[] {
  if (type === 'jwt') return [];
  const [key, choices]: [string, readonly string[]] =
    type === 'api_key' ? ['in', API_KEY_PLACES] : ['client_authentication', CLIENT_AUTHENTICATIONS];
  const chosen = config?.[key];
  if (typeof chosen !== 'string' || chosen === '' || choices.includes(chosen)) return [];
  return [
    {
      pointer: `/authentication_config/${key}`,
      message: `"${key}" must be one of ${choices.join(', ')}; invoking the agent will fault`,
    },
  ];
}
