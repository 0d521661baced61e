/**
 * An api keeps callers for a moment, so that it does not read them for each request. Whoever loses a right
 * loses it at once where it was taken, and a moment later on other copies.
 */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { createClient, startTestApp, type Client, type TestApp } from '../support/app.ts';
import { cookiesOf, fromOwnPage, logInBrowser, withHeaders } from '../support/browser.ts';
import { until } from '../support/platform.ts';
import { totpCode } from '../support/totp.ts';

const password = 'correct horse battery';
let app: TestApp;
let copy: TestApp;
let admin: Client;
let count = 0;

beforeAll(async () => {
  app = await startTestApp({ keepsCallers: 'without news' });
  const { databaseUrl, env } = app;
  copy = await startTestApp({ keepsCallers: true, databaseUrl, env: { BASE_URL: env.BASE_URL } });
  admin = await app.as('admin');
});
afterAll(async () => {
  await copy.close();
  await app.close();
});

interface Person {
  id: string;
  username: string;
  token: string;
  refreshToken: string;
}

async function person(): Promise<Person> {
  const username = `reader${++count}`;
  const roles = ['admin'];
  const { body } = await admin.post('/users', {
    username,
    email: `${username}@example.com`,
    password,
    roles,
  });
  const { access_token: token, refresh_token: refreshToken } = (
    await app.anonymous.post('/auth/token', { username, password })
  ).body;
  return { id: body.id, username, token, refreshToken };
}

/** The answer to a read that only admins may make. */
const read = async ({ url }: TestApp, token: string): Promise<number> =>
  (await createClient(url, token).get('/users?limit=1')).status;

/** The person's browser, as each copy of the API sees it. */
async function browserOf({ username }: Person): Promise<(on: TestApp) => Client> {
  const cookie = cookiesOf(await logInBrowser(app.url, username, password));
  return ({ url }) => withHeaders(createClient(url), { ...fromOwnPage, cookie });
}

const ways: [string, number, (who: Person) => Promise<unknown>][] = [
  [
    'log-out',
    401,
    (who) => createClient(app.url, who.token).post('/auth/revoke', { token: who.refreshToken }),
  ],
  ['disabling the user', 401, (who) => admin.patch(`/users/${who.id}`, { status: 'disabled' })],
  ['taking the role', 403, (who) => admin.patch(`/users/${who.id}`, { roles: ['viewer'] })],
  ['a reset of the password', 401, (who) => admin.patch(`/users/${who.id}`, { password: 'another one 123' })],
];

test.each(ways)('%s counts at once here, and soon on another copy', async (_way, status, take) => {
  const who = await person();
  for (const each of [app, copy, app, copy]) expect(await read(each, who.token)).toBe(200);
  expect((await take(who)) as { status: number }).toMatchObject({ status: expect.any(Number) });
  expect(await read(app, who.token)).toBe(status);
  await until(
    () => read(copy, who.token),
    (answer) => answer === status,
  );
  // A change is checked by the row, whatever is kept.
  const change = await createClient(copy.url, who.token).delete('/users/me/sessions');
  expect(change.status).toBe(status === 401 ? 401 : 204);
});

const browserWays: [string, number, (who: Person, browser: Client) => Promise<unknown>][] = [
  ['log-out', 401, (_who, browser) => browser.delete('/console/session')],
  ['disabling the user', 401, (who) => admin.patch(`/users/${who.id}`, { status: 'disabled' })],
  ['taking the role', 403, (who) => admin.patch(`/users/${who.id}`, { roles: ['viewer'] })],
];

test.each(browserWays)('%s counts for browsers too', async (_way, status, take) => {
  const who = await person();
  const browser = await browserOf(who);
  const readBy = async (on: TestApp): Promise<number> => (await browser(on).get('/users?limit=1')).status;
  for (const each of [app, copy, app, copy]) expect(await readBy(each)).toBe(200);
  await take(who, browser(app));
  expect(await readBy(app)).toBe(status);
  await until(
    () => readBy(copy),
    (answer) => answer === status,
  );
});

test('a second factor that is set up on one copy counts on another, which is told of it', async () => {
  const env = { SECOND_FACTOR_ROLES: 'admin', BASE_URL: app.env.BASE_URL };
  const { databaseUrl } = app;
  const guarded = await startTestApp({ keepsCallers: true, databaseUrl, env });
  const other = await startTestApp({ keepsCallers: true, databaseUrl, env });
  const listener = new pg.Client({ connectionString: databaseUrl });
  await listener.connect();
  try {
    const { username } = await person();
    const { access_token: token } = (await guarded.anonymous.post('/auth/token', { username, password }))
      .body;
    const own = createClient(guarded.url, token);
    const { secret } = (await own.post('/users/me/totp')).body;
    expect(await read(other, token)).toBe(403);
    let told = 0;
    listener.on('notification', () => (told += 1));
    await listener.query('listen account_change');
    const code = totpCode(secret);
    expect((await own.post('/users/me/totp/confirm', { code })).status).toBe(200);
    expect(await read(guarded, token)).toBe(200);
    // Without being told, the other copy would find it only when what it keeps is a second old.
    expect(await until(async () => told, Boolean)).toBeGreaterThan(0);
    expect(
      await until(
        () => read(other, token),
        (status) => status === 200,
      ),
    ).toBe(200);
  } finally {
    await listener.end();
    await other.close();
    await guarded.close();
  }
});

test('a read does not wait for the rows of a caller who is known', async () => {
  const who = await person();
  const browser = (await browserOf(who))(app);
  const reads = [() => read(app, who.token), async () => (await browser.get('/users?limit=1')).status];
  const answersMeanwhile = async (): Promise<boolean> => {
    await Promise.all(reads.map((one) => one()));
    return app.orm.em.fork().transactional(async (em) => {
      await em.execute('lock table auth_session in access exclusive mode');
      const late = new Promise<boolean>((resolve) => setTimeout(resolve, 500, false));
      const statuses = Promise.all(reads.map((one) => one()));
      return Promise.race([statuses.then((all) => all.every((status) => status === 200)), late]);
    });
  };
  // On a busy machine the second may be over before.
  expect(await until(answersMeanwhile, (answered) => answered)).toBe(true);
});
