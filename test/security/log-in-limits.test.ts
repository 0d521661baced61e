/** Guessing of passwords is limited, and does not lock out the owner of the account. */
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';

import { createClient, startTestApp, type Client, type Reply, type TestApp } from '../support/app.ts';

const password = 'correct horse battery';
const home = '198.51.100.7';
let app: TestApp;
let copy: TestApp;
let admin: Client;
let count = 0;

beforeAll(async () => {
  app = await startTestApp({ env: { TRUST_PROXY: 'true' } });
  copy = await startTestApp({
    databaseUrl: app.databaseUrl,
    env: { TRUST_PROXY: 'true', BASE_URL: app.env.BASE_URL },
  });
  admin = await app.as('admin');
});
afterAll(async () => {
  await copy.close();
  await app.close();
});
beforeEach(() => app.orm.em.fork().execute('delete from login_attempt'));

async function register(): Promise<{ id: string; username: string }> {
  count += 1;
  const reply = await admin.post('/users', {
    username: `owner${count}`,
    email: `owner${count}@example.com`,
    password,
    roles: ['builder'],
  });
  return reply.body;
}

interface From {
  address?: string;
  cookie?: string | undefined;
  on?: TestApp;
}

function logIn(
  username: string,
  secret: string,
  { address = home, cookie, on = app }: From = {},
): Promise<Reply> {
  const headers = { 'x-forwarded-for': address, ...(cookie === undefined ? {} : { cookie }) };
  return on.anonymous.post('/auth/token', { username, password: secret }, { headers });
}

/** Inserts failures as log-ins do. */
async function fail(userId: string, times: number, address: (index: number) => string): Promise<void> {
  const rows = Array.from(
    { length: times },
    (_, index) => `(gen_random_uuid(), 'user:${userId}', '${address(index)}')`,
  );
  await app.orm.em
    .fork()
    .execute(`insert into login_attempt (id, account, address) values ${rows.join(',')}`);
}

function cookieOf(reply: Reply): string | undefined {
  return reply.headers.get('set-cookie')?.split(';')[0];
}

test('ten failures lock an account for their address only', async () => {
  const { username } = await register();
  for (let failure = 0; failure < 10; failure += 1) {
    expect(
      (await logIn(username, 'wrong wrong wrong', { address: '203.0.113.1', on: failure % 2 ? copy : app }))
        .status,
    ).toBe(401);
  }
  const refused = await logIn(username, password, { address: '203.0.113.1', on: copy });
  expect([refused.status, refused.body.code]).toEqual([429, 'too_many_logins']);
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(800);
  expect((await logIn(username, password)).status).toBe(200);
});

test('a hundred failures lock one account for devices that are new to it', async () => {
  const { id, username } = await register();
  const mark = cookieOf(await logIn(username, password));
  await fail(id, 99, (index) => `192.0.2.${index}`);
  expect((await logIn(username, 'wrong wrong wrong', { address: '203.0.113.2' })).status).toBe(401);
  expect((await logIn(username, password)).status).toBe(429);
  expect((await logIn(username, password, { cookie: mark, address: '203.0.113.3', on: copy })).status).toBe(
    200,
  );
});

test('a known device can log in, even from the address of the attacker', async () => {
  const { id, username } = await register();
  const mark = cookieOf(await logIn(username, password));
  await fail(id, 10, () => home);
  await app.orm.em.fork().execute(
    `insert into login_attempt (id, account, address)
        select gen_random_uuid(), 'name:' || n, '${home}' from generate_series(1, 100) n`,
  );
  expect((await logIn(username, password)).status).toBe(429);
  expect((await logIn(username, password, { cookie: mark })).status).toBe(200);
});

test('a known device has its own ten failures', async () => {
  const { username } = await register();
  const cookie = cookieOf(await logIn(username, password));
  const replies = await Promise.all(
    Array.from({ length: 14 }, (_, index) =>
      logIn(username, 'wrong wrong wrong', { cookie, on: index % 2 ? copy : app }),
    ),
  );
  expect(replies.map(({ status }) => status).toSorted()).toEqual([
    ...Array<number>(10).fill(401),
    ...Array<number>(4).fill(429),
  ]);
  expect((await logIn(username, password, { cookie, address: '203.0.113.4' })).status).toBe(429);
  expect((await logIn(username, password)).status).toBe(200);
});

test('a password that an admin sets forgets the failures of the account, and of its devices', async () => {
  const { id, username } = await register();
  const cookie = cookieOf(await logIn(username, password));
  for (let failure = 0; failure < 10; failure += 1) await logIn(username, 'wrong wrong wrong', { cookie });
  await fail(id, 10, () => home);
  const next = 'staple battery horse';
  expect((await admin.patch(`/users/${id}`, { password: next })).status).toBe(200);
  expect((await logIn(username, next, { cookie })).status).toBe(200);
  expect((await logIn(username, next)).status).toBe(200);
});

test('foreign, changed and malformed device cookies have no effect', async () => {
  const [own, other] = [await register(), await register()];
  const foreign = cookieOf(await logIn(other.username, password)) ?? '';
  const mine = cookieOf(await logIn(own.username, password)) ?? '';
  await fail(own.id, 100, (index) => `192.0.2.${index}`);
  const [, nonce = '', mac = ''] = /=(.*)\.(.*)/.exec(mine) ?? [];
  for (const cookie of [
    foreign,
    `cadenza_device=${nonce}.${'A'.repeat(43)}`,
    `cadenza_device=${'A'.repeat(22)}.${mac}`,
    'cadenza_device=',
    'cadenza_device=..',
    `cadenza_device=${'a'.repeat(9_000)}`,
  ]) {
    expect([cookie, (await logIn(own.username, password, { cookie })).status]).toEqual([cookie, 429]);
  }
  expect((await logIn(own.username, password, { cookie: mine })).status).toBe(200);
});

test('the device cookie is limited to its endpoint, hidden from scripts, and opens nothing', async () => {
  const { username } = await register();
  const first = await logIn(username, password);
  expect(first.headers.get('set-cookie')).toMatch(
    /^cadenza_device=[\w-]{22}\.[\w-]{43}; Path=\/auth\/token; Max-Age=31536000; HttpOnly; SameSite=Strict$/,
  );
  const cookie = cookieOf(first) ?? '';
  expect((await logIn(username, password, { cookie })).headers.get('set-cookie')).toBeNull();
  expect((await logIn(username, 'wrong wrong wrong', { cookie })).status).toBe(401);
  expect((await createClient(app.url).get('/users/me', { headers: { cookie } })).status).toBe(401);
  const form = await app.anonymous.post(
    '/api/v1/auth/token',
    `grant_type=password&username=${username}&password=${encodeURIComponent(password)}`,
    { headers: { 'content-type': 'application/x-www-form-urlencoded' } },
  );
  expect(form.headers.get('set-cookie')).toContain('; Path=/api/v1/auth/token; ');
  const secure = await startTestApp({
    databaseUrl: app.databaseUrl,
    env: { BASE_URL: 'https://cadenza.example.com' },
  });
  try {
    expect(
      (await secure.anonymous.post('/auth/token', { username, password })).headers.get('set-cookie'),
    ).toMatch(/; Secure$/);
  } finally {
    await secure.close();
  }
});

test('an attacker cannot lock out a machine client elsewhere, or its owner from a new password', async () => {
  const user = await app.createUser();
  const own = await app.as(user);
  const { client_id, client_secret } = (await own.post('/users/me/clients', { name: 'build server' })).body;
  const grant = (secret: string, address: string) =>
    app.anonymous.post(
      '/auth/token',
      { grant_type: 'client_credentials', client_id, client_secret: secret },
      { headers: { 'x-forwarded-for': address } },
    );
  for (let failure = 0; failure < 10; failure += 1)
    expect((await grant('wrong', '203.0.113.5')).status).toBe(401);
  expect((await grant(client_secret, '203.0.113.5')).status).toBe(429);
  await app.orm.em.fork().execute(`update login_attempt set address = '192.0.2.' || (random() * 200)::int`);
  await app.orm.em.fork().execute(
    `insert into login_attempt (id, account, address)
        select gen_random_uuid(), account, address from login_attempt, generate_series(1, 20)`,
  );
  expect((await grant(client_secret, home)).status).toBe(200);

  await fail(user.id, 150, (index) => `192.0.2.${index}`);
  const change = () =>
    own.post('/users/me/password', {
      current_password: 'wrong wrong wrong',
      new_password: 'another long one',
    });
  for (let failure = 0; failure < 10; failure += 1) expect((await change()).status).toBe(422);
  expect((await change()).status).toBe(429);
});

test('an empty form is an invalid_request of OAuth, with and without a length', async () => {
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  for (const options of [
    { headers },
    { headers, body: '' },
    { headers: { 'content-type': 'application/x-www-form-urlencoded;charset=UTF-8' }, body: '' },
  ]) {
    const reply = await app.anonymous.request('POST', '/auth/token', options);
    expect([reply.status, reply.body]).toEqual([
      400,
      { error: 'invalid_request', error_description: 'grant_type is missing' },
    ]);
  }
});
