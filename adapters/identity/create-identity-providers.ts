/**
 * Talks to external OpenID Connect issuers. `openid-client` does discovery, the code flow and its checks;
 * `jose` keeps the keys. What this process keeps of an issuer is a cache only.
 */
import {
  createRemoteJWKSet,
  customFetch,
  errors,
  jwtVerify,
  type JWTPayload,
  type JWTVerifyGetKey,
} from 'jose';
import * as oidc from 'openid-client';

import { Fault } from '../../contracts/fault.ts';
import { IdentityRefusal } from '../../contracts/identity-refusal.ts';
import { isRecord } from '../../contracts/is-record.ts';
import type { IdentityProviders, IssuedIdentity, IssuerAccess, LogInRequest } from '../../domain/ports.ts';
import { createEgressPolicy, type EgressPolicyOptions } from '../egress/create-egress-policy.ts';
import { issuerFetch, type IssuerFetch } from './issuer-fetch.ts';

/** Signatures that only the issuer can make: no `none`, and no HMAC, whose key could be a public one. */
const ALGORITHMS = [
  ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
].flat();
const CONFIGURATION_MS = 10 * 60_000;
/** An unknown key is looked for again only this long after the last look. */
const KEYS_COOL_MS = 10_000;
const KEYS_MS = 10 * 60_000;
/** Anybody can begin a log-in or send a log-out, so an issuer that failed is left alone this long. */
const FAILURE_MS = 5_000;
const CLOCK_TOLERANCE_SECONDS = 30;
const MAX_KEPT = 200;
const LOG_OUT_EVENT = 'http://schemas.openid.net/event/backchannel-logout';

export interface IdentityOptions extends EgressPolicyOptions {
  /** Default: 10 s. */
  keysCoolMs?: number;
}

interface Known {
  server: oidc.ServerMetadata;
  keys: JWTVerifyGetKey;
  jwksUri: string;
  untilMs: number;
}

/** Settings as in EGRESS_ALLOW and EGRESS_HOST_MAP. */
export function createIdentityProviders(settings: IdentityOptions): IdentityProviders {
  const egress = createEgressPolicy(settings);
  const fetch = issuerFetch(egress);
  const issuers = new KnownIssuers(fetch, settings.keysCoolMs ?? KEYS_COOL_MS);
  return {
    logInUrl: async (issuer, request) =>
      guarded(issuer, async () => {
        const { server } = await issuers.find(issuer);
        return oidc.buildAuthorizationUrl(configured(issuer, server, fetch), {
          redirect_uri: request.redirect_uri,
          scope: issuer.scopes.join(' '),
          state: request.state,
          nonce: request.nonce,
          code_challenge: await oidc.calculatePKCECodeChallenge(request.verifier),
          code_challenge_method: 'S256',
          ...(request.fresh ? { prompt: 'login', max_age: String(FRESH_SECONDS) } : {}),
        }).href;
      }),
    redeem: async (issuer, request, address) =>
      guarded(issuer, async () => {
        const known = await issuers.find(issuer);
        return redeem(configured(issuer, known.server, fetch), known, request, address);
      }),
    logOutUrl: async (issuer, idToken, redirectUri) =>
      guarded(issuer, async () => {
        const { server } = await issuers.find(issuer);
        if (server.end_session_endpoint === undefined) return null;
        return oidc.buildEndSessionUrl(configured(issuer, server, fetch), {
          post_logout_redirect_uri: redirectUri,
          ...(idToken === null ? {} : { id_token_hint: idToken }),
        }).href;
      }),
    logOutClaims: async (issuer, token) =>
      guarded(issuer, async () => {
        const { keys, server } = await issuers.find(issuer);
        const claims = await verified(token, keys, server.issuer, issuer.client_id);
        return checkLogOutClaims(claims);
      }),
    tokenClaims: async (issuer, token, audiences) =>
      guarded(issuer, async () => {
        const { keys, server } = await issuers.find(issuer);
        return verified(token, keys, server.issuer, [...audiences]);
      }),
    check: async (issuer) =>
      guarded(issuer, async () => {
        issuers.forget(issuer);
        return factsOf(await issuers.find(issuer), fetch);
      }),
    close: () => egress.close(),
  };
}

/** What admins see of an issuer; its keys are read now. */
async function factsOf(
  { server, jwksUri }: Known,
  fetch: IssuerFetch,
): ReturnType<IdentityProviders['check']> {
  const answer = await fetch(jwksUri, { headers: { accept: 'application/json' } });
  const set: unknown = answer.status === 200 ? await answer.json() : null;
  if (!isRecord(set) || !Array.isArray(set['keys'])) throw invalidAnswer('its key set is not a JWK set');
  const { authorization_endpoint: authorization, token_endpoint: token } = server;
  if (authorization === undefined || token === undefined)
    throw invalidAnswer('its configuration names no authorization or token endpoint');
  return {
    authorization_endpoint: authorization,
    token_endpoint: token,
    jwks_uri: jwksUri,
    end_session_endpoint: server.end_session_endpoint ?? null,
    userinfo_endpoint: server.userinfo_endpoint ?? null,
    keys: set['keys'].length,
  };
}

/** How recent a fresh log-in is. */
const FRESH_SECONDS = 60;

/** Configurations and keys of issuers, for some minutes. */
class KnownIssuers {
  readonly #fetch: IssuerFetch;
  readonly #keysCoolMs: number;
  readonly #known = new Map<string, Known>();
  readonly #failed = new Map<string, { error: unknown; untilMs: number }>();
  readonly #asked = new Map<string, Promise<Known>>();

  constructor(fetch: IssuerFetch, keysCoolMs: number) {
    this.#fetch = fetch;
    this.#keysCoolMs = keysCoolMs;
  }

  async find(issuer: IssuerAccess): Promise<Known> {
    const key = keyOf(issuer);
    const kept = this.#known.get(key);
    if (kept !== undefined && kept.untilMs > Date.now()) return kept;
    const failed = this.#failed.get(key);
    if (failed !== undefined && failed.untilMs > Date.now()) throw failed.error;
    // Those who come meanwhile wait for the same answer.
    const asked = this.#asked.get(key) ?? this.#ask(key, issuer, kept);
    this.#asked.set(key, asked);
    return asked;
  }

  async #ask(key: string, issuer: IssuerAccess, kept: Known | undefined): Promise<Known> {
    try {
      const known = await this.#read(issuer, kept);
      keep(this.#known, key, known);
      this.#failed.delete(key);
      return known;
    } catch (error) {
      keep(this.#failed, key, { error, untilMs: Date.now() + FAILURE_MS });
      throw error;
    } finally {
      this.#asked.delete(key);
    }
  }

  async #read(issuer: IssuerAccess, kept: Known | undefined): Promise<Known> {
    const { server, jwksUri } = await this.#discover(issuer);
    // The keys of an issuer stay known with it, so that a new configuration does not lift the bound on looks.
    const keys =
      kept?.jwksUri === jwksUri
        ? kept.keys
        : createRemoteJWKSet(new URL(jwksUri), {
            // The library passes what `fetch` takes.
            [customFetch]: async (url, init) => this.#fetch(url, init),
            cooldownDuration: this.#keysCoolMs,
            cacheMaxAge: KEYS_MS,
          });
    return { server, keys, jwksUri, untilMs: Date.now() + CONFIGURATION_MS };
  }

  forget(issuer: IssuerAccess): void {
    for (const kept of [this.#known, this.#failed, this.#asked]) kept.delete(keyOf(issuer));
  }

  async #discover(issuer: IssuerAccess): Promise<{ server: oidc.ServerMetadata; jwksUri: string }> {
    const found = await oidc.discovery(new URL(issuer.issuer), issuer.client_id, undefined, oidc.None(), {
      execute: [oidc.allowInsecureRequests],
      [oidc.customFetch]: async (url, init) => this.#fetch(url, init),
    });
    const server = found.serverMetadata();
    const jwksUri = issuer.jwks_uri ?? server.jwks_uri;
    if (jwksUri === undefined) throw invalidAnswer('its configuration names no keys');
    for (const endpoint of [server.authorization_endpoint, server.end_session_endpoint])
      if (endpoint !== undefined) checkPage(endpoint);
    return { server: { ...server }, jwksUri };
  }
}

function keep<T>(map: Map<string, T>, key: string, value: T): void {
  if (map.size >= MAX_KEPT) map.clear();
  map.set(key, value);
}

/** Browsers are sent there. */
function checkPage(endpoint: string): void {
  if (!URL.canParse(endpoint) || !/^https?:$/.test(new URL(endpoint).protocol))
    throw invalidAnswer('its configuration names an endpoint that is no web address');
}

function keyOf(issuer: IssuerAccess): string {
  return JSON.stringify([issuer.issuer, issuer.jwks_uri]);
}

function configured(
  issuer: IssuerAccess,
  server: oidc.ServerMetadata,
  fetch: IssuerFetch,
): oidc.Configuration {
  const methods = server.token_endpoint_auth_methods_supported;
  const { client_id: id, client_secret: secret } = issuer;
  const usesBasic = methods === undefined || methods.includes('client_secret_basic');
  const authentication =
    secret === null
      ? oidc.None()
      : usesBasic
        ? oidc.ClientSecretBasic(secret)
        : oidc.ClientSecretPost(secret);
  const config = new oidc.Configuration(server, id, undefined, authentication);
  config[oidc.customFetch] = async (url, init) => fetch(url, init);
  // The egress policy decides where http is allowed.
  oidc.allowInsecureRequests(config);
  return config;
}

async function redeem(
  config: oidc.Configuration,
  { server, keys }: Known,
  request: LogInRequest,
  address: URL,
): Promise<IssuedIdentity> {
  const tokens = await oidc.authorizationCodeGrant(config, address, {
    pkceCodeVerifier: request.verifier,
    expectedState: request.state,
    expectedNonce: request.nonce,
    idTokenExpected: true,
    ...(request.fresh ? { maxAge: FRESH_SECONDS } : {}),
  });
  const idToken = tokens.id_token ?? '';
  // The token came over TLS, which would suffice (OpenID Connect Core section 3.1.3.7), but http is possible.
  const own = await verified(idToken, keys, server.issuer, config.clientMetadata().client_id);
  const subject = own.sub;
  if (typeof subject !== 'string' || !isName(subject))
    throw invalidAnswer('its ID token has no usable subject');
  const more =
    server.userinfo_endpoint === undefined
      ? {}
      : await oidc.fetchUserInfo(config, tokens.access_token, subject);
  const { sid, auth_time: authTime } = own;
  return {
    subject,
    claims: { ...more, ...own },
    id_token: idToken,
    session: typeof sid === 'string' && isName(sid) ? sid : null,
    authenticated_at: typeof authTime === 'number' ? new Date(authTime * 1_000) : null,
  };
}

/** OpenID Connect Core section 2: at most 255 characters. */
const MAX_SUBJECT = 255;

function isName(text: string): boolean {
  return text !== '' && text.length <= MAX_SUBJECT && !/\p{C}/u.test(text);
}

async function verified(
  token: string,
  keys: JWTVerifyGetKey,
  issuer: string,
  audience: string | string[],
): Promise<JWTPayload> {
  const { payload } = await jwtVerify(token, keys, {
    issuer,
    audience,
    algorithms: ALGORITHMS,
    clockTolerance: CLOCK_TOLERANCE_SECONDS,
    requiredClaims: ['exp', 'iat'],
  });
  return payload;
}

/** OpenID Connect Back-Channel Logout 1.0 section 2.6. */
function checkLogOutClaims(claims: JWTPayload): { subject: string | null; session: string | null } {
  const { events, nonce, sub, sid } = claims;
  if (!isRecord(events) || !isRecord(events[LOG_OUT_EVENT])) throw invalidAnswer('it is no logout token');
  if (nonce !== undefined) throw invalidAnswer('a logout token must not have a nonce');
  const [subject, session] = [sub, sid].map((one) => (typeof one === 'string' && isName(one) ? one : null));
  if (!subject && !session) throw invalidAnswer('the logout token names nobody');
  return { subject: subject ?? null, session: session ?? null };
}

function invalidAnswer(why: string): IdentityRefusal {
  return new IdentityRefusal('invalid_answer', `The answer of the issuer cannot be used: ${why}.`);
}

/** Turns what the libraries throw into a refusal. Their texts may quote tokens, so only codes are told. */
async function guarded<T>(issuer: IssuerAccess, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw refusalOf(issuer, error);
  }
}

function refusalOf({ issuer }: IssuerAccess, error: unknown): unknown {
  if (error instanceof IdentityRefusal) return error;
  const cause = { cause: error };
  const fault = faultIn(error);
  if (fault !== null)
    return new IdentityRefusal('issuer_unreachable', `${issuer} cannot be asked: ${fault.message}.`, cause);
  if (error instanceof oidc.AuthorizationResponseError || error instanceof oidc.ResponseBodyError) {
    const detail = `The issuer refused: ${codeOf(error.error)}.`;
    return new IdentityRefusal('issuer_refused', detail, cause);
  }
  if (error instanceof errors.JWKSTimeout)
    return new IdentityRefusal('issuer_unreachable', `${issuer} does not tell its keys in time.`, cause);
  const isKnown =
    error instanceof errors.JOSEError ||
    error instanceof oidc.ClientError ||
    error instanceof TypeError ||
    error instanceof SyntaxError;
  if (!isKnown && !(error instanceof oidc.WWWAuthenticateChallengeError)) return error;
  const code = 'code' in error ? String(error.code) : 'not what OpenID Connect demands';
  return new IdentityRefusal('invalid_answer', `The answer of the issuer fails a check (${code}).`, cause);
}

/** The failure of the request inside of what a library made of it. */
function faultIn(error: unknown): Fault | null {
  for (let at: unknown = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth += 1)
    if (at instanceof Fault) return at;
  return null;
}

/** RFC 6749 section 5.2: a word. */
function codeOf(error: string): string {
  return /^[\w.-]{1,60}$/.test(error) ? error : 'an unknown error';
}
