import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { createLocalJWKSet, decodeJwt, jwtVerify, SignJWT, generateKeyPair } from 'jose';

import { removeExpired } from '../../../domain/auth/cleanup.ts';
import { seedAdmin } from '../../../domain/auth/seed.ts';
import { createClient, startTestApp, type Client, type Reply, type TestApp } from '../../support/app.ts';

const password = 'correct horse battery';
let app: TestApp;
let admin: Client;
let count = 0;

beforeAll(async () => {
  app = await startTestApp();
  admin = await app.as('admin');
});
afterAll(() => app.close());
beforeEach(() => app.orm.em.fork().execute('delete from login_attempt'));

/** A user with a real password. */
async function register(roles = ['builder']): Promise<{ id: string; username: string; email: string }> {
  count += 1;
  const reply = await admin.post('/users', {
    username: `Person${count}`,
    email: `person${count}@example.com`,
    password,
    roles,
    groups: ['ops'],
  });
  expect(reply.status).toBe(201);
  return reply.body;
}

function logIn(username: string, secret = password): Promise<Reply> {
  return app.anonymous.post('/auth/token', { username, password: secret });
}

function form(fields: Record<string, string> | string, headers: Record<string, string> = {}): Promise<Reply> {
  return app.anonymous.post('/auth/token', new URLSearchParams(fields).toString(), {
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
  });
}

function me(token: string): Promise<Reply> {
  return createClient(app.url, token).get('/users/me');
}

test('POST /auth/token accepts the user name or the e-mail address in any case', async () => {
  const user = await register();
  for (const name of [user.username, user.username.toLowerCase(), user.email.toUpperCase()]) {
    const reply = await logIn(name);
    expect(reply.status).toBe(200);
    expect(reply.headers.get('cache-control')).toBe('no-store');
    expect(reply.body).toMatchObject({ token_type: 'Bearer', expires_in: 900, scope: 'builder' });
    expect((await me(reply.body.access_token)).body).toMatchObject({
      id: user.id,
      username: user.username,
      groups: ['ops'],
      status: 'active',
    });
  }
});

test('an access token is an RFC 9068 JWT that the published keys verify', async () => {
  const user = await register();
  const { access_token: token } = (await logIn(user.username)).body;
  const keys = createLocalJWKSet((await app.anonymous.get('/.well-known/jwks.json')).body);
  const { payload, protectedHeader } = await jwtVerify(token, keys, {
    issuer: app.env.BASE_URL,
    audience: 'cadenza',
    typ: 'at+jwt',
  });
  expect(protectedHeader.alg).toBe('ES256');
  expect(payload).toMatchObject({ sub: user.id, client_id: 'cadenza', scope: 'builder' });
  expect((payload.exp ?? 0) - (payload.iat ?? 0)).toBe(900);
  expect(JSON.stringify((await app.anonymous.get('/.well-known/jwks.json')).body)).not.toContain('"d"');
  const metadata = (await app.anonymous.get('/.well-known/oauth-authorization-server')).body;
  expect(metadata.token_endpoint).toBe(`${app.env.BASE_URL}/auth/token`);
});

test('wrong credentials get the same 401 for known and unknown users; an invalid body gets 422', async () => {
  const user = await register();
  const wrong = await logIn(user.username, 'not the password');
  const unknown = await logIn('nobody-of-that-name', 'not the password');
  expect([wrong.status, unknown.status]).toEqual([401, 401]);
  const { request_id: _wrongId, ...wrongProblem } = wrong.body;
  const { request_id: _unknownId, ...unknownProblem } = unknown.body;
  expect(wrongProblem).toEqual(unknownProblem);
  expect(wrong.headers.get('www-authenticate')).toContain('Bearer');
  expect(
    (await app.anonymous.post('/auth/token', {})).body.errors.map(
      (error: { pointer: string }) => error.pointer,
    ),
  ).toEqual(['/username', '/password']);
  expect(
    (await app.anonymous.post('/auth/token', { username: 'a', password: 'b', colour: 'red' })).body.errors[0]
      .code,
  ).toBe('unknown_field');
  expect((await app.anonymous.post('/auth/token', { grant_type: 'other' })).status).toBe(422);
  expect(
    (await app.anonymous.post('/auth/token', 'x', { headers: { 'content-type': 'text/plain' } })).status,
  ).toBe(415);
});

test('POST /auth/token answers a form in the terms of OAuth 2.0', async () => {
  const user = await register();
  const good = await form({ grant_type: 'password', username: user.username, password });
  expect(good.status).toBe(200);
  expect((await form({ grant_type: 'refresh_token', refresh_token: good.body.refresh_token })).status).toBe(
    200,
  );
  const cases: [Record<string, string> | string, number, string][] = [
    [
      { grant_type: 'password', username: user.username, password: 'wrong wrong wrong' },
      400,
      'invalid_grant',
    ],
    [{ grant_type: 'password', username: user.username }, 400, 'invalid_request'],
    [{ grant_type: 'refresh_token', refresh_token: 'x' }, 400, 'invalid_grant'],
    [{ grant_type: 'implicit' }, 400, 'unsupported_grant_type'],
    [{ grant_type: 'authorization_code' }, 400, 'invalid_request'],
    [{}, 400, 'invalid_request'],
    ['grant_type=password&grant_type=password', 400, 'invalid_request'],
    [{ grant_type: 'client_credentials', client_id: 'x', client_secret: 'y' }, 401, 'invalid_client'],
    [{ grant_type: 'client_credentials' }, 401, 'invalid_client'],
  ];
  for (const [fields, status, error] of cases) {
    const reply = await form(fields);
    expect([fields, reply.status, reply.body.error]).toEqual([fields, status, error]);
    expect(reply.headers.get('cache-control')).toBe('no-store');
  }
});

test('a reused refresh token ends its whole session, access tokens included', async () => {
  const user = await register();
  const first = (await logIn(user.username)).body;
  const other = (await logIn(user.username)).body;
  const second = (
    await app.anonymous.post('/auth/token', {
      grant_type: 'refresh_token',
      refresh_token: first.refresh_token,
    })
  ).body;
  expect((await me(second.access_token)).status).toBe(200);
  const reuse = await form({ grant_type: 'refresh_token', refresh_token: first.refresh_token });
  expect([reuse.status, reuse.body.error]).toEqual([400, 'invalid_grant']);
  expect(
    (
      await app.anonymous.post('/auth/token', {
        grant_type: 'refresh_token',
        refresh_token: second.refresh_token,
      })
    ).status,
  ).toBe(401);
  expect((await me(second.access_token)).status).toBe(401);
  expect((await me(other.access_token)).status).toBe(200);
});

test('of concurrent refreshes with one token exactly one succeeds', async () => {
  const { refresh_token: token } = (await logIn((await register()).username)).body;
  const replies = await Promise.all(
    Array.from({ length: 8 }, () => form({ grant_type: 'refresh_token', refresh_token: token })),
  );
  expect(replies.map((reply) => reply.status).toSorted()).toEqual([200, 400, 400, 400, 400, 400, 400, 400]);
});

test('POST /auth/revoke ends a session by either token, but only of the caller', async () => {
  const user = await register();
  const [first, second, third] = [
    (await logIn(user.username)).body,
    (await logIn(user.username)).body,
    (await logIn(user.username)).body,
  ];
  expect((await app.anonymous.post('/auth/revoke', { token: first.refresh_token })).status).toBe(401);
  expect((await admin.post('/auth/revoke', { token: first.refresh_token })).status).toBe(200);
  expect((await admin.post('/auth/revoke', { token: first.access_token })).status).toBe(200);
  expect((await me(first.access_token)).status).toBe(200);
  const client = createClient(app.url, third.access_token);
  expect(
    (await client.post('/auth/revoke', { token: first.refresh_token, token_type_hint: 'refresh_token' }))
      .status,
  ).toBe(200);
  expect((await me(first.access_token)).status).toBe(401);
  expect(
    (
      await client.post('/auth/revoke', new URLSearchParams({ token: second.access_token }).toString(), {
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
      })
    ).status,
  ).toBe(200);
  expect((await me(second.access_token)).status).toBe(401);
  expect((await form({ grant_type: 'refresh_token', refresh_token: second.refresh_token })).status).toBe(400);
  expect((await client.post('/auth/revoke', { token: 'anything' })).status).toBe(200);
  expect((await client.post('/auth/revoke', {})).status).toBe(422);
});

test('a token that differs from ours in any way is refused', async () => {
  const user = await register();
  const { access_token: token } = (await logIn(user.username)).body;
  const claims = decodeJwt(token);
  const { privateKey } = await generateKeyPair('ES256');
  const kid = JSON.parse(Buffer.from(token.split('.')[0], 'base64url').toString()).kid;
  const forged = await new SignJWT(claims)
    .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid })
    .sign(privateKey);
  const unsigned = [
    Buffer.from(JSON.stringify({ alg: 'none', typ: 'at+jwt', kid })).toString('base64url'),
    token.split('.')[1],
    '',
  ].join('.');
  const real = await app.app.deps.keys.current();
  const sign = (changes: object, header: object = {}) =>
    new SignJWT({ ...claims, ...changes })
      .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid, ...header })
      .sign(real.privateKey);
  expect((await me(await sign({}))).status).toBe(200);
  const encode = (text: string) => Buffer.from(text).toString('base64url');
  const nonsense = [
    'a',
    'a.b.c',
    'e30.e30.e30',
    `${encode('{')}.${encode('{}')}.x`,
    `${encode('null')}.${encode('null')}.x`,
    `${encode('{"alg":"ES256","typ":"at+jwt","kid":"x"}')}.${encode('{')}.x`,
    `${encode(`{"alg":"ES256","typ":"at+jwt","kid":${JSON.stringify(kid)}}`)}.${encode('nope')}.eHg`,
    `${encode('{"alg":"ES256","typ":7,"kid":["x"]}')}.${encode('{}')}.x`,
    '....',
    '\u00e9',
  ];
  for (const malformed of nonsense) {
    expect([malformed, (await me(malformed)).status]).toEqual([malformed, 401]);
  }
  const bad = [
    forged,
    unsigned,
    await sign({}, { typ: 'JWT' }),
    await sign({ aud: 'other' }),
    await sign({ iss: 'https://other' }),
    await sign({ exp: 1 }),
    await sign({ sub: 'x' }),
    await sign({ epoch: 2 }),
  ];
  for (const refused of bad) {
    expect((await me(refused)).status).toBe(401);
  }
});

test('a machine client logs in by form, Basic or JSON, and loses access when it is deleted', async () => {
  const user = await register();
  const own = createClient(app.url, (await logIn(user.username)).body.access_token);
  const created = await own.post('/users/me/clients', { name: 'build server' });
  expect(created.status).toBe(201);
  const { client_id: id, client_secret: secret } = created.body;
  expect((await own.get('/users/me/clients')).body).toEqual([
    {
      id,
      client_id: id,
      awaits_second_factor: false,
      name: 'build server',
      scopes: null,
      created_at: expect.any(String),
      expires_at: expect.any(String),
      last_used: null,
    },
  ]);
  const byForm = await form({ grant_type: 'client_credentials', client_id: id, client_secret: secret });
  const byBasic = await form(
    { grant_type: 'client_credentials' },
    { authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}` },
  );
  const byJson = await app.anonymous.post('/auth/token', {
    grant_type: 'client_credentials',
    client_id: id,
    client_secret: secret,
  });
  for (const reply of [byForm, byBasic, byJson]) {
    expect(reply.status).toBe(200);
    expect(reply.body.refresh_token).toBeUndefined();
    expect((await me(reply.body.access_token)).body.id).toBe(user.id);
  }
  const wrong = await form(
    { grant_type: 'client_credentials' },
    { authorization: `Basic ${Buffer.from(`${id}:nope`).toString('base64')}` },
  );
  expect([wrong.status, wrong.body.error, wrong.headers.get('www-authenticate')]).toEqual([
    401,
    'invalid_client',
    'Basic realm="cadenza"',
  ]);
  const byMachine = createClient(app.url, byForm.body.access_token);
  expect((await byMachine.post('/auth/revoke', { token: byForm.body.access_token })).status).toBe(200);
  expect((await me(byForm.body.access_token)).status).toBe(401);
  expect((await me(byBasic.body.access_token)).status).toBe(200);
  expect((await admin.delete(`/users/me/clients/${id}`)).status).toBe(404);
  expect((await own.delete(`/users/me/clients/${id}`)).status).toBe(204);
  expect((await own.delete(`/users/me/clients/${id}`)).status).toBe(404);
  expect((await me(byBasic.body.access_token)).status).toBe(401);
});

test('changing the password ends every session, and a wrong current password is refused', async () => {
  const user = await register();
  const [first, second] = [(await logIn(user.username)).body, (await logIn(user.username)).body];
  const client = createClient(app.url, first.access_token);
  expect(
    (
      await client.post('/users/me/password', {
        current_password: 'wrong wrong wrong',
        new_password: 'another long one',
      })
    ).body.errors[0].pointer,
  ).toBe('/current_password');
  expect(
    (await client.post('/users/me/password', { current_password: password, new_password: 'short' })).body
      .errors[0],
  ).toMatchObject({ pointer: '/new_password', code: 'too_short' });
  expect(
    (
      await client.post('/users/me/password', {
        current_password: password,
        new_password: 'another long one',
      })
    ).status,
  ).toBe(204);
  for (const token of [first.access_token, second.access_token]) {
    expect((await me(token)).status).toBe(401);
  }
  expect((await form({ grant_type: 'refresh_token', refresh_token: second.refresh_token })).status).toBe(400);
  expect((await logIn(user.username)).status).toBe(401);
  expect((await logIn(user.username, 'another long one')).status).toBe(200);
});

test('after ten failures every copy of the API refuses the account, the right password too', async () => {
  const copy = await startTestApp({ databaseUrl: app.databaseUrl, env: { BASE_URL: app.env.BASE_URL } });
  try {
    const user = await register();
    const session = (await logIn(user.username)).body;
    const replies = await Promise.all(
      Array.from({ length: 16 }, (_, index) =>
        (index % 2 ? app : copy).anonymous.post('/auth/token', {
          username: index % 3 ? user.username : user.email,
          password: 'wrong wrong wrong',
        }),
      ),
    );
    const statuses = replies.map((reply) => reply.status);
    expect(statuses.filter((status) => status === 401)).toHaveLength(10);
    expect(statuses.filter((status) => status === 429)).toHaveLength(6);
    const refused = await copy.anonymous.post('/auth/token', { username: user.username, password });
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(800);
    expect(refused.body.code).toBe('too_many_logins');
    expect((await me(session.access_token)).status).toBe(200);
    expect((await logIn((await register()).username)).status).toBe(200);
    await app.orm.em.fork().execute(`update login_attempt set at = at - interval '15 minutes'`);
    expect((await logIn(user.username)).status).toBe(200);
  } finally {
    await copy.close();
  }
});

test('after a hundred failures from one address every log-in from there is refused', async () => {
  const rows = Array.from(
    { length: 99 },
    (_, index) => `('${crypto.randomUUID()}', 'name:${index}', '127.0.0.1')`,
  );
  await app.orm.em
    .fork()
    .execute(`insert into login_attempt (id, account, address) values ${rows.join(',')}`);
  expect((await logIn('nobody')).status).toBe(401);
  expect((await logIn('nobody-else')).status).toBe(429);
});

test('a signing key is replaced when it is too old, and its tokens stay valid', async () => {
  const { access_token: token } = (await logIn((await register()).username)).body;
  const em = app.orm.em.fork();
  await em.execute(`update signing_key set created_at = created_at - interval '31 days'`);
  const copy = await startTestApp({ databaseUrl: app.databaseUrl, env: { BASE_URL: app.env.BASE_URL } });
  const before = (await app.anonymous.get('/.well-known/jwks.json')).body.keys.length;
  await Promise.all([
    copy.anonymous.get('/.well-known/jwks.json'),
    copy.anonymous.get('/.well-known/jwks.json'),
  ]);
  expect((await copy.anonymous.get('/.well-known/jwks.json')).body.keys).toHaveLength(before + 1);
  expect((await createClient(copy.url, token).get('/users/me')).status).toBe(200);
  const newer = (await copy.anonymous.post('/auth/token', { username: `person${count}`, password })).body
    .access_token;
  expect((await me(newer)).status).toBe(200);
  await copy.close();
  const [row] = await em.execute<{ private_key_encrypted: string }[]>(
    'select private_key_encrypted from signing_key',
  );
  expect(row?.private_key_encrypted).toMatch(/^v1\.test\./);
});

test('the sweep removes expired sessions, attempts and records, and nothing else', async () => {
  const user = await register();
  const session = (await logIn(user.username)).body;
  await logIn(user.username, 'wrong wrong wrong');
  const em = app.orm.em.fork();
  await em.execute(
    `insert into auth_session (id, user_id, expires_at)
      select gen_random_uuid(), ?, now() - interval '2 days' from generate_series(1, 3)`,
    [user.id],
  );
  await em.execute(
    `insert into login_attempt (id, account, address, at)
      values (gen_random_uuid(), 'a', 'b', now() - interval '2 hours')`,
  );
  await em.execute(`update idempotency_record set expires_at = now() - interval '1 second'`);
  await admin.post(
    '/users',
    { username: 'keyed', email: 'keyed@example.com', password, roles: ['viewer'] },
    { headers: { 'idempotency-key': 'kept' } },
  );
  expect(await removeExpired(em)).toBe(4);
  expect(await removeExpired(em)).toBe(0);
  expect((await me(session.access_token)).status).toBe(200);
  const [left] = await em.execute<{ attempts: string; records: string }[]>(
    `select (select count(*) from login_attempt) as attempts,
      (select count(*) from idempotency_record) as records`,
  );
  expect(left).toEqual({ attempts: '1', records: '1' });
});

test('concurrent starts create one first administrator, and only on an empty installation', async () => {
  expect(await seedAdmin(app.orm, { username: 'root' })).toBeNull();
  const fresh = await startTestApp();
  try {
    const created = await Promise.all([1, 2, 3].map(() => seedAdmin(fresh.orm, { username: 'admin' })));
    const [credentials] = created.filter((administrator) => administrator !== null);
    expect(created.filter((administrator) => administrator !== null)).toHaveLength(1);
    expect((await fresh.anonymous.post('/auth/token', credentials)).body.scope).toBe('admin');
  } finally {
    await fresh.close();
  }
});
