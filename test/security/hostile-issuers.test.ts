/** Answers of an issuer, or of somebody in its place, that must log nobody in. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { exportJWK, generateKeyPair, SignJWT, UnsecuredJWT, type CryptoKey, type JWK } from 'jose';

import { startTestApp, type Client, type TestApp } from '../support/app.ts';
import { Browser } from '../support/issuer.ts';

/** What the issuer does next; without a change it is honest. */
interface Behaviour {
  idToken?: (claims: Claims) => Promise<string> | string;
  keys?: () => string;
  discovery?: (
    document: Record<string, unknown>,
  ) => Record<string, unknown> | 'silent' | { redirect: string };
  userinfo?: Record<string, unknown>;
}
type Claims = Record<string, unknown>;

let app: TestApp;
let admin: Client;
let url: string;
let key: { privateKey: CryptoKey; jwk: JWK };
let nonce = '';
let behaviour: Behaviour = {};
let issuers = 0;
const asked: string[] = [];
const server = createServer((request, response) => void answer(request, response));

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  // The address of a listening TCP server has this type.
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { privateKey, publicKey } = await generateKeyPair('RS256', { extractable: true });
  key = { privateKey, jwk: { ...(await exportJWK(publicKey)), kid: 'k1', alg: 'RS256', use: 'sig' } };
  app = await startTestApp({ env: { EGRESS_ALLOW: '127.0.0.1' } });
  admin = await app.as('admin');
});

beforeEach(() => {
  behaviour = {};
  asked.length = 0;
});

afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  await app.close();
});

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const path = new URL(request.url ?? '/', url).pathname;
  asked.push(path);
  const json = (body: unknown): void => {
    response.setHeader('content-type', 'application/json');
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  };
  const issuer = `${url}/${path.split('/')[1] ?? ''}`;
  if (path.endsWith('/openid-configuration')) {
    const honest = {
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      jwks_uri: `${issuer}/jwks`,
      userinfo_endpoint: `${issuer}/userinfo`,
      id_token_signing_alg_values_supported: ['RS256', 'HS256', 'none'],
    };
    const given = behaviour.discovery?.(honest) ?? honest;
    if (given === 'silent') return;
    if ('redirect' in given) response.writeHead(302, { location: String(given['redirect']) }).end();
    else json(given);
  } else if (path.endsWith('/jwks')) json(behaviour.keys?.() ?? { keys: [key.jwk] });
  else if (path.endsWith('/userinfo')) json(behaviour.userinfo ?? { sub: 's-1' });
  else if (path.endsWith('/token')) {
    const now = Math.floor(Date.now() / 1_000);
    const claims = { iss: issuer, sub: 's-1', aud: 'cadenza', iat: now, exp: now + 60, nonce };
    const token = await (behaviour.idToken ?? signed)(claims);
    json({ access_token: 'opaque', token_type: 'Bearer', expires_in: 60, id_token: token });
  } else response.writeHead(404).end();
}

async function signed(claims: Claims): Promise<string> {
  return new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: 'k1' }).sign(key.privateKey);
}

const changed = (changes: Claims) => (claims: Claims) => signed({ ...claims, ...changes });

/** An issuer of its own for each test: its configuration and keys are not known yet. */
async function addIssuer(fields: object = {}): Promise<string> {
  issuers += 1;
  const name = `i${issuers}`;
  const reply = await admin.post('/identity-issuers', {
    name,
    title: 'Hostile',
    issuer: `${url}/${name}`,
    client_id: 'cadenza',
    mapping: { default_roles: ['viewer'] },
    ...fields,
  });
  expect(reply.status).toBe(201);
  return name;
}

/** The status and the text of the page that ends the log-in. */
async function logIn(name: string, changes: Record<string, string> = {}) {
  const browser = new Browser();
  const begun = await browser.visit(`${app.url}/auth/sso/${name}`);
  const location = begun.headers.get('location');
  if (location === null) return { status: begun.status, text: await begun.text(), session: 204 };
  const asking = new URL(location).searchParams;
  nonce = asking.get('nonce') ?? '';
  const back = new URL(asking.get('redirect_uri') ?? '');
  const parameters = { code: 'a-code', state: asking.get('state') ?? '', ...changes };
  back.search = new URLSearchParams(parameters).toString();
  const done = await browser.visit(back.href, 'cross-site');
  const session = await browser.visit(`${app.url}/console/session`);
  return { status: done.status, text: await done.text(), session: session.status };
}

const refused = { status: 403, session: 204 };

test('an honest answer logs in', async () => {
  expect(await logIn(await addIssuer())).toMatchObject({ status: 303, session: 200 });
});

test.each<[string, Behaviour['idToken']]>([
  ['another nonce', changed({ nonce: 'another' })],
  ['no nonce', changed({ nonce: undefined })],
  ['another audience', changed({ aud: 'another-client' })],
  ['several audiences without azp', changed({ aud: ['cadenza', 'other'], azp: 'other' })],
  ['another issuer', changed({ iss: 'https://accounts.google.com' })],
  ['an expired token', changed({ iat: 1, exp: 2 })],
  ['no expiry', changed({ exp: undefined })],
  ['no subject', changed({ sub: undefined })],
  ['a subject with hidden characters', changed({ sub: 's-1\u0000' })],
  ['alg none', (claims) => new UnsecuredJWT(claims).encode()],
  [
    'HS256 with the public key as its secret',
    (claims) =>
      new SignJWT(claims)
        .setProtectedHeader({ alg: 'HS256', kid: 'k1' })
        .sign(new TextEncoder().encode(JSON.stringify(key.jwk))),
  ],
  [
    'a key of somebody else',
    async (claims) => {
      const { privateKey } = await generateKeyPair('RS256');
      return new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: 'k1' }).sign(privateKey);
    },
  ],
  [
    'a key in the token itself',
    async (claims) => {
      const { privateKey, publicKey } = await generateKeyPair('RS256', { extractable: true });
      const jwk = await exportJWK(publicKey);
      return new SignJWT(claims).setProtectedHeader({ alg: 'RS256', jwk }).sign(privateKey);
    },
  ],
  [
    'an unknown key',
    (claims) => new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: 'k9' }).sign(key.privateKey),
  ],
])('an ID token with %s is refused', async (_title, idToken) => {
  const name = await addIssuer();
  if (idToken !== undefined) behaviour.idToken = idToken;
  expect(await logIn(name)).toMatchObject(refused);
});

test('an answer for another state or from another issuer is refused before the code is sent', async () => {
  const name = await addIssuer();
  for (const changes of [{ state: 'forged' }, { iss: 'https://evil.example' }])
    expect(await logIn(name, changes)).toMatchObject(refused);
  expect(asked.filter((path) => path.endsWith('/token'))).toEqual([]);
});

test('an error of the issuer is told without its text', async () => {
  const page = await logIn(await addIssuer(), {
    error: 'access_denied',
    error_description: '<script>alert(1)</script>',
  });
  expect(page).toMatchObject(refused);
  expect(page.text).toContain('access_denied');
  expect(page.text).not.toContain('script>');
});

test('userinfo of another subject is refused', async () => {
  behaviour.userinfo = { sub: 'somebody-else', roles: ['admin'] };
  expect(await logIn(await addIssuer())).toMatchObject(refused);
});

test('unknown keys are looked for once, not for each token', async () => {
  const name = await addIssuer();
  behaviour.idToken = (claims) =>
    new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: crypto.randomUUID() }).sign(key.privateKey);
  for (let n = 0; n < 5; n += 1) expect(await logIn(name)).toMatchObject(refused);
  expect(asked.filter((path) => path.endsWith('/jwks')).length).toBeLessThan(5);
});

test('a huge key set, and one that is none, end the log-in', async () => {
  behaviour.keys = () => JSON.stringify({ keys: [key.jwk], padding: 'x'.repeat(2_000_000) });
  expect((await logIn(await addIssuer())).session).toBe(204);
  behaviour.keys = () => 'no json';
  expect((await logIn(await addIssuer())).session).toBe(204);
});

test.each<[string, NonNullable<Behaviour['discovery']>]>([
  ['names another issuer', (document) => ({ ...document, issuer: 'https://id.example.com' })],
  [
    'sends the browser to a script',
    (document) => ({ ...document, authorization_endpoint: 'javascript:alert(1)' }),
  ],
  ['redirects to a private address', () => ({ redirect: 'http://169.254.169.254/latest/meta-data' })],
  ['redirects elsewhere', () => ({ redirect: `${url}/elsewhere/.well-known/openid-configuration` })],
  ['names keys at a private address', (document) => ({ ...document, jwks_uri: 'http://10.0.0.1/keys' })],
  [
    'names our own API as its token endpoint',
    (document) => ({ ...document, token_endpoint: `${app.url}/auth/token` }),
  ],
  ['does not answer', () => 'silent'],
])(
  'a configuration that %s ends the log-in',
  async (_title, discovery) => {
    behaviour.discovery = discovery;
    const { status, session } = await logIn(await addIssuer());
    expect([403, 502]).toContain(status);
    expect(session).toBe(204);
    expect(asked.some((path) => path.startsWith('/elsewhere'))).toBe(false);
  },
  30_000,
);

test('an issuer at a private address that the operator does not allow is not asked', async () => {
  const strict = await startTestApp({ databaseUrl: app.databaseUrl });
  const name = await addIssuer();
  const page = await new Browser().visit(`${strict.url}/auth/sso/${name}`);
  expect([page.status, asked]).toEqual([502, []]);
  expect(await page.text()).toContain('EGRESS_ALLOW');
  await strict.close();
});

test('an issuer that fails is left alone for a while, and a log-out does not tell why', async () => {
  behaviour.discovery = () => ({ redirect: 'http://169.254.169.254/latest/meta-data' });
  const name = await addIssuer();
  const form = { headers: { 'content-type': 'application/x-www-form-urlencoded' } };
  const logOut = () => app.anonymous.post(`/auth/sso/${name}/logout`, 'logout_token=x.y.z', form);
  const replies = [...(await Promise.all([logOut(), logOut(), logOut()])), await logOut()];
  const refusal = { error: 'invalid_request', error_description: 'The logout token is not accepted.' };
  expect(replies.map(({ status, body }) => [status, body])).toEqual(replies.map(() => [400, refusal]));
  expect(await logIn(name)).toMatchObject(refused);
  const looks = () => asked.filter((path) => path.endsWith('/openid-configuration')).length;
  // The library looks at one address, or at two.
  const after = looks();
  expect(after).toBeLessThanOrEqual(2);
  // An admin who has mended it need not wait.
  behaviour = {};
  const { body: listed } = await admin.get('/identity-issuers?limit=200');
  const { id } = listed.find((issuer: { name: string }) => issuer.name === name);
  expect((await admin.post(`/identity-issuers/${id}/check`)).status).toBe(200);
  expect((await logIn(name)).status).toBe(303);
});
