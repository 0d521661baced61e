import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';

import { removeExpired } from '../../../domain/auth/cleanup.ts';
import {
  createClient,
  startTestApp,
  type Client,
  type Reply,
  type TestApp,
  type TestUser,
} from '../../support/app.ts';
import { fromOwnPage, sessionCookie, withHeaders } from '../../support/browser.ts';

const grantType = 'urn:ietf:params:oauth:grant-type:device_code';
const formType = { 'content-type': 'application/x-www-form-urlencoded' };
let app: TestApp;
let ann: TestUser;
let page: Client;

beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());
beforeEach(async () => {
  await app.orm.em.fork().execute('delete from login_attempt');
  await app.orm.em.fork().execute('delete from device_request');
  ann = await app.createUser();
  page = withHeaders(createClient(app.url), { ...fromOwnPage, cookie: await sessionCookie(app, ann) });
});

interface Codes {
  device_code: string;
  user_code: string;
}

async function ask(userAgent = 'cadenza-cli/1.0 (Linux)'): Promise<Codes> {
  const reply = await app.anonymous.post('/auth/device', 'client_id=cadenza', {
    headers: { ...formType, 'user-agent': userAgent },
  });
  expect(reply.status).toBe(200);
  return reply.body;
}

function poll(deviceCode: string, more: Record<string, string> = {}): Promise<Reply> {
  const fields = new URLSearchParams({ grant_type: grantType, device_code: deviceCode, ...more });
  return app.anonymous.post('/auth/token', fields.toString(), { headers: formType });
}

/** Polls as a device that waited long enough. */
async function pollLater(deviceCode: string): Promise<Reply> {
  await app.orm.em
    .fork()
    .execute(
      `update device_request set polled_at = polled_at - interval '1 hour' where polled_at is not null`,
    );
  return poll(deviceCode);
}

const decide = (client: Client, userCode: string, decision = 'approve'): Promise<Reply> =>
  client.post('/auth/device/decision', { user_code: userCode, decision });

test('a user approves a code in the browser, and the device gets a session', async () => {
  const reply = await app.anonymous.post('/auth/device', '', { headers: formType });
  const uri = `${app.env.BASE_URL}/console/device`;
  expect(reply.headers.get('cache-control')).toBe('no-store');
  expect(reply.body).toEqual({
    device_code: expect.stringMatching(/^[\w-]{43}$/),
    user_code: expect.stringMatching(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/),
    verification_uri: uri,
    verification_uri_complete: `${uri}?code=${reply.body.user_code}`,
    expires_in: 600,
    interval: 5,
  });
  const codes = await ask();
  expect((await poll(codes.device_code)).body.error).toBe('authorization_pending');
  const typed = codes.user_code.toLowerCase().replace('-', ' ');
  const shown = await page.get(`/auth/device?user_code=${encodeURIComponent(typed)}`);
  expect([shown.status, shown.body.device]).toEqual([200, 'cadenza-cli on Linux']);
  expect(shown.body.address).toMatch(/127\.0\.0\.1$/);
  expect((await decide(page, typed)).status).toBe(204);
  const token = await pollLater(codes.device_code);
  expect([token.status, token.body.token_type, token.headers.get('cache-control')]).toEqual([
    200,
    'Bearer',
    'no-store',
  ]);
  const device = createClient(app.url, token.body.access_token);
  expect((await device.get('/users/me')).body.id).toBe(ann.id);
  const refreshed = await app.anonymous.post('/auth/token', {
    grant_type: 'refresh_token',
    refresh_token: token.body.refresh_token,
  });
  expect(refreshed.status).toBe(200);
  const sessions = (await page.get('/users/me/sessions')).body;
  expect(sessions.map((session: { kind: string }) => session.kind)).toEqual(['token', 'browser', 'token']);
  const made = await createClient(app.url, refreshed.body.access_token).post('/users/me/clients', {
    name: 'x',
  });
  expect([made.status, made.body.code]).toEqual([401, 'login_too_old']);
});

test('a denied code gives access_denied, and nobody can approve it any more', async () => {
  const codes = await ask();
  expect((await decide(page, codes.user_code, 'deny')).status).toBe(204);
  const reply = await poll(codes.device_code);
  expect([reply.status, reply.body.error]).toEqual([400, 'access_denied']);
  expect((await decide(page, codes.user_code)).status).toBe(404);
});

test('a device that polls too often is told to slow down, each time by five seconds more', async () => {
  const { device_code: code } = await ask();
  expect((await poll(code)).body.error).toBe('authorization_pending');
  for (const interval of [10, 15]) {
    const reply = await poll(code);
    expect([reply.status, reply.body.error]).toEqual([400, 'slow_down']);
    const [row] = await app.orm.em
      .fork()
      .execute<{ interval_seconds: number }[]>('select interval_seconds from device_request');
    expect(row?.interval_seconds).toBe(interval);
  }
});

test('an expired code cannot be approved, and its device learns it, even after the sweep', async () => {
  const codes = await ask();
  const em = app.orm.em.fork();
  await em.execute(`update device_request set expires_at = now() - interval '1 second'`);
  expect((await page.get(`/auth/device?user_code=${codes.user_code}`)).status).toBe(404);
  expect((await decide(page, codes.user_code)).status).toBe(404);
  await removeExpired(em);
  expect((await poll(codes.device_code)).body.error).toBe('expired_token');
  await em.execute(`update device_request set expires_at = now() - interval '2 hours'`);
  await removeExpired(em);
  expect((await poll(codes.device_code)).body.error).toBe('invalid_grant');
});

test('an approval that is not fetched in time is void', async () => {
  const codes = await ask();
  await decide(page, codes.user_code);
  await app.orm.em.fork().execute(`update device_request set expires_at = now() - interval '1 second'`);
  expect((await poll(codes.device_code)).body.error).toBe('expired_token');
});

test('malformed requests get the errors of OAuth', async () => {
  const { device_code: code } = await ask();
  expect((await poll('')).body.error).toBe('invalid_request');
  expect((await poll('unknown')).body.error).toBe('invalid_grant');
  expect((await poll(code, { client_id: 'another' })).body.error).toBe('invalid_client');
  const other = await app.anonymous.post('/auth/device', 'client_id=another', { headers: formType });
  expect([other.status, other.body.error]).toEqual([400, 'invalid_client']);
  expect((await app.anonymous.post('/auth/device', {})).status).toBe(415);
  expect((await page.get('/auth/device')).status).toBe(400);
  expect((await page.post('/auth/device/decision', { user_code: 'X', decision: 'maybe' })).status).toBe(422);
});

test('the metadata names the endpoint and the grant', async () => {
  const { body } = await app.anonymous.get('/.well-known/oauth-authorization-server');
  expect(body.device_authorization_endpoint).toBe(`${app.env.BASE_URL}/auth/device`);
  expect(body.grant_types_supported).toContain(grantType);
});

describe('attacks', () => {
  test('ten wrong codes end the guessing of a user, the right code included', async () => {
    const codes = await ask();
    for (let guess = 0; guess < 10; guess += 1)
      expect((await decide(page, `BBBB-BBB${'BCDFGHJKLM'[guess]}`)).status).toBe(404);
    for (const reply of [
      await decide(page, codes.user_code),
      await page.get(`/auth/device?user_code=${codes.user_code}`),
    ])
      expect([reply.status, reply.body.code]).toEqual([429, 'too_many_logins']);
    const other = await app.as(await app.createUser());
    expect((await decide(other, codes.user_code)).status).toBe(204);
  });

  test('a device code works once; a second use ends the session that it opened', async () => {
    const codes = await ask();
    await decide(page, codes.user_code);
    const { access_token: token } = (await poll(codes.device_code)).body;
    expect((await createClient(app.url, token).get('/users/me')).status).toBe(200);
    expect((await poll(codes.device_code)).body.error).toBe('invalid_grant');
    expect((await createClient(app.url, token).get('/users/me')).status).toBe(401);
  });

  test('of many polls at once one gets the session, and none remains', async () => {
    const codes = await ask();
    await decide(page, codes.user_code);
    const replies = await Promise.all([1, 2, 3, 4].map(() => poll(codes.device_code)));
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(1);
    const token = replies.find(({ status }) => status === 200)?.body.access_token;
    expect((await createClient(app.url, token).get('/users/me')).status).toBe(401);
  });

  test('two people cannot both decide', async () => {
    const codes = await ask();
    const others = await Promise.all([1, 2, 3].map(async () => app.as(await app.createUser())));
    const replies = await Promise.all([page, ...others].map((client) => decide(client, codes.user_code)));
    expect(replies.filter(({ status }) => status === 204)).toHaveLength(1);
  });

  const endSessions = (id: string): Promise<unknown> =>
    app.orm.em.fork().execute('update auth_session set expires_at = now() where user_id = ?', [id]);
  const ended: [string, () => Promise<unknown>][] = [
    ['is disabled', async () => (await app.as('admin')).patch(`/users/${ann.id}`, { status: 'disabled' })],
    [
      'got a new password',
      async () => (await app.as('admin')).patch(`/users/${ann.id}`, { password: 'a new long password' }),
    ],
    ['logged out', () => page.delete('/console/session')],
    ['has a session that has reached its end', () => endSessions(ann.id)],
    ['ended all other sessions elsewhere', async () => (await app.as(ann)).delete('/users/me/sessions')],
  ];
  test.each(ended)('an approval is void once its user %s', async (_name, end) => {
    const codes = await ask();
    await decide(page, codes.user_code);
    await end();
    expect((await poll(codes.device_code)).body.error).toBe('access_denied');
  });

  test('machine clients and foreign pages approve nothing', async () => {
    const codes = await ask();
    const foreign = withHeaders(page, { 'sec-fetch-site': 'same-site' });
    expect((await decide(foreign, codes.user_code)).body.code).toBe('foreign_page');
    expect((await decide(app.anonymous, codes.user_code)).status).toBe(401);
    const own = await app.as(ann);
    const client = (await own.post('/users/me/clients', { name: 'machine' })).body;
    const { access_token: token } = (
      await app.anonymous.post('/auth/token', {
        grant_type: 'client_credentials',
        client_id: client.client_id,
        client_secret: client.client_secret,
      })
    ).body;
    const reply = await decide(createClient(app.url, token), codes.user_code);
    expect([reply.status, reply.body.code]).toEqual([403, 'person_required']);
    expect((await poll(codes.device_code)).body.error).toBe('authorization_pending');
  });

  test('an address has at most twenty undecided codes', async () => {
    const askAtOnce = Array.from({ length: 40 }, () =>
      app.anonymous.post('/auth/device', '', { headers: formType }),
    );
    const given = (await Promise.all(askAtOnce)).filter(({ status }) => status === 200);
    expect(given).toHaveLength(20);
    const reply = await app.anonymous.post('/auth/device', '', { headers: formType });
    expect([reply.status, reply.body.code, reply.headers.get('retry-after')]).toEqual([
      429,
      'too_many_codes',
      '60',
    ]);
  });

  test('neither code is in the database in the clear', async () => {
    const codes = await ask();
    const rows = await app.orm.em
      .fork()
      .execute<{ row: string }[]>('select to_jsonb(d)::text as row from device_request d');
    expect(rows).toHaveLength(1);
    for (const secret of [codes.device_code, codes.user_code, codes.user_code.replace('-', '')])
      expect(rows[0]?.row.includes(secret)).toBe(false);
  });
});
