/** Machine clients: they end with their account, and a stolen token is not enough to create one. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { SignJWT } from 'jose';

import { removeExpired } from '../../domain/auth/cleanup.ts';
import { createClient, startTestApp, type Client, type Reply, type TestApp } from '../support/app.ts';

const password = 'correct horse battery';
const dayMs = 86_400_000;
let app: TestApp;
let admin: Client;
let count = 0;

beforeAll(async () => {
  app = await startTestApp({ env: { CLIENT_MAX_DAYS: '30' } });
  admin = await app.as('admin');
});
afterAll(() => app.close());

interface Owner {
  id: string;
  username: string;
  token: string;
  refreshToken: string;
  own: Client;
}

async function owner(): Promise<Owner> {
  count += 1;
  const username = `maker${count}`;
  const { body } = await admin.post('/users', {
    username,
    email: `${username}@example.com`,
    password,
    roles: ['builder'],
  });
  return { id: body.id, username, ...(await logIn(username)) };
}

async function logIn(
  username: string,
  secret = password,
): Promise<{ token: string; refreshToken: string; own: Client }> {
  const { access_token: token, refresh_token: refreshToken } = (
    await app.anonymous.post('/auth/token', { username, password: secret })
  ).body;
  return { token, refreshToken, own: createClient(app.url, token) };
}

const make = (client: Client, more: object = {}): Promise<Reply> =>
  client.post('/users/me/clients', { name: 'build server', ...more });
const grant = ({ client_id, client_secret }: Reply['body']): Promise<Reply> =>
  app.anonymous.post('/auth/token', { grant_type: 'client_credentials', client_id, client_secret });
const usersOf = async (token: string): Promise<number> =>
  (await createClient(app.url, token).get('/users/me')).status;

async function works(client: Reply['body'], token: string): Promise<boolean[]> {
  return [(await grant(client)).status === 200, (await usersOf(token)) === 200];
}

test('a client lives as long as the limit allows, or shorter if its owner says so', async () => {
  const { own } = await owner();
  const created = await make(own);
  expect(created.status).toBe(201);
  expect(Math.abs(Date.parse(created.body.expires_at) - Date.now() - 30 * dayMs)).toBeLessThan(60_000);
  const soon = new Date(Date.now() + dayMs).toISOString();
  expect((await make(own, { expires_at: soon })).body.expires_at).toBe(soon);
  for (const expires_at of [
    new Date(Date.now() + 31 * dayMs).toISOString(),
    new Date(Date.now() - 1_000).toISOString(),
  ]) {
    const refused = await make(own, { expires_at });
    expect([refused.status, refused.body.errors]).toEqual([
      422,
      [{ pointer: '/expires_at', code: 'out_of_range', message: 'must be a time within the next 30 days' }],
    ]);
  }
  expect((await make(own, { expires_at: 'tomorrow' })).status).toBe(422);
  expect(
    (await own.get('/users/me/clients')).body.map((client: { expires_at: string }) => client.expires_at),
  ).toEqual([created.body.expires_at, soon]);
});

test('an expired client gets no token, its tokens end, and a month later it is removed', async () => {
  const { own } = await owner();
  const { body: client } = await make(own);
  const { access_token: token } = (await grant(client)).body;
  expect(await works(client, token)).toEqual([true, true]);
  const em = app.orm.em.fork();
  await em.execute(`update auth_client set expires_at = now() where id = ?`, [client.client_id]);
  expect(await works(client, token)).toEqual([false, false]);
  await removeExpired(em);
  expect((await own.get('/users/me/clients')).body).toHaveLength(1);
  await em.execute(`update auth_client set expires_at = now() - interval '31 days' where id = ?`, [
    client.client_id,
  ]);
  await removeExpired(em);
  expect((await own.get('/users/me/clients')).body).toEqual([]);
});

test.each<[string, (who: Owner) => Promise<Reply>, string]>([
  [
    'a change of the password',
    (who) =>
      who.own.post('/users/me/password', { current_password: password, new_password: 'another long one' }),
    'another long one',
  ],
  [
    'a reset of the password',
    (who) => admin.patch(`/users/${who.id}`, { password: 'another long one' }),
    'another long one',
  ],
  ['disabling the user', (who) => admin.patch(`/users/${who.id}`, { status: 'disabled' }), password],
])('%s ends clients and their tokens for good', async (_way, end, nextPassword) => {
  const user = await owner();
  const { body: client } = await make(user.own);
  const { access_token: token } = (await grant(client)).body;
  expect((await end(user)).status).toBeLessThan(300);
  expect(await works(client, token)).toEqual([false, false]);
  await admin.patch(`/users/${user.id}`, { status: 'active' });
  expect(await works(client, token)).toEqual([false, false]);
  const { own } = await logIn(user.username, nextPassword);
  expect((await own.get('/users/me/clients')).body).toEqual([]);
  expect((await make(own)).status).toBe(201);
});

test('creating a client needs a log-in within five minutes, which a refresh does not renew', async () => {
  const user = await owner();
  await app.orm.em
    .fork()
    .execute(`update auth_session set created_at = created_at - interval '6 minutes' where user_id = ?`, [
      user.id,
    ]);
  const refreshed = (
    await app.anonymous.post('/auth/token', { grant_type: 'refresh_token', refresh_token: user.refreshToken })
  ).body.access_token;
  const refused = await make(createClient(app.url, refreshed));
  expect([refused.status, refused.body.code]).toEqual([401, 'login_too_old']);
  expect(refused.body.detail).toContain('log in again');
  expect(refused.headers.get('www-authenticate')).toBe(
    'Bearer realm="cadenza", error="insufficient_user_authentication", max_age="300"',
  );
  expect(await usersOf(refreshed)).toBe(200);
  expect((await make((await logIn(user.username)).own)).status).toBe(201);
});

test('the time of the log-in is that of the session, not of the refresh', async () => {
  const user = await owner();
  const claim = (token: string): number =>
    JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()).auth_time;
  const refreshed = (
    await app.anonymous.post('/auth/token', { grant_type: 'refresh_token', refresh_token: user.refreshToken })
  ).body;
  expect(Math.abs(claim(user.token) - Date.now() / 1_000)).toBeLessThan(60);
  expect(claim(refreshed.access_token)).toBe(claim(user.token));
});

test('a client with scopes does what they name, however much its owner may do', async () => {
  const { own } = await owner();
  expect((await make(own, { scopes: ['admin'] })).body.errors).toMatchObject([
    { pointer: '/scopes/0', code: 'invalid_scope' },
  ]);
  expect((await make(own, { scopes: ['everything'] })).status).toBe(422);
  const { body: client } = await make(own, { scopes: ['runs:read'] });
  expect((await own.get('/users/me/clients')).body).toMatchObject([{ id: client.id, scopes: ['runs:read'] }]);
  const machine = createClient(app.url, (await grant(client)).body.access_token);
  expect((await machine.get('/runs')).status).toBe(200);
  for (const refused of [await machine.get('/agents'), await machine.post('/workflows', {})])
    expect([refused.status, refused.body.code]).toEqual([403, 'insufficient_scope']);
  const { body: whole } = await make(own);
  expect(whole.scopes).toBeNull();
  const other = createClient(app.url, (await grant(whole)).body.access_token);
  expect((await other.get('/agents')).status).toBe(200);
});

test('a client cannot create clients, and neither can a token without the time of its log-in', async () => {
  const user = await owner();
  const { body: client } = await make(user.own);
  const machine = createClient(app.url, (await grant(client)).body.access_token);
  const { kid, privateKey } = await app.app.deps.keys.current();
  const { auth_time: _, ...claims } = JSON.parse(
    Buffer.from(user.token.split('.')[1] ?? '', 'base64url').toString(),
  );
  const old = createClient(
    app.url,
    await new SignJWT(claims).setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid }).sign(privateKey),
  );
  const [byMachine, byOld] = [await make(machine), await make(old)];
  expect([byMachine.status, byMachine.body.code]).toEqual([403, 'person_required']);
  expect([byOld.status, byOld.body.code]).toEqual([401, 'login_too_old']);
  expect((await user.own.get('/users/me/clients')).body).toHaveLength(1);
  // Without scopes it has its user's rights, but it is not that person.
  for (const refused of [
    await machine.post('/absences', {}),
    await machine.delete(`/users/me/tokens/${user.id}`),
    await machine.post('/users/me/verify', { password }),
    await machine.get('/users/me/clients'),
    await machine.get('/users/me/sessions'),
    await machine.get('/users/me/personal-data'),
  ])
    expect([refused.status, refused.body.code]).toEqual([403, 'person_required']);
});

test("an administrator's client reads what admins read of any user, of its own user too", async () => {
  const { id, username } = await owner();
  expect((await admin.patch(`/users/${id}`, { roles: ['admin'] })).status).toBe(200);
  const { own } = await logIn(username);
  const machine = createClient(app.url, (await grant((await make(own)).body)).body.access_token);
  for (const what of ['personal-data', 'tokens', 'clients']) {
    expect([what, (await machine.get(`/users/${id}/${what}`)).status]).toEqual([what, 200]);
    expect([what, (await machine.get(`/users/me/${what}`)).status]).toEqual([what, 403]);
  }
});

test('admins list and delete the clients of all users, others only their own', async () => {
  const [user, stranger] = [await owner(), await owner()];
  const { body: client } = await make(user.own);
  const { access_token: token } = (await grant(client)).body;
  const path = `/users/${user.id}/clients`;
  expect((await stranger.own.get(path)).status).toBe(403);
  expect((await user.own.get(path)).status).toBe(403);
  expect((await stranger.own.delete(`${path}/${client.id}`)).status).toBe(403);
  expect((await stranger.own.delete(`/users/me/clients/${client.id}`)).status).toBe(404);
  const listed = await admin.get(path);
  expect(listed.body).toEqual([
    expect.objectContaining({ id: client.id, name: 'build server', expires_at: client.expires_at }),
  ]);
  expect(JSON.stringify(listed.body)).not.toContain('secret');
  expect((await admin.get(`/users/${crypto.randomUUID()}/clients`)).status).toBe(404);
  expect((await admin.delete(`/users/${stranger.id}/clients/${client.id}`)).status).toBe(404);
  expect((await admin.delete(`${path}/${client.id}`)).status).toBe(204);
  expect((await admin.delete(`${path}/${client.id}`)).status).toBe(404);
  expect(await works(client, token)).toEqual([false, false]);
});
