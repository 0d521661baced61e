import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';

import { createClient, startTestApp, type Client, type Reply, type TestApp } from '../../support/app.ts';
import { cookiesOf, fromOwnPage, logInBrowser, withHeaders } from '../../support/browser.ts';

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

async function register(): Promise<{ id: string; username: string }> {
  count += 1;
  const body = {
    username: `browser${count}`,
    email: `browser${count}@example.com`,
    password,
    roles: ['builder'],
  };
  const reply = await admin.post('/users', body);
  expect(reply.status).toBe(201);
  return reply.body;
}

function browser(cookie: string): Client {
  return withHeaders(createClient(app.url), { ...fromOwnPage, cookie });
}

async function loggedIn(username: string, userAgent = 'Mozilla/5.0'): Promise<Client> {
  const reply = await logInBrowser(app.url, username, password, { ...fromOwnPage, 'user-agent': userAgent });
  expect(reply.status).toBe(200);
  return browser(cookiesOf(reply));
}

/** The line of the session's cookie. */
function sessionLine(reply: Reply, name = 'cadenza'): string | undefined {
  return reply.headers.getSetCookie().find((line) => line.startsWith(`${name}=`));
}

test('a log-in answers with the user and a cookie that scripts cannot read', async () => {
  const user = await register();
  const reply = await logInBrowser(app.url, user.username, password);
  expect([reply.status, reply.body.id, reply.headers.get('cache-control')]).toEqual([
    200,
    user.id,
    'no-store',
  ]);
  expect(sessionLine(reply)).toMatch(
    /^cadenza=[\w-]{43}; Path=\/; Max-Age=2592000; HttpOnly; SameSite=Strict$/,
  );
  const page = browser(cookiesOf(reply));
  const session = await page.get('/console/session');
  expect([session.status, session.body]).toEqual([200, reply.body]);
  expect(session.headers.get('cache-control')).toBe('no-store');
  expect((await page.post('/workflows/validate', { definition: { do: [] } })).status).toBe(200);
  const read = await page.get('/agents');
  expect([read.status, read.headers.get('cache-control')]).toEqual([200, 'private, no-cache']);
});

test('a request for another user than that of the session does nothing', async () => {
  const [ada, grace] = [await register(), await register()];
  const page = await loggedIn(grace.username);
  const meant = (id: string) => ({ headers: { 'cadenza-user': id } });
  const body = { name: 'For Ada', definition: { do: [] } };
  for (const ask of [
    () => page.post('/workflows', body, meant(ada.id)),
    () => page.get('/workflows', meant(ada.id)),
    () => page.get('/console/session', meant(ada.id)),
    () => page.delete('/console/session', meant(ada.id)),
  ]) {
    const { status, body: problem } = await ask();
    expect([status, problem.code]).toEqual([401, 'another_user']);
  }
  expect((await page.get('/workflows', meant(grace.id))).body).toEqual([]);
  expect((await page.get('/console/session', meant(grace.id))).body.id).toBe(grace.id);
  // A token is of one user for ever.
  expect((await admin.get('/users/me', meant(ada.id))).status).toBe(200);
});

test('over HTTPS the cookie is Secure and bound to the host', async () => {
  const secure = await startTestApp({
    databaseUrl: app.databaseUrl,
    env: { BASE_URL: 'https://cadenza.example.com' },
  });
  const { username } = await register();
  const reply = await logInBrowser(secure.url, username, password);
  expect(sessionLine(reply, '__Host-cadenza')).toMatch(/; Path=\/; .*HttpOnly; SameSite=Strict; Secure$/);
  const cookie = cookiesOf(reply);
  const ask = (headers: Record<string, string>): Promise<Reply> =>
    secure.anonymous.get('/users/me', { headers: { cookie, ...headers } });
  expect((await ask({ origin: 'https://cadenza.example.com' })).status).toBe(200);
  expect((await ask({ origin: 'http://cadenza.example.com' })).status).toBe(401);
  expect((await ask({})).status).toBe(401);
  const plain = cookie.replaceAll('__Host-cadenza', 'cadenza');
  expect((await ask({ ...fromOwnPage, cookie: plain })).status).toBe(401);
  await secure.close();
});

test('over plain HTTP a page reads without fetch metadata, and changes with an Origin', async () => {
  const lan = await startTestApp({
    databaseUrl: app.databaseUrl,
    env: { BASE_URL: 'http://cadenza.lan:3000' },
  });
  const { username } = await register();
  const origin = 'http://cadenza.lan:3000';
  const cookie = cookiesOf(await logInBrowser(lan.url, username, password, { origin }));
  const host = { host: 'cadenza.lan:3000' };
  const page = withHeaders(lan.anonymous, { cookie });
  const statuses = [
    await rawGet(lan.url, { ...host, cookie }),
    (await page.delete('/console/session')).status,
    (await page.delete('/console/session', { headers: { origin: 'http://other.lan' } })).status,
    (await page.delete('/console/session', { headers: { origin } })).status,
  ];
  expect(statuses).toEqual([200, 401, 401, 204]);
  await lan.close();
});

/** Sends a `Host` of its own, which `fetch` does not allow. */
async function rawGet(url: string, headers: Record<string, string>): Promise<number> {
  const { request } = await import('node:http');
  return new Promise((resolve, reject) => {
    request(`${url}/users/me`, { headers }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    })
      .on('error', reject)
      .end();
  });
}

test('without a session GET answers 204 and everything else 401', async () => {
  const none = await app.anonymous.get('/console/session');
  expect([none.status, none.body]).toEqual([204, null]);
  const stale = browser(`cadenza=${'x'.repeat(43)}`);
  expect((await stale.get('/console/session')).status).toBe(204);
  const refused = await stale.get('/agents');
  expect([refused.status, refused.body.code]).toEqual([401, 'session_ended']);
  expect(refused.headers.get('www-authenticate')).toMatch(/^Bearer realm="cadenza", resource_metadata=/);
  expect((await app.anonymous.delete('/console/session')).status).toBe(401);
  const byToken = await admin.get('/console/session');
  expect([byToken.status, byToken.body.username]).toEqual([200, 'the-admin']);
});

test('wrong credentials are limited and answered as by POST /auth/token', async () => {
  const { username } = await register();
  const wrong = await logInBrowser(app.url, username, 'not the password');
  const unknown = await logInBrowser(app.url, 'nobody at all', 'not the password');
  expect([wrong.status, wrong.body.code]).toEqual([401, 'invalid_credentials']);
  expect([unknown.status, unknown.body.code, unknown.body.detail]).toEqual([
    401,
    'invalid_credentials',
    wrong.body.detail,
  ]);
  for (let attempt = 1; attempt < 10; attempt += 1)
    expect((await app.anonymous.post('/auth/token', { username, password: 'wrong' })).status).toBe(401);
  const limited = await logInBrowser(app.url, username, password);
  expect([limited.status, limited.body.code]).toEqual([429, 'too_many_logins']);
  expect(limited.headers.getSetCookie()).toEqual([]);
});

test('a malformed log-in is 422, and a disabled user gets 401', async () => {
  const user = await register();
  const reply = await app.anonymous.post('/console/session', { username: 'a' }, { headers: fromOwnPage });
  expect([reply.status, reply.body.errors[0].pointer]).toEqual([422, '/password']);
  await admin.patch(`/users/${user.id}`, { status: 'disabled' });
  expect((await logInBrowser(app.url, user.username, password)).status).toBe(401);
});

test('log-out ends the session and removes the cookie', async () => {
  const { username } = await register();
  const [page, other] = [await loggedIn(username), await loggedIn(username)];
  const reply = await page.delete('/console/session');
  expect(reply.status).toBe(204);
  expect(sessionLine(reply)).toMatch(/^cadenza=; Path=\/; Max-Age=0; /);
  expect((await page.get('/users/me')).body.code).toBe('session_ended');
  expect((await other.get('/users/me')).status).toBe(200);
});

test('a log-in in the same browser ends the session before it; a failed one does not', async () => {
  const [first, second] = [await register(), await register()];
  const page = await loggedIn(first.username);
  const logIn = (secret: string): Promise<Reply> =>
    page.post('/console/session', { username: second.username, password: secret });
  await logIn('not the password');
  expect((await page.get('/users/me')).body.id).toBe(first.id);
  const next = browser(cookiesOf(await logIn(password)));
  expect((await page.get('/users/me')).status).toBe(401);
  expect((await next.get('/users/me')).body.id).toBe(second.id);
});

test('the secret of a session is stored as a hash only', async () => {
  const { username } = await register();
  const cookie = cookiesOf(await logInBrowser(app.url, username, password));
  const secret = /cadenza=([\w-]+)/.exec(cookie)?.[1] ?? '';
  const rows = await app.orm.em
    .fork()
    .execute<{ row: string }[]>('select to_jsonb(s)::text as row from auth_session s');
  expect(rows.length).toBeGreaterThan(0);
  const hex = Buffer.from(secret).toString('hex');
  for (const { row } of rows) expect(row.includes(secret) || row.includes(hex)).toBe(false);
});

test('using a session prolongs it and its cookie; it ends 30 days after the last use', async () => {
  const { username, id } = await register();
  const page = await loggedIn(username);
  const em = app.orm.em.fork();
  const age = (days: number): Promise<unknown> =>
    em.execute(
      `update auth_session set last_used_at = last_used_at - make_interval(days => ?),
              expires_at = expires_at - make_interval(days => ?) where user_id = ?`,
      [days, days, id],
    );
  expect(sessionLine(await page.get('/users/me'))).toBeUndefined();
  await age(29);
  expect(sessionLine(await page.get('/users/me'))).toMatch(/^cadenza=[\w-]{43}; Path=\/; Max-Age=2592000;/);
  expect(sessionLine(await page.get('/users/me'))).toBeUndefined();
  await age(29);
  expect((await page.get('/users/me')).status).toBe(200);
  await age(31);
  expect((await page.get('/users/me')).status).toBe(401);
});

test('a user lists sessions and ends one, or all others', async () => {
  const { username } = await register();
  const agents = {
    firefox: 'Mozilla/5.0 (X11; Linux x86_64; rv:150.0) Gecko/20100101 Firefox/150.0',
    safari:
      'Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) AppleWebKit/605.1.15 Version/19.0 Safari/604.1',
  };
  const firefox = await loggedIn(username, agents.firefox);
  const safari = await loggedIn(username, agents.safari);
  const { access_token: token } = (
    await app.anonymous.post('/auth/token', { username, password }, { headers: { 'user-agent': 'curl/8.9' } })
  ).body;
  const list = (await firefox.get('/users/me/sessions')).body;
  const told = list.map((session: Record<string, unknown>) => [
    session['kind'],
    session['device'],
    session['current'],
  ]);
  expect(told).toEqual([
    ['browser', 'Firefox on Linux', true],
    ['browser', 'Safari on iOS', false],
    ['token', 'curl', false],
  ]);
  expect(list[0].address).toMatch(/127\.0\.0\.1$/);
  const [page] =
    (await firefox.get('/users/me/sessions?limit=2')).headers.get('link')?.match(/(?<=<)[^>]+/) ?? [];
  expect((await firefox.get(page ?? '')).body.map(({ id }: { id: string }) => id)).toEqual([list[2].id]);

  expect((await firefox.delete(`/users/me/sessions/${list[1].id}`)).status).toBe(204);
  expect((await safari.get('/users/me')).status).toBe(401);
  expect((await firefox.delete(`/users/me/sessions/${list[1].id}`)).status).toBe(404);
  expect((await admin.delete(`/users/me/sessions/${list[0].id}`)).status).toBe(404);

  expect((await createClient(app.url, token).delete('/users/me/sessions')).status).toBe(204);
  expect((await firefox.get('/users/me')).status).toBe(401);
  expect((await createClient(app.url, token).get('/users/me/sessions')).body).toHaveLength(1);
});

test('an admin lists the sessions of a user, and ends one or all', async () => {
  const { id, username } = await register();
  const path = `/users/${id}/sessions`;
  const [first, second, third] = [
    await loggedIn(username),
    await loggedIn(username),
    await loggedIn(username),
  ];
  const client = (await first.post('/users/me/clients', { name: 'machine' })).body;
  const own = (await first.get('/users/me/sessions')).body;
  const list = (await admin.get(path)).body;
  expect(list).toEqual(own.map((session: object) => ({ ...session, current: false })));
  const [page] = (await admin.get(`${path}?limit=2`)).headers.get('link')?.match(/(?<=<)[^>]+/) ?? [];
  expect((await admin.get(page ?? '')).body.map((session: { id: string }) => session.id)).toEqual([
    list[2].id,
  ]);

  // Nobody else sees or ends them, not even their user by this address.
  expect((await app.anonymous.get(path)).status).toBe(401);
  for (const other of [first, await app.as('builder')]) {
    const replies = [
      await other.get(path),
      await other.delete(path),
      await other.delete(`${path}/${own[1].id}`),
    ];
    expect(replies.map(({ status }) => status)).toEqual([403, 403, 403]);
  }
  expect((await admin.get(`/users/${crypto.randomUUID()}/sessions`)).status).toBe(404);
  expect((await admin.delete(`/users/${crypto.randomUUID()}/sessions`)).status).toBe(404);
  expect((await admin.delete(`${path}/not-an-id`)).status).toBe(404);

  // The session has to be one of this user.
  const another = await register();
  expect((await admin.delete(`/users/${another.id}/sessions/${own[1].id}`)).status).toBe(404);
  expect((await second.get('/users/me')).status).toBe(200);
  expect((await admin.delete(`${path}/${own[1].id}`)).status).toBe(204);
  expect((await second.get('/users/me')).status).toBe(401);
  expect((await admin.delete(`${path}/${own[1].id}`)).status).toBe(404);
  expect((await third.get('/users/me')).status).toBe(200);

  const ended = await admin.delete(path);
  expect(ended.status).toBe(204);
  for (const one of [first, third]) expect((await one.get('/users/me')).status).toBe(401);
  expect((await admin.get(path)).body).toEqual([]);
  const token = await app.anonymous.post('/auth/token', {
    grant_type: 'client_credentials',
    ...only(client),
  });
  expect(token.status).toBe(200);
  const { body: entries } = await admin.get(`/audit?object_id=${id}`);
  expect(entries.map(({ action }: { action: string }) => action)).toEqual(
    expect.arrayContaining(['deleteUserSession', 'deleteUserSessions']),
  );
});

test('a machine client manages no sessions', async () => {
  const { username } = await register();
  const page = await loggedIn(username);
  const client = (await page.post('/users/me/clients', { name: 'machine' })).body;
  const { access_token: token } = (
    await app.anonymous.post('/auth/token', { grant_type: 'client_credentials', ...only(client) })
  ).body;
  const machine = createClient(app.url, token);
  const [session] = (await page.get('/users/me/sessions')).body;
  for (const path of ['/users/me/sessions', `/users/me/sessions/${session.id}`]) {
    const reply = await machine.delete(path);
    expect([reply.status, reply.body.code]).toEqual([403, 'person_required']);
  }
  expect((await page.get('/users/me')).status).toBe(200);
});

function only(client: { client_id: string; client_secret: string }): Record<string, string> {
  return { client_id: client.client_id, client_secret: client.client_secret };
}

test('a change of roles counts at the next request of the session', async () => {
  const user = await register();
  const page = await loggedIn(user.username);
  expect((await page.get('/users')).status).toBe(403);
  await admin.patch(`/users/${user.id}`, { roles: ['admin'] });
  expect((await page.get('/users')).status).toBe(200);
});
