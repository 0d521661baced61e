/** A real OpenID Connect issuer (`oidc-provider`) on this machine, and a browser that follows redirects. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, type JWK } from 'jose';
import Provider from 'oidc-provider';

export const CLIENT_ID = 'cadenza';
export const CLIENT_SECRET = 'a secret that only the two know';

export interface TestIssuer {
  url: string;
  /** The account that logs in at the next page of the issuer, with its claims. */
  account: { sub: string } & Record<string, unknown>;
  /** Replaces all keys; tokens are signed by the new one. */
  rotateKeys(): Promise<void>;
  /** How often the key set was read. */
  keyReads(): number;
  close(): Promise<void>;
}

export interface IssuerOptions {
  redirectUris: string[];
  /** More members of the client's registration. */
  client?: Record<string, unknown>;
  /** More clients. */
  clients?: Record<string, unknown>[];
  /** More of the provider's features. */
  features?: Record<string, unknown>;
}

export async function startIssuer(options: IssuerOptions): Promise<TestIssuer> {
  let provider: Provider | null = null;
  let reads = 0;
  const server = createServer((request, response) => {
    if (request.url === '/jwks') reads += 1;
    const isPage = request.url?.startsWith('/interaction/') === true;
    if (isPage)
      void provider?.interactionFinished(request, response, { login: { accountId: issuer.account.sub } });
    else provider?.callback()(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  // The address of a listening TCP server has this type.
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const renew = async (): Promise<void> => {
    provider = createProvider(url, [await newKey()], options, () => issuer.account);
  };
  const issuer: TestIssuer = {
    url,
    account: { sub: 'nobody' },
    rotateKeys: renew,
    keyReads: () => reads,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  await renew();
  return issuer;
}

function createProvider(
  url: string,
  keys: JWK[],
  { redirectUris, client, clients = [], features }: IssuerOptions,
  account: () => TestIssuer['account'],
): Provider {
  const provider: Provider = new Provider(url, {
    clients: [
      {
        client_id: CLIENT_ID,
        client_secret: CLIENT_SECRET,
        redirect_uris: redirectUris,
        post_logout_redirect_uris: redirectUris.map((uri) => `${new URL(uri).origin}/console/`),
        ...client,
      },
      ...clients,
    ],
    jwks: { keys },
    cookies: { keys: ['only for tests'] },
    // It refuses log-ins without a challenge, and codes without its verifier (RFC 7636).
    pkce: { required: () => true },
    // Claims are in the ID token, as most issuers have them.
    conformIdTokenClaims: false,
    // Its own has an agent that the tests' global `fetch` does not know.
    fetch: (url: string, options: RequestInit) => {
      Reflect.deleteProperty(options, 'dispatcher');
      return fetch(url, options);
    },
    claims: {
      profile: ['name', 'preferred_username', 'roles', 'groups', 'oid'],
      email: ['email', 'email_verified'],
    },
    findAccount: (_ctx: unknown, id: string) => ({
      accountId: id,
      claims: () => ({ ...account(), sub: id }),
    }),
    interactions: { url: (_ctx: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
    features: {
      devInteractions: { enabled: false },
      rpInitiatedLogout: { enabled: true },
      backchannelLogout: { enabled: true },
      ...features,
    },
    loadExistingGrant: async (ctx: {
      oidc: { client: { clientId: string }; session: { accountId: string } };
    }) => {
      const { client: asking, session } = ctx.oidc;
      const grant = new provider.Grant({ clientId: asking.clientId, accountId: session.accountId });
      grant.addOIDCScope('openid profile email');
      await grant.save();
      return grant;
    },
  });
  return provider;
}

async function newKey(): Promise<JWK> {
  const { privateKey } = await generateKeyPair('RS256', { extractable: true });
  return { ...(await exportJWK(privateKey)), alg: 'RS256', use: 'sig', kid: crypto.randomUUID() };
}

/** Keeps cookies by origin and follows redirects one by one. */
export class Browser {
  readonly #cookies = new Map<string, Map<string, string>>();

  /** One request, without following its answer. `site` is what a browser says about the page before. */
  async visit(url: string, site = 'same-origin', init: RequestInit = {}): Promise<Response> {
    const { origin } = new URL(url);
    const cookies = [...(this.#cookies.get(origin) ?? [])].map(([name, value]) => `${name}=${value}`);
    const response = await fetch(url, {
      ...init,
      redirect: 'manual',
      headers: {
        ...(cookies.length === 0 ? {} : { cookie: cookies.join('; ') }),
        'sec-fetch-site': site,
        ...Object.fromEntries(new Headers(init.headers)),
      },
    });
    this.#keep(origin, response.headers.getSetCookie());
    return response;
  }

  /** Follows redirects to the first other answer, or to an address that `until` accepts, not asked. */
  async follow(url: string, until: (url: string) => boolean = () => false): Promise<Walk> {
    let at = url;
    for (let steps = 0; steps < 20; steps += 1) {
      const response = await this.visit(at, steps === 0 ? 'same-origin' : 'cross-site');
      const location = response.headers.get('location');
      if (location === null) return { url: at, response, text: await response.text() };
      at = new URL(location, at).href;
      if (until(at)) return { url: at, response, text: '' };
    }
    throw new Error(`too many redirects from ${url}`);
  }

  cookie(origin: string, name: string): string | undefined {
    return this.#cookies.get(new URL(origin).origin)?.get(name);
  }

  #keep(origin: string, lines: readonly string[]): void {
    const jar = this.#cookies.get(origin) ?? new Map<string, string>();
    for (const line of lines) {
      const [pair = ''] = line.split(';');
      const [name, value] = [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)];
      if (value === '' || /max-age=0(?:;|$)|expires=Thu, 01 Jan 1970/i.test(line)) jar.delete(name);
      else jar.set(name, value);
    }
    this.#cookies.set(origin, jar);
  }
}

interface Walk {
  url: string;
  response: Response;
  text: string;
}
