/** OAuth clients: registration, the page on which a user approves, tokens, metadata. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';

import { removeExpired } from '../../../domain/auth/cleanup.ts';
import { createClient, startTestApp, type Client, type TestApp, type TestUser } from '../../support/app.ts';
import { cookiesOf, fromOwnPage, sessionCookie, withHeaders } from '../../support/browser.ts';
import {
  answer,
  authorizationFields,
  authorize,
  authorizePath,
  comesBack,
  hiddenFields,
  pkce,
  postForm,
  redeem,
  redirectUri,
  register,
} from '../../support/oauth-client.ts';

let app: TestApp;
let ann: TestUser;
let page: Client;

beforeAll(async () => {
  app = await startTestApp({ env: { OAUTH_CLIENTS_PER_ADDRESS: '1000' } });
});
afterAll(() => app.close());
beforeEach(async () => {
  ann = await app.createUser();
  page = withHeaders(createClient(app.url), { ...fromOwnPage, cookie: await sessionCookie(app, ann) });
});

test('a user approves a client, which gets tokens and refreshes them', async () => {
  const flow = await authorize(app, page);
  const reply = await redeem(app, flow);
  expect([reply.status, reply.headers.get('cache-control')]).toEqual([200, 'no-store']);
  expect(reply.body).toMatchObject({ token_type: 'Bearer', expires_in: 900, scope: 'builder' });
  const client = createClient(app.url, reply.body.access_token);
  expect((await client.get('/users/me')).body.id).toBe(ann.id);
  const next = await postForm(app.anonymous, '/auth/token', {
    grant_type: 'refresh_token',
    refresh_token: reply.body.refresh_token,
    client_id: flow.clientId,
    resource: app.env.BASE_URL,
  });
  expect(next.status).toBe(200);
  expect((await createClient(app.url, next.body.access_token).get('/users/me')).status).toBe(200);
  const sessions = (await page.get('/users/me/sessions')).body;
  expect(sessions.at(-1)).toMatchObject({
    kind: 'client',
    client_name: 'Example client',
    role_limit: 'builder',
  });
  expect((await page.delete(`/users/me/sessions/${sessions.at(-1).id}`)).status).toBe(204);
  expect((await createClient(app.url, next.body.access_token).get('/users/me')).status).toBe(401);
});

test('the user comes back with code, state and issuer; a denial says so', async () => {
  const clientId = await register(app, { redirect_uris: [`${redirectUri}?tenant=7`] });
  const fields = {
    ...authorizationFields(clientId, pkce().challenge),
    redirect_uri: `${redirectUri}?tenant=7`,
    state: 'a&b="<c>\'é',
  };
  const approved = await answer(page, fields);
  expect([approved.status, approved.headers.get('location')?.split('?')[0]]).toEqual([303, redirectUri]);
  const { code, ...rest } = comesBack(approved);
  expect(code).toMatch(/^[\w-]{43}$/);
  expect(rest).toEqual({ tenant: '7', state: fields.state, iss: app.env.BASE_URL });
  const denied = await answer(page, fields, 'deny');
  expect(comesBack(denied)).toEqual({ ...rest, error: 'access_denied' });
});

test('the page says who asks, what for and where to, and runs no script', async () => {
  const clientId = await register(app, { client_name: '<b>Bold & "quoted"</b>' });
  const fields = authorizationFields(clientId, pkce().challenge);
  const shown = await page.get(authorizePath({ ...fields, scope: 'viewer', unknown: 'parameter' }));
  expect([shown.status, shown.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
  expect(shown.body).toContain('&lt;b&gt;Bold &amp; &quot;quoted&quot;&lt;/b&gt;');
  expect(shown.body).toContain(ann.username);
  expect(shown.body).toContain('client.example.com');
  expect(shown.body).toContain('read what is public and what is yours');
  expect(shown.body).not.toMatch(/<script|javascript:|<b>Bold/);
  expect(shown.headers.get('content-security-policy')?.split('; ')).toEqual([
    "default-src 'none'",
    expect.stringMatching(/^style-src 'sha256-[^']+'$/),
    "base-uri 'none'",
    "frame-ancestors 'none'",
    "form-action 'self' https://client.example.com",
  ]);
  expect([shown.headers.get('x-frame-options'), shown.headers.get('cache-control')]).toEqual([
    'DENY',
    'no-store',
  ]);
});

test('a visitor from another site comes to the page by a step of our own, and logs in there', async () => {
  const { username } = await registerUser();
  const clientId = await register(app);
  const path = authorizePath(authorizationFields(clientId, pkce().challenge));
  const step = await app.anonymous.get(path, { headers: { 'sec-fetch-site': 'cross-site' } });
  const next = /url=([^"]+)"/.exec(step.body)?.[1]?.replaceAll('&amp;', '&') ?? '';
  expect(next).toBe(`${path}&resumed=true`);
  const visitor = withHeaders(createClient(app.url), fromOwnPage);
  const form = await visitor.get(next);
  expect(form.body).toContain('autocomplete="current-password"');
  const wrong = { ...hiddenFields(form.body), action: 'log_in', username, password: 'not it' };
  const refused = await postForm(visitor, '/auth/authorize', wrong);
  expect([refused.status, refused.headers.getSetCookie()]).toEqual([401, []]);
  expect(refused.body).toContain('The username or password is incorrect.');
  const loggedIn = await postForm(visitor, '/auth/authorize', { ...wrong, password });
  expect([loggedIn.status, loggedIn.headers.get('location')]).toEqual([303, next]);
  const known = withHeaders(visitor, { cookie: cookiesOf(loggedIn) });
  const consent = await known.get(next);
  expect(consent.body).toContain(username);
  const approved = await postForm(known, '/auth/authorize', {
    ...hiddenFields(consent.body),
    action: 'approve',
  });
  expect(comesBack(approved)['code']).toBeDefined();
  const other = await postForm(known, '/auth/authorize', {
    ...hiddenFields(consent.body),
    action: 'log_out',
  });
  expect([other.status, other.headers.get('location')]).toEqual([303, next]);
  expect((await known.get('/users/me')).status).toBe(401);
});

const password = 'correct horse battery';
async function registerUser(): Promise<{ username: string }> {
  const username = `oauth-${Math.random().toString(36).slice(2)}`;
  const body = { username, email: `${username}@example.com`, password, roles: ['builder'] };
  expect((await (await app.as('admin')).post('/users', body)).status).toBe(201);
  return { username };
}

test('a client may do what the scope allows, and never more than its user', async () => {
  const admin = await app.createUser({ roles: ['admin'] });
  const adminPage = withHeaders(createClient(app.url), {
    ...fromOwnPage,
    cookie: await sessionCookie(app, admin),
  });
  const clientOf = async (who: Client, scope: string): Promise<{ client: Client; scope: string }> => {
    const { body } = await redeem(app, await authorize(app, who, { scope }));
    return { client: createClient(app.url, body.access_token), scope: body.scope };
  };
  const viewer = await clientOf(adminPage, 'viewer');
  expect([viewer.scope, (await viewer.client.get('/agents')).status]).toEqual(['viewer', 200]);
  expect((await viewer.client.post('/workflows', {})).status).toBe(403);
  const builder = await clientOf(adminPage, '');
  expect([builder.scope, (await builder.client.get('/users')).status]).toEqual(['builder', 403]);
  expect((await builder.client.get('/users/me')).body.id).toBe(admin.id);
  const full = await clientOf(adminPage, 'admin');
  expect([full.scope, (await full.client.get('/users')).status]).toEqual(['admin', 200]);
  const own = await clientOf(page, 'admin');
  expect([own.scope, (await own.client.get('/users')).status]).toEqual(['builder', 403]);
});

test('a confidential client shows its secret in the way that it registered', async () => {
  for (const method of ['client_secret_basic', 'client_secret_post']) {
    const reply = await app.anonymous.post('/auth/register', {
      redirect_uris: [redirectUri],
      ...(method === 'client_secret_basic' ? {} : { token_endpoint_auth_method: method }),
    });
    const { client_id: id, client_secret: secret } = reply.body;
    expect([reply.status, reply.body.token_endpoint_auth_method]).toEqual([201, method]);
    expect(reply.body).toMatchObject({ client_name: 'client.example.com', client_secret_expires_at: 0 });
    const basic = { authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}` };
    const byBasic = (flow: Parameters<typeof redeem>[1]) =>
      postForm(withHeaders(app.anonymous, basic), '/auth/token', {
        grant_type: 'authorization_code',
        code: flow.code,
        redirect_uri: redirectUri,
        code_verifier: flow.verifier,
      });
    const byPost = (flow: Parameters<typeof redeem>[1]) => redeem(app, flow, { client_secret: secret });
    const [right, wrong] = method === 'client_secret_basic' ? [byBasic, byPost] : [byPost, byBasic];
    const flow = await authorize(app, page, { client_id: id });
    for (const refused of [
      await wrong(flow),
      await redeem(app, flow),
      await redeem(app, flow, { client_secret: 'not the secret' }),
    ])
      expect([refused.status, refused.body.error]).toEqual([401, 'invalid_client']);
    expect((await right(flow)).status).toBe(200);
  }
});

test("a program on the user's machine takes a free port", async () => {
  const clientId = await register(app, { redirect_uris: ['http://127.0.0.1/callback'] });
  const { verifier, challenge } = pkce();
  const own = { redirect_uri: 'http://127.0.0.1:50123/callback' };
  const reply = await answer(page, { ...authorizationFields(clientId, challenge), ...own });
  expect(reply.headers.get('location')).toMatch(/^http:\/\/127\.0\.0\.1:50123\/callback\?code=/);
  const code = comesBack(reply)['code'] ?? '';
  expect((await redeem(app, { clientId, verifier, code }, own)).status).toBe(200);
});

test('a code is void once the session that approved has reached its end', async () => {
  const flow = await authorize(app, page);
  await app.orm.em.fork().execute('update auth_session set expires_at = now() where user_id = ?', [ann.id]);
  expect(await redeem(app, flow)).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
});

test('revocation ends a session: by the client, or by any token of its user', async () => {
  const revoke = (fields: Record<string, string>) => postForm(app.anonymous, '/auth/revoke', fields);
  const flow = await authorize(app, page);
  const { body } = await redeem(app, flow);
  const status = async () => (await createClient(app.url, body.access_token).get('/users/me')).status;
  const other = await register(app);
  expect((await revoke({ token: body.refresh_token, client_id: other })).status).toBe(200);
  expect((await revoke({ token: body.access_token, client_id: other })).status).toBe(200);
  expect((await revoke({ token: body.refresh_token })).status).toBe(200);
  expect(await status()).toBe(200);
  expect((await revoke({ token: body.refresh_token, client_id: 'unknown' })).status).toBe(401);
  expect((await revoke({ client_id: flow.clientId })).body.error).toBe('invalid_request');
  expect((await app.anonymous.post('/auth/revoke', { token: body.refresh_token })).status).toBe(401);
  expect((await revoke({ token: body.refresh_token, client_id: flow.clientId })).status).toBe(200);
  expect(await status()).toBe(401);

  const again = await redeem(app, await authorize(app, page));
  const client = createClient(app.url, again.body.access_token);
  expect((await client.post('/auth/revoke', { token: again.body.access_token })).status).toBe(200);
  expect((await client.get('/users/me')).status).toBe(401);
});

test('the metadata describe what the server does', async () => {
  const { body } = await app.anonymous.get('/.well-known/oauth-authorization-server');
  const issuer = app.env.BASE_URL;
  expect(body).toMatchObject({
    issuer,
    authorization_endpoint: `${issuer}/auth/authorize`,
    token_endpoint: `${issuer}/auth/token`,
    registration_endpoint: `${issuer}/auth/register`,
    response_types_supported: ['code'],
    code_challenge_methods_supported: ['S256'],
    authorization_response_iss_parameter_supported: true,
  });
  expect(body.grant_types_supported).toContain('authorization_code');
  const challenge = (await app.anonymous.get('/agents')).headers.get('www-authenticate') ?? '';
  const found = /resource_metadata="([^"]+)"/.exec(challenge)?.[1] ?? '';
  const resource = await app.anonymous.get(found);
  expect(resource.body).toMatchObject({ resource: issuer, authorization_servers: [issuer] });
  expect(resource.body.scopes_supported).not.toContain('admin');
});

describe('registration', () => {
  const refusals: [string, Record<string, unknown>, string][] = [
    ['without a redirect URI', {}, 'invalid_redirect_uri'],
    ['with none', { redirect_uris: [] }, 'invalid_redirect_uri'],
    ['with eleven', { redirect_uris: Array(11).fill(redirectUri) }, 'invalid_redirect_uri'],
    ['with plain HTTP', { redirect_uris: ['http://client.example.com/'] }, 'invalid_redirect_uri'],
    ['with a script', { redirect_uris: ['javascript:alert(1)'] }, 'invalid_redirect_uri'],
    ['with a name that hides text', { client_name: 'Bank\u202Eelpmaxe' }, 'invalid_client_metadata'],
    ['with a long name', { client_name: 'x'.repeat(101) }, 'invalid_client_metadata'],
    ['with a strange page', { client_uri: 'javascript:alert(1)' }, 'invalid_client_metadata'],
    ['with a page that hides text', { client_uri: 'https://a.example/\u202Emoc' }, 'invalid_client_metadata'],
    ['with a long page', { client_uri: `https://a.example/${'x'.repeat(400)}` }, 'invalid_client_metadata'],
    ['with a signed log-in', { token_endpoint_auth_method: 'private_key_jwt' }, 'invalid_client_metadata'],
    ['for another grant', { grant_types: ['client_credentials'] }, 'invalid_client_metadata'],
    ['for tokens without a code', { response_types: ['token'] }, 'invalid_client_metadata'],
  ];
  test.each(refusals)('%s is refused in the terms of RFC 7591', async (_name, metadata, error) => {
    const body =
      'redirect_uris' in metadata || error === 'invalid_redirect_uri'
        ? metadata
        : { redirect_uris: [redirectUri], ...metadata };
    const reply = await app.anonymous.post('/auth/register', body);
    expect([reply.status, reply.body.error]).toEqual([400, error]);
  });

  test('ignores what it does not know, and keeps only a hash of the secret', async () => {
    const reply = await app.anonymous.post('/auth/register', {
      redirect_uris: [redirectUri],
      logo_uri: null,
      software_id: 'x',
      grant_types: ['authorization_code', 'refresh_token', 'urn:other'],
    });
    expect(reply.status).toBe(201);
    expect(reply.body.grant_types).toEqual(['authorization_code', 'refresh_token']);
    const rows = await app.orm.em
      .fork()
      .execute<{ row: string }[]>('select to_jsonb(c)::text as row from oauth_client c');
    expect(rows.some(({ row }) => row.includes(reply.body.client_secret))).toBe(false);
  });

  test('is limited by address and in all, and can be off', async () => {
    const copy = (env: Record<string, string>) => startTestApp({ databaseUrl: app.databaseUrl, env });
    const body = { redirect_uris: [redirectUri] };
    const off = await copy({ OAUTH_MAX_CLIENTS: '0' });
    const refused = await off.anonymous.post('/auth/register', body);
    expect([refused.status, refused.body.code]).toEqual([403, 'registration_off']);
    const { body: metadata } = await off.anonymous.get('/.well-known/oauth-authorization-server');
    expect(metadata).not.toHaveProperty('registration_endpoint');
    await off.close();
    await app.orm.em.fork().execute('delete from oauth_client');
    const few = await copy({ OAUTH_CLIENTS_PER_ADDRESS: '2', OAUTH_MAX_CLIENTS: '3', TRUST_PROXY: 'true' });
    const from = (address: string) =>
      few.anonymous.post('/auth/register', body, { headers: { 'x-forwarded-for': address } });
    const statuses = [];
    for (const address of ['192.0.2.1', '192.0.2.1', '192.0.2.1', '192.0.2.2', '192.0.2.3'])
      statuses.push((await from(address)).status);
    expect(statuses).toEqual([201, 201, 429, 201, 429]);
    await few.close();
  });

  test('is forgotten if nobody approves it within a day, or if it lies idle', async () => {
    const em = app.orm.em.fork();
    const [unused, idle, used] = [await register(app), await register(app), await register(app)];
    for (const id of [idle, used]) await redeem(app, await authorize(app, page, { client_id: id }));
    await em.execute(`update oauth_client set created_at = created_at - interval '100 days',
                             approved_at = approved_at - interval '91 days'`);
    await em.execute('update auth_session set revoked_at = now() where oauth_client_id = ?', [idle]);
    await removeExpired(em);
    const left = await em.execute<{ id: string }[]>('select id from oauth_client');
    expect([unused, idle, used].map((id) => left.some((row) => row.id === id))).toEqual([false, false, true]);
  });

  test('administrators list and remove clients, which ends their sessions', async () => {
    const admin = await app.as('admin');
    const flow = await authorize(app, page);
    const { body } = await redeem(app, flow);
    const list = (await admin.get('/auth/clients?limit=200')).body as { id: string; approved_at: string }[];
    expect(list.find(({ id }) => id === flow.clientId)?.approved_at).toEqual(expect.any(String));
    expect((await admin.delete(`/auth/clients/${flow.clientId}`)).status).toBe(204);
    expect((await createClient(app.url, body.access_token).get('/users/me')).status).toBe(401);
    expect((await admin.delete(`/auth/clients/${flow.clientId}`)).status).toBe(404);
  });
});
