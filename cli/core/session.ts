/**
 * Who the command line is, and on which server: a token or client credentials of the environment, else the
 * session of the profile. A refresh token works once, so processes refresh one after the other.
 */
import { withoutEnd } from '../../contracts/text-end.ts';
import { CliError, EXIT, usageError } from './errors.ts';
import { DEFAULT_URL, type ConfigFile, type Profile } from './config-file.ts';
import { OAuthRefusal, requestTokens, send, USER_AGENT, type Tokens } from './oauth.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** A token that ends sooner is refreshed first. */
const MARGIN_MS = 30_000;

/** What a header can have of a token. */
const TOKEN = /^[\x21-\x7e]+$/;

export class Session {
  readonly url: string;
  readonly profileName: string;
  /** What must not be cut off: a token that the server has given and no file has yet. */
  readonly #unfinished = new Set<Promise<unknown>>();
  readonly #config: ConfigFile;
  readonly #env: Environment;
  #clientToken: Promise<string> | undefined;

  constructor(config: ConfigFile, env: Environment, profileName: string | undefined) {
    this.#config = config;
    this.#env = env;
    const configuration = config.read();
    this.profileName = profileName ?? (env['CADENZA_PROFILE'] || configuration.current);
    this.url = serverUrl(env['CADENZA_URL'] || configuration.profiles[this.profileName]?.url || DEFAULT_URL);
  }

  /** Resolves when everything that must not be cut off is done. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#unfinished);
  }

  get profile(): Profile | undefined {
    return this.#config.read().profiles[this.profileName];
  }

  /** The profile that was asked for by name, if it does not exist and nothing else gives an identity. */
  get missingProfile(): { name: string; existing: string[] } | undefined {
    const { current, profiles } = this.#config.read();
    const isNeeded = !this.#env['CADENZA_TOKEN'] && !this.#env['CADENZA_CLIENT_ID'];
    if (!isNeeded || this.profileName === current || profiles[this.profileName]) return undefined;
    return { name: this.profileName, existing: Object.keys(profiles) };
  }

  /** Where the identity comes from, in words. */
  get source(): string {
    if (this.#env['CADENZA_TOKEN']) return 'CADENZA_TOKEN';
    if (this.#env['CADENZA_CLIENT_ID']) return 'CADENZA_CLIENT_ID';
    return `profile ${this.profileName}`;
  }

  /** `fetch` with the session's token; refreshes it and repeats the request if the server refuses it. */
  readonly fetch: typeof fetch = async (input, init) => {
    const token = await this.token();
    const response = await send(input, withToken(init, token));
    if (response.status !== 401 || this.#env['CADENZA_TOKEN'] || init?.body instanceof ReadableStream)
      return response;
    const fresh = await this.#after(token);
    if (fresh === undefined || fresh === token) return response;
    await response.body?.cancel();
    return send(input, withToken(init, fresh));
  };

  /** Undefined without a log-in, for what needs none. @throws CliError if no header can have it */
  async token(): Promise<string | undefined> {
    const token = await this.#anyToken();
    // `fetch` would quote the token in its error.
    if (token !== undefined && !TOKEN.test(token))
      throw usageError(
        `The access token of ${this.source} has characters that no token has, such as a space or a line end.`,
      );
    return token;
  }

  async #anyToken(): Promise<string | undefined> {
    const { CADENZA_TOKEN: token, CADENZA_CLIENT_ID: id, CADENZA_CLIENT_SECRET: secret } = this.#env;
    if (token) return token;
    if (id && secret) return this.#ofClient(id, secret);
    if (id || secret) throw halfOfClient(id ? 'CADENZA_CLIENT_SECRET' : 'CADENZA_CLIENT_ID');
    const profile = this.#ownProfile();
    if (profile?.access_token === undefined) return undefined;
    return isFresh(profile) ? profile.access_token : this.#refreshed(undefined);
  }

  /** Stores the tokens of a log-in in the profile, and makes it the current one if another was. */
  async logIn(given: Partial<Profile>, tokens: Tokens): Promise<{ isNowCurrent: boolean }> {
    let isNowCurrent = false;
    await this.#unbroken(
      this.#config.change((configuration) => {
        configuration.profiles[this.profileName] = { url: this.url, ...given, ...stored(tokens) };
        isNowCurrent = configuration.current !== this.profileName;
        configuration.current = this.profileName;
      }),
    );
    return { isNowCurrent };
  }

  async forget(): Promise<void> {
    await this.#config.change(({ profiles }) => {
      if (profiles[this.profileName]) profiles[this.profileName] = { url: this.url };
    });
  }

  /** The token that follows one which the server no longer takes. */
  async #after(refused: string | undefined): Promise<string | undefined> {
    const { CADENZA_CLIENT_ID: id, CADENZA_CLIENT_SECRET: secret } = this.#env;
    if (!id || !secret) return this.#refreshed(refused);
    if ((await this.#clientToken) === refused) this.#clientToken = undefined;
    return this.#ofClient(id, secret);
  }

  /** Tokens go to the server that gave them and to no other, whatever CADENZA_URL says. */
  #ownProfile(): Profile | undefined {
    const { profile } = this;
    return profile && serverUrl(profile.url) === this.url ? profile : undefined;
  }

  /** Kept until the server refuses it. */
  async #ofClient(id: string, secret: string): Promise<string> {
    this.#clientToken ??= requestTokens(this.url, clientForm(id, secret)).then(
      (tokens) => tokens.access_token,
    );
    try {
      return await this.#clientToken;
    } catch (error) {
      this.#clientToken = undefined;
      throw error;
    }
  }

  /** @param refused the token that the server no longer takes, if any: another process may have a new one */
  async #refreshed(refused: string | undefined): Promise<string | undefined> {
    return this.#unbroken(
      this.#config.locked(async () => {
        const profile = this.#ownProfile();
        if (profile?.access_token === undefined) return undefined;
        if (profile.access_token !== refused && isFresh(profile)) return profile.access_token;
        const form = refreshForm(profile);
        if (form === undefined) return profile.access_token;
        const tokens = await requestTokens(this.url, form).catch((error: unknown) => this.#over(error));
        this.#store({ ...profile, ...stored(tokens) });
        return tokens.access_token;
      }),
    );
  }

  #over(error: unknown): never {
    if (!(error instanceof OAuthRefusal) || error.exitCode !== EXIT.logIn) throw error;
    this.#store({ url: this.url });
    throw new CliError('The session is over.', { code: 'session_over', exitCode: EXIT.logIn });
  }

  #store(profile: Profile): void {
    const configuration = this.#config.read();
    configuration.profiles[this.profileName] = profile;
    this.#config.write(configuration);
  }

  async #unbroken<T>(work: Promise<T>): Promise<T> {
    this.#unfinished.add(work);
    try {
      return await work;
    } finally {
      this.#unfinished.delete(work);
    }
  }
}

/** Half a log-in must not act as whoever is logged in. */
const halfOfClient = (missing: 'CADENZA_CLIENT_ID' | 'CADENZA_CLIENT_SECRET'): CliError => {
  const given = missing === 'CADENZA_CLIENT_ID' ? 'CADENZA_CLIENT_SECRET' : 'CADENZA_CLIENT_ID';
  return usageError(`${given} is set, but ${missing} is missing: set both, or neither.`);
};

/** As the host of a URL. */
export const isLoopback = (hostname: string): boolean => /^(127(\.\d+){3}|localhost|\[::1\])$/.test(hostname);

/** An origin, perhaps with a path, without a slash at its end. Without a scheme, this machine is http. */
export function serverUrl(text: string): string {
  const [, scheme = ''] = /^([a-z][a-z\d+.-]*):\/\//i.exec(text) ?? [];
  if (scheme !== '' && !/^https?$/i.test(scheme))
    throw usageError(`The address of a server begins with http:// or https://, not with ${scheme}://.`);
  const withScheme = scheme === '' ? `https://${text}` : text;
  if (!URL.canParse(withScheme)) throw usageError(`${text} is no address of a server.`);
  const isHere = scheme === '' && isLoopback(new URL(withScheme).hostname);
  const url = new URL(isHere ? `http://${text}` : withScheme);
  if (url.username !== '' || url.password !== '')
    throw usageError('An address cannot contain a password: use cadenza login.');
  return withoutEnd(`${url.origin}${url.pathname}`, '/');
}

export const clientForm = (id: string, secret: string): Record<string, string> => ({
  grant_type: 'client_credentials',
  client_id: id,
  client_secret: secret,
});

function refreshForm(profile: Profile): Record<string, string> | undefined {
  const { refresh_token: refresh, client_id: id, client_secret: secret } = profile;
  if (refresh !== undefined) return { grant_type: 'refresh_token', refresh_token: refresh };
  return id !== undefined && secret !== undefined ? clientForm(id, secret) : undefined;
}

const stored = ({ access_token: access, refresh_token: refresh, expires_in: seconds }: Tokens) => ({
  access_token: access,
  expires_at: Date.now() + seconds * 1_000,
  ...(refresh === undefined ? {} : { refresh_token: refresh }),
});

const isFresh = ({ expires_at: at = 0 }: Profile): boolean => at - MARGIN_MS > Date.now();

function withToken(init: RequestInit | undefined, token: string | undefined): RequestInit {
  const headers = new Headers(init?.headers);
  headers.set('user-agent', USER_AGENT);
  if (token !== undefined) headers.set('authorization', `Bearer ${token}`);
  return { ...init, headers };
}
