/** OpenID Connect with our server: a real client logs in, and attacks on log-in, ID tokens and codes fail. */
import { once } from 'node:events';
import { get } from 'node:http';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createLocalJWKSet, decodeJwt, decodeProtectedHeader, jwtVerify } from 'jose';
import * as oidc from 'openid-client';

import { removeExpired } from '../../domain/auth/cleanup.ts';
import { applySettingsClient } from '../../domain/oauth/settings-client.ts';
import {
  createClient,
  startTestApp,
  type Client,
  type Reply,
  type TestApp,
  type TestUser,
} from '../support/app.ts';
import { fromOwnPage, sessionCookie, withHeaders } from '../support/browser.ts';
import {
  answer,
  authorizePath,
  comesBack,
  hiddenFields,
  pkce,
  postForm,
  redirectUri,
  register,
} from '../support/oauth-client.ts';

const ui = 'https://temporal.example.com';
const callback = `${ui}/auth/sso/callback`;
const secret = 's'.repeat(40);
let app: TestApp;
let boss: TestUser;
let bossPage: Client;
let builder: TestUser;
let builderPage: Client;

beforeAll(async () => {
  app = await startTestApp({
    env: {
      TEMPORAL_UI_URL: ui,
      TEMPORAL_UI_CLIENT_SECRET: secret,
      OPENID_BACKCHANNEL_URL: 'http://api:3000',
      OAUTH_CLIENTS_PER_ADDRESS: '1000',
    },
  });
  await applySettingsClient(app.orm.em.fork(), app.env);
  boss = await app.createUser({ roles: ['admin'] });
  builder = await app.createUser({ roles: ['builder'] });
  bossPage = await pageOf(boss);
  builderPage = await pageOf(builder);
});
afterAll(() => app.close());

async function pageOf(user: TestUser): Promise<Client> {
  return withHeaders(createClient(app.url), { ...fromOwnPage, cookie: await sessionCookie(app, user) });
}

function discover(id: string, authentication: oidc.ClientAuth): Promise<oidc.Configuration> {
  return oidc.discovery(new URL(app.env.BASE_URL), id, {}, authentication, {
    execute: [oidc.allowInsecureRequests],
  });
}

/** What Temporal's UI sends: state and nonce, and no PKCE. */
const uiFields = (more: Record<string, string> = {}): Record<string, string> => ({
  response_type: 'code',
  client_id: 'temporal-ui',
  redirect_uri: callback,
  scope: 'openid profile email',
  state: 'the state',
  nonce: 'the nonce',
  ...more,
});
const open = (page: Client, fields: Record<string, string>): Promise<Reply> =>
  page.get(authorizePath({ ...fields, resumed: 'true' }));

async function codeOf(page: Client, more: Record<string, string> = {}): Promise<string> {
  const reply = await open(page, uiFields(more));
  if (reply.status !== 303) throw new Error(`${reply.status} ${JSON.stringify(reply.body)}`);
  return comesBack(reply)['code'] ?? '';
}

function redeemUi(code: string, more: Record<string, string> = {}): Promise<Reply> {
  const fields = { grant_type: 'authorization_code', code, redirect_uri: callback, client_id: 'temporal-ui' };
  return postForm(app.anonymous, '/auth/token', { ...fields, client_secret: secret, ...more });
}

const outcome = ({ status, body }: Reply) => [status, body.error ?? body.code];
const decodeWith = (token: string): Promise<Reply> =>
  createClient(app.url, token).post('/temporal-codec/decode?preserveStorageRefs=true', { payloads: [] });

test('a library logs in as the web UI of Temporal would: discovery, code, ID token, user info', async () => {
  for (const way of [oidc.ClientSecretBasic(secret), oidc.ClientSecretPost(secret)]) {
    const config = await discover('temporal-ui', way);
    const [state, nonce] = [oidc.randomState(), oidc.randomNonce()];
    const url = oidc.buildAuthorizationUrl(config, {
      redirect_uri: callback,
      scope: 'openid profile email',
      state,
      nonce,
    });
    const reply = await open(bossPage, Object.fromEntries(url.searchParams));
    const back = new URL(reply.headers.get('location') ?? '');
    expect(`${back.origin}${back.pathname}`).toBe(callback);
    const tokens = await oidc.authorizationCodeGrant(config, back, {
      expectedState: state,
      expectedNonce: nonce,
      maxAge: 3_600,
    });
    const claims = tokens.claims();
    expect(claims).toMatchObject({
      iss: app.env.BASE_URL,
      aud: 'temporal-ui',
      sub: boss.id,
      nonce,
      preferred_username: boss.username,
      email_verified: false,
    });
    expect((claims?.exp ?? 0) - (claims?.iat ?? 0)).toBe(900);
    expect(await oidc.fetchUserInfo(config, tokens.access_token, boss.id)).toMatchObject({
      sub: boss.id,
      preferred_username: boss.username,
    });
    const renewed = await oidc.refreshTokenGrant(config, tokens.refresh_token ?? '');
    expect(renewed.claims()).toMatchObject({ sub: boss.id, aud: 'temporal-ui' });
    expect(renewed.claims()).not.toHaveProperty('nonce');
  }
});

test('any client may learn who the user is, and gets no rights by that', async () => {
  const clientId = await register(app);
  const config = await discover(clientId, oidc.None());
  const verifier = oidc.randomPKCECodeVerifier();
  const url = oidc.buildAuthorizationUrl(config, {
    redirect_uri: redirectUri,
    scope: 'openid',
    state: 'state',
    code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  });
  const reply = await answer(builderPage, Object.fromEntries(url.searchParams));
  const tokens = await oidc.authorizationCodeGrant(config, new URL(reply.headers.get('location') ?? ''), {
    expectedState: 'state',
    pkceCodeVerifier: verifier,
  });
  expect(tokens.claims()).toMatchObject({ sub: builder.id, aud: clientId });
  expect(tokens.claims()).not.toHaveProperty('email');
  expect(await oidc.fetchUserInfo(config, tokens.access_token, builder.id)).toEqual({ sub: builder.id });
  const client = createClient(app.url, tokens.access_token);
  for (const path of ['/users/me', '/workflows', '/runs', '/agents'])
    expect(outcome(await client.get(path))).toEqual([403, 'insufficient_scope']);
});

test('the metadata name what programs call by the address at which they ask', async () => {
  const asked = async (host: string): Promise<Record<string, string>> => {
    const { hostname, port } = new URL(app.url);
    const request = get({ hostname, port, path: '/.well-known/openid-configuration', headers: { host } });
    const [response] = (await once(request, 'response')) as [Readable];
    return JSON.parse(await text(response)) as Record<string, string>;
  };
  const body = await asked(new URL(app.env.BASE_URL).host);
  expect(body).toMatchObject({
    issuer: app.env.BASE_URL,
    token_endpoint: `${app.env.BASE_URL}/auth/token`,
    id_token_signing_alg_values_supported: ['ES256'],
  });
  expect(await asked('api:3000')).toEqual({
    ...body,
    token_endpoint: 'http://api:3000/auth/token',
    userinfo_endpoint: 'http://api:3000/auth/userinfo',
    jwks_uri: 'http://api:3000/.well-known/jwks.json',
    registration_endpoint: 'http://api:3000/auth/register',
    revocation_endpoint: 'http://api:3000/auth/revoke',
  });
  for (const wrong of ['evil.example', 'api', 'api:3001']) expect(await asked(wrong)).toEqual(body);
});

test('only administrators log in to the UI, at each step', async () => {
  const refused = await open(builderPage, uiFields());
  expect([refused.status, refused.headers.get('location')]).toEqual([403, null]);
  expect(refused.body).toContain('role admin');
  // The form of that page cannot approve either.
  const forged = await postForm(builderPage, '/auth/authorize', {
    ...hiddenFields(refused.body),
    action: 'approve',
  });
  expect(comesBack(forged)).toMatchObject({ error: 'access_denied', state: 'the state' });
  expect(comesBack(await open(builderPage, uiFields({ prompt: 'none' })))).toMatchObject({
    error: 'access_denied',
  });
  const admin = await app.as('admin');
  const entries = (await admin.get(`/audit?action=approve_client&outcome=refused&actor_id=${builder.id}`))
    .body;
  expect(entries[0]).toMatchObject({ details: { code: 'role_required' } });

  // Who loses the role between two steps gets nothing any more.
  const former = await app.createUser({ roles: ['admin'] });
  const page = await pageOf(former);
  const { body: tokens } = await redeemUi(await codeOf(page));
  const code = await codeOf(page);
  expect((await decodeWith(tokens.access_token)).status).toBe(404);
  expect((await admin.patch(`/users/${former.id}`, { roles: ['builder'] })).status).toBe(200);
  expect(outcome(await redeemUi(code))).toEqual([400, 'invalid_grant']);
  expect(outcome(await decodeWith(tokens.access_token))).toEqual([403, 'role_required']);
  const refresh = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token };
  const credentials = { client_id: 'temporal-ui', client_secret: secret };
  expect(outcome(await postForm(app.anonymous, '/auth/token', { ...refresh, ...credentials }))).toEqual([
    400,
    'invalid_grant',
  ]);
});

test("the UI's access token opens the codec and the user info, and nothing else of the API", async () => {
  const { body: tokens } = await redeemUi(await codeOf(bossPage));
  const client = createClient(app.url, tokens.access_token);
  expect((await client.get('/auth/userinfo')).body).toMatchObject({ sub: boss.id });
  for (const path of ['/users/me', '/users', '/runs', '/audit'])
    expect((await client.get(path)).status).toBe(401);
  expect((await client.post('/mcp', {})).status).toBe(401);
  // Here without a codec; test/e2e/encryption.test.ts decodes.
  expect((await decodeWith(tokens.access_token)).status).toBe(404);
  expect((await decodeWith(tokens.id_token)).status).toBe(401);
  expect((await createClient(app.url, tokens.id_token).get('/auth/userinfo')).status).toBe(401);
  const cookieOnly = await bossPage.post('/temporal-codec/decode', { payloads: [] });
  expect(cookieOnly.status).toBe(401);
  expect(outcome(await decodeWith(builder.token))).toEqual([403, 'role_required']);
});

test('however many runs a request decodes, the audit log names each', async () => {
  const plain = async <T>(payloads: T) => payloads;
  const other = await startTestApp({ payloadCodec: { decode: plain } });
  try {
    const ids = Array.from({ length: 45 }, (_, n) => `run ${n}`);
    const payloads = ids.map((id) => ({
      metadata: { 'workflow-id': Buffer.from(id).toString('base64') },
      data: '',
    }));
    const client = await other.as('admin');
    expect((await client.post('/temporal-codec/decode', { payloads })).status).toBe(200);
    const entries = (await client.get('/audit?action=decodePayloads')).body;
    const named = entries.flatMap(({ details }: { details: { workflows: string[] } }) => details.workflows);
    expect(named.toSorted()).toEqual(ids.toSorted());
  } finally {
    await other.close();
  }
});

test('an ID token names its client, its key and its request, and any change is seen', async () => {
  const { body: tokens } = await redeemUi(await codeOf(bossPage, { nonce: 'of the request' }));
  const jwks = createLocalJWKSet((await app.anonymous.get('/.well-known/jwks.json')).body);
  const expected = { issuer: app.env.BASE_URL, audience: 'temporal-ui' };
  const { payload } = await jwtVerify(tokens.id_token, jwks, expected);
  expect(payload).toMatchObject({
    nonce: 'of the request',
    azp: 'temporal-ui',
    auth_time: expect.any(Number),
  });
  expect(decodeProtectedHeader(tokens.id_token)).toMatchObject({ alg: 'ES256', typ: 'JWT' });
  expect(decodeJwt(tokens.access_token).aud).toBe(`${app.env.BASE_URL}/temporal-codec`);
  await expect(jwtVerify(tokens.access_token, jwks, expected)).rejects.toThrow();
  const [head = '', body = '', mark = ''] = tokens.id_token.split('.');
  const forged = Buffer.from(JSON.stringify({ ...decodeJwt(tokens.id_token), sub: builder.id })).toString(
    'base64url',
  );
  await expect(jwtVerify([head, forged, mark].join('.'), jwks, expected)).rejects.toThrow();
  expect(body).not.toBe(forged);
});

test('a library refuses a code that was injected: its nonce is that of another request', async () => {
  const config = await discover('temporal-ui', oidc.ClientSecretPost(secret));
  const stolen = await open(bossPage, uiFields({ nonce: "the victim's" }));
  const back = new URL(stolen.headers.get('location') ?? '');
  await expect(
    oidc.authorizationCodeGrant(config, back, {
      expectedState: 'the state',
      expectedNonce: "the attacker's",
    }),
  ).rejects.toMatchObject({ cause: { cause: { claim: 'nonce' } } });
});

test('a code counts once, for its client, its address and its kind of proof', async () => {
  for (const more of [
    { redirect_uri: `${ui}/auth/sso_callback` },
    { redirect_uri: '' },
    // Nobody asked with a challenge, so nobody has a verifier.
    { code_verifier: pkce().verifier },
  ]) {
    expect(outcome(await redeemUi(await codeOf(bossPage), more))).toEqual([400, 'invalid_grant']);
  }
  expect(outcome(await redeemUi(await codeOf(bossPage), { client_secret: 'wrong' }))).toEqual([
    401,
    'invalid_client',
  ]);
  const code = await codeOf(bossPage);
  const other = { client_id: await register(app), client_secret: '', redirect_uri: redirectUri };
  expect(outcome(await redeemUi(code, other))).toEqual([400, 'invalid_grant']);
  const { body: tokens } = await redeemUi(code);
  expect((await createClient(app.url, tokens.access_token).get('/auth/userinfo')).status).toBe(200);
  expect(outcome(await redeemUi(code))).toEqual([400, 'invalid_grant']);
  expect((await createClient(app.url, tokens.access_token).get('/auth/userinfo')).status).toBe(401);
});

test('requests that weaken the log-in are refused, without a redirect', async () => {
  const { challenge } = pkce();
  const { nonce: _, ...noNonce } = uiFields();
  for (const [fields, code] of [
    [noNonce, 'invalid_request'],
    [uiFields({ scope: 'profile' }), 'invalid_request'],
    [uiFields({ redirect_uri: 'https://evil.example/auth/sso/callback' }), 'invalid_request'],
    [uiFields({ redirect_uri: `${callback}/..` }), 'invalid_request'],
    [uiFields({ code_challenge: challenge, code_challenge_method: 'plain' }), 'invalid_request'],
    [uiFields({ response_type: 'code id_token' }), 'unsupported_response_type'],
    [uiFields({ resource: `${app.env.BASE_URL}/mcp` }), 'invalid_target'],
    [uiFields({ resource: app.env.BASE_URL }), 'invalid_target'],
    [uiFields({ max_age: '-1' }), 'invalid_request'],
    [uiFields({ prompt: 'silently' }), 'invalid_request'],
    [uiFields({ client_id: 'temporal-u1' }), 'invalid_client'],
    // Nobody's consent opens the codec.
    [
      {
        ...uiFields({ redirect_uri: redirectUri, resource: `${app.env.BASE_URL}/temporal-codec/` }),
        client_id: await register(app),
        code_challenge: challenge,
        code_challenge_method: 'S256',
      },
      'invalid_target',
    ],
    // Who registered itself needs PKCE, whatever nonce it has.
    [{ ...uiFields({ redirect_uri: redirectUri }), client_id: await register(app) }, 'invalid_request'],
  ] as const) {
    const reply = await open(bossPage, fields);
    expect([...outcome(reply), reply.headers.get('location')]).toEqual([400, code, null]);
  }
});

test('prompt and max_age are heard', async () => {
  const stranger = withHeaders(createClient(app.url), fromOwnPage);
  expect(comesBack(await open(stranger, uiFields({ prompt: 'none' })))).toMatchObject({
    error: 'login_required',
    iss: app.env.BASE_URL,
  });
  expect((await open(bossPage, uiFields({ max_age: '3600', prompt: 'none' }))).status).toBe(303);
  await app.orm.em.fork().execute(
    `update auth_session set created_at = now() - interval '10 minutes'
        where user_id = ? and cookie_hash is not null`,
    [boss.id],
  );
  for (const fields of [uiFields({ max_age: '60' }), uiFields({ prompt: 'login' })]) {
    const reply = await open(bossPage, fields);
    expect([reply.status, reply.body]).toEqual([200, expect.stringContaining('Log in to Cadenza')]);
  }
  const consent = await open(bossPage, uiFields({ prompt: 'consent' }));
  expect([consent.status, consent.body]).toEqual([
    200,
    expect.stringContaining('belongs to this installation'),
  ]);
});

test('only the settings remove their client, and a new secret ends its sessions', async () => {
  const em = app.orm.em.fork();
  await em.execute(
    `update oauth_client set created_at = now() - interval '2 years', approved_at = null where from_settings`,
  );
  await removeExpired(em);
  const admin = await app.as('admin');
  const clients = (await admin.get('/auth/clients')).body as Record<string, unknown>[];
  const own = clients.find(({ from_settings: fixed }) => fixed);
  expect(own).toMatchObject({ client_id: 'temporal-ui', required_role: 'admin' });
  expect(outcome(await admin.delete(`/auth/clients/${String(own?.['id'])}`))).toEqual([409, 'from_settings']);
  const { body: tokens } = await redeemUi(await codeOf(bossPage));
  const client = createClient(app.url, tokens.access_token);
  await applySettingsClient(em, app.env);
  expect((await client.get('/auth/userinfo')).status).toBe(200);
  await applySettingsClient(em, { ...app.env, TEMPORAL_UI_CLIENT_SECRET: 't'.repeat(40) });
  expect((await client.get('/auth/userinfo')).status).toBe(401);
  await applySettingsClient(em, { ...app.env, TEMPORAL_UI_CLIENT_SECRET: undefined });
  expect(outcome(await open(bossPage, uiFields()))).toEqual([400, 'invalid_client']);
});
