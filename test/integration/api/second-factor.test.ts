/** Second factors: authenticator apps, recovery codes, step-up, and what a role demands. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { EntityManager } from '../../../db/orm.ts';
import { callerOfCookie, openCookieSession } from '../../../domain/auth/cookie-sessions.ts';
import { factorsOf, noteFactors } from '../../../domain/auth/second-factor.ts';
import { removeTotp } from '../../../domain/auth/totp.ts';
import {
  createClient,
  startTestApp,
  type Client,
  type Reply,
  type TestApp,
  type TestUser,
} from '../../support/app.ts';
import { until } from '../../support/platform.ts';
import { earlyTotpCode, totpCode } from '../../support/totp.ts';

let app: TestApp;
const PASSWORD = 'correct horse battery';

beforeAll(async () => {
  app = await startTestApp({
    env: { SECOND_FACTOR_ROLES: 'admin', SESSION_IDLE_HOURS: '2', SESSION_MAX_HOURS: '5' },
  });
});
afterAll(() => app.close());

async function person(roles: TestUser['roles'] = ['builder']): Promise<TestUser> {
  const user = await app.createUser({ roles });
  await (await app.as('admin')).patch(`/users/${user.id}`, { password: PASSWORD });
  return user;
}

const logIn = (username: string): Promise<Reply> =>
  app.anonymous.post('/auth/token', { username, password: PASSWORD });
const answer = (challenge: string, proof: object): Promise<Reply> =>
  app.anonymous.post('/auth/token', { grant_type: 'second_factor', challenge, ...proof });
const clientOf = ({ body }: Reply): Client => createClient(app.url, body.access_token);

async function withTotp(roles?: TestUser['roles']) {
  const user = await person(roles);
  const own = clientOf(await logIn(user.username));
  const { secret, uri } = (await own.post('/users/me/totp')).body;
  expect(uri).toContain('otpauth://totp/Cadenza');
  const confirmed = await own.post('/users/me/totp/confirm', { code: await earlyTotpCode(secret) });
  expect(confirmed.status).toBe(200);
  return { user, own, secret, codes: confirmed.body.recovery_codes as string[] };
}

const fork = () => app.orm.em.fork();

function tokenBody() {
  const expires_at = new Date(Date.now() + 86_400_000).toISOString();
  return { name: 't', scopes: ['runs:read'], expires_at };
}

test('a password alone opens no session, and a code works once', async () => {
  const { user, secret } = await withTotp();
  const first = await logIn(user.username);
  expect([first.status, first.body.code, first.body.methods]).toEqual([
    401,
    'mfa_required',
    ['code', 'recovery_code'],
  ]);
  expect(first.body.access_token).toBeUndefined();
  const code = totpCode(secret);
  const second = await answer(first.body.challenge, { code });
  expect(second.status).toBe(200);
  expect((await clientOf(second).get('/users/me')).status).toBe(200);

  // Neither the challenge nor the code is of use again.
  expect((await answer(first.body.challenge, { code: totpCode(secret, 1) })).status).toBe(401);
  const again = await logIn(user.username);
  expect((await answer(again.body.challenge, { code })).status).toBe(401);
  expect((await answer(again.body.challenge, { code: totpCode(secret, 1) })).status).toBe(200);
});

test('of simultaneous answers with one code exactly one opens a session', async () => {
  const { user, secret } = await withTotp();
  const challenges = await Promise.all(
    [1, 2, 3].map(async () => (await logIn(user.username)).body.challenge),
  );
  const code = totpCode(secret);
  const statuses = await Promise.all(challenges.map(async (one) => (await answer(one, { code })).status));
  expect(statuses.toSorted()).toEqual([200, 401, 401]);
});

test('a recovery code works once, and new ones end the former', async () => {
  const { user, own, codes } = await withTotp();
  expect(new Set(codes).size).toBe(10);
  const [code = '', other = ''] = codes;
  const first = await logIn(user.username);
  expect((await answer(first.body.challenge, { recovery_code: code.toLowerCase() })).status).toBe(200);
  const again = await logIn(user.username);
  expect((await answer(again.body.challenge, { recovery_code: code })).status).toBe(401);
  expect((await own.post('/users/me/recovery-codes')).body.recovery_codes).toHaveLength(10);
  expect((await answer(again.body.challenge, { recovery_code: other })).status).toBe(401);
  const stored = await app.orm.em.fork().execute('select * from recovery_code');
  expect(JSON.stringify(stored)).not.toContain(other.replace('-', ''));
});

test('ten wrong codes are followed by 429, whichever challenge they answer', async () => {
  const { user, secret } = await withTotp();
  for (let count = 0; count < 10; count += 1) {
    const { body } = await logIn(user.username);
    expect((await answer(body.challenge, { code: '000000' })).status).toBe(401);
  }
  const { body } = await logIn(user.username);
  expect((await answer(body.challenge, { code: totpCode(secret) })).status).toBe(429);
});

test('the forms of OAuth and of the consent page do not go around it', async () => {
  const { user, secret } = await withTotp();
  const form = (fields: Record<string, string>) =>
    app.anonymous.post('/auth/token', new URLSearchParams(fields).toString(), {
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
  const first = await form({ grant_type: 'password', username: user.username, password: PASSWORD });
  expect([first.status, first.body.error]).toEqual([403, 'mfa_required']);
  const second = await form({
    grant_type: 'urn:cadenza:params:oauth:grant-type:second-factor',
    challenge: first.body.challenge,
    code: totpCode(secret),
  });
  expect(second.status).toBe(200);
  const page = { origin: app.url, 'sec-fetch-site': 'same-origin' };
  const browser = await app.anonymous.post(
    '/console/session',
    { username: user.username, password: PASSWORD },
    { headers: page },
  );
  expect([browser.status, browser.body.code]).toEqual([401, 'mfa_required']);
  expect(browser.headers.get('set-cookie')).toBeNull();
});

test('what is grave needs a fresh log-in, which a password, or a second factor, renews', async () => {
  const { own, user, secret } = await withTotp();
  const put = () => own.put('/secrets/KEY', { value: 'x' });
  expect((await put()).status).toBe(201);
  await app.orm.em
    .fork()
    .execute(
      `update auth_session set verified_at = null, created_at = now() - interval '1 hour' where user_id = ?`,
      [user.id],
    );
  // The token itself says when its user logged in, so a session of a code is taken, which has no such time.
  const old = createClient(app.url, (await deviceToken(own)).access_token);
  const refused = await old.put('/secrets/KEY', { value: 'y' });
  expect([refused.status, refused.body.code]).toEqual([401, 'login_too_old']);
  const body = tokenBody();
  expect((await old.post('/users/me/tokens', body)).status).toBe(401);

  expect((await old.post('/users/me/verify', { password: 'wrong' })).status).toBe(403);
  expect((await old.post('/users/me/verify', {})).body.code).toBe('wrong_proof');
  expect((await old.post('/users/me/verify', { code: totpCode(secret) })).status).toBe(204);
  expect((await old.put('/secrets/KEY', { value: 'y' })).status).toBe(200);
  const token = await old.post('/users/me/tokens', body);
  expect(token.body.token).toMatch(/^cdz_[0-9A-Za-z]{38}$/);
  expect((await createClient(app.url, token.body.token).get('/runs')).status).toBe(200);
  expect((await createClient(app.url, `${token.body.token.slice(0, -1)}_`).get('/runs')).status).toBe(401);
  expect((await own.post('/auth/revoke', { token: token.body.token })).status).toBe(200);
  expect((await createClient(app.url, token.body.token).get('/runs')).status).toBe(401);
});

test('what gives others rights needs a fresh log-in of an admin, too', async () => {
  const { own } = await withTotp(['admin']);
  const old = createClient(app.url, (await deviceToken(own)).access_token);
  const someone = await app.createUser({ roles: ['builder'] });
  const { body: team } = await own.post('/teams', { name: 'payments' });
  const replies = [
    await old.put(`/teams/${team.id}/members/${someone.id}`, { role: 'builder' }),
    await old.patch(`/users/${someone.id}`, { password: null }),
    await old.patch(`/users/${someone.id}`, { roles: ['admin'] }),
    // Definitions name people by it.
    await old.patch(`/users/${someone.id}`, { username: `renamed-${someone.id}` }),
    await old.post(`/users/${someone.id}/transfer`, { to: someone.id }),
    await old.post(`/users/${someone.id}/identities`, { issuer_id: someone.id, subject: 'me' }),
    // A deputy decides in one's place.
    await old.post('/absences', { deputy: someone.id, until: '2099-01-01T00:00:00Z' }),
    await old.post('/identity-issuers', {
      name: 'mine',
      title: 'Mine',
      issuer: 'https://issuer.example.com',
      client_id: 'x',
    }),
  ];
  expect(replies.map(({ status, body }) => [status, body.code])).toEqual(
    replies.map(() => [401, 'login_too_old']),
  );
});

test('a stolen session and the password alone do not remove a second factor', async () => {
  const { own, secret, codes } = await withTotp();
  const stolen = createClient(app.url, (await deviceToken(own)).access_token);
  const verify = (shown: object) => stolen.post('/users/me/verify', shown);
  const alone = await verify({ password: PASSWORD });
  expect([alone.status, alone.body.code, alone.body.methods]).toEqual([
    403,
    'mfa_required',
    ['code', 'recovery_code'],
  ]);
  // Neither a wrong code beside the right password, nor a right one beside a wrong password.
  const both = [
    await verify({ password: PASSWORD, code: '000000' }),
    await verify({ password: 'wrong', code: totpCode(secret) }),
  ];
  expect(both.map(({ status, body }) => [status, body.code])).toEqual(both.map(() => [403, 'wrong_proof']));
  const grave = [
    await stolen.delete('/users/me/totp'),
    await stolen.post('/users/me/recovery-codes'),
    await stolen.post('/users/me/tokens', tokenBody()),
    await stolen.put('/secrets/KEY', { value: 'x' }),
  ];
  expect(grave.map(({ body }) => body.code)).toEqual(grave.map(() => 'login_too_old'));
  expect((await verify({ password: PASSWORD, recovery_code: codes[0] })).status).toBe(204);
  expect((await stolen.delete('/users/me/totp')).status).toBe(204);
});

test('a password alone is enough of those who have no second factor', async () => {
  const own = clientOf(await logIn((await person()).username));
  const old = createClient(app.url, (await deviceToken(own)).access_token);
  expect((await old.put('/secrets/KEY', { value: 'x' })).body.code).toBe('login_too_old');
  expect((await old.post('/users/me/verify', { password: PASSWORD })).status).toBe(204);
  expect((await old.put('/secrets/KEY', { value: 'x' })).status).toBe(201);
});

/** The tokens of a session that another one has approved. */
async function deviceToken(approver: Client) {
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  const { body: codes } = await app.anonymous.post('/auth/device', '', { headers });
  await approver.post('/auth/device/decision', { user_code: codes.user_code, decision: 'approve' });
  const grant = 'urn:ietf:params:oauth:grant-type:device_code';
  const form = new URLSearchParams({ grant_type: grant, device_code: codes.device_code });
  return (await app.anonymous.post('/auth/token', form.toString(), { headers })).body;
}

test("a role that needs a second factor has a viewer's rights until there is one", async () => {
  const user = await person(['admin']);
  const own = clientOf(await logIn(user.username));
  expect((await own.get('/users')).status).toBe(403);
  expect((await own.get('/users/me/second-factor')).body).toMatchObject({ totp: false, required: true });
  // Neither does it make a credential that has the whole rights.
  const lasting = await Promise.all([
    own.post('/users/me/clients', { name: 'machine' }),
    own.post('/users/me/tokens', tokenBody()),
    own.post('/users/me/identities', { issuer: 'company' }),
  ]);
  expect(lasting.map(({ status, body }) => [status, body.code])).toEqual(
    lasting.map(() => [403, 'second_factor_required']),
  );
  const { secret } = (await own.post('/users/me/totp')).body;
  expect((await own.post('/users/me/totp/confirm', { code: '000000' })).status).toBe(422);
  expect((await own.post('/users/me/totp/confirm', { code: totpCode(secret) })).status).toBe(200);
  expect((await own.get('/users')).status).toBe(200);
  expect((await own.post('/users/me/tokens', tokenBody())).status).toBe(201);
  // Without the last one the rights are gone again.
  expect((await own.delete('/users/me/totp')).status).toBe(204);
  expect((await own.get('/users')).status).toBe(403);
});

test('a role that comes along takes effect in sessions with a second factor only', async () => {
  const admin = await app.as('admin');
  const [plain, guarded] = [await person(), await withTotp()];
  const own = clientOf(await logIn(plain.username));
  for (const { id } of [plain, guarded.user])
    expect((await admin.patch(`/users/${id}`, { roles: ['admin'] })).status).toBe(200);
  expect((await own.get('/users')).status).toBe(403);
  expect((await guarded.own.get('/users')).status).toBe(200);
});

test('a passkey that is added while the app is removed stays a second factor', async () => {
  const { user } = await withTotp();
  const note = (em: EntityManager) => noteFactors(em, { userId: user.id, sid: null, neededBy: [] });
  const added = fork().transactional(async (em) => {
    await em.execute(
      `insert into passkey (id, user_id, credential_id, public_key, counter, transports, name)
       values (gen_random_uuid(), ?, 'added', '', 0, '{}', 'added')`,
      [user.id],
    );
    await note(em);
    await em.execute('select pg_sleep(0.5)');
  });
  const removed = fork().transactional(async (em) => {
    await em.execute('select pg_sleep(0.2)');
    await removeTotp(em, user.id);
    await note(em);
  });
  await Promise.all([added, removed]);
  expect(await factorsOf(fork(), user.id)).toMatchObject({ totp: false, passkeys: 1 });
  expect((await logIn(user.username)).body.code).toBe('mfa_required');
});

test('an admin removes the second factors of somebody who has lost them', async () => {
  const { user } = await withTotp();
  const admin = await app.as('admin');
  const hasFactor = async () => (await admin.get(`/users/${user.id}`)).body.second_factor;
  expect(await hasFactor()).toBe(true);
  expect((await (await app.as('builder')).delete(`/users/${user.id}/second-factor`)).status).toBe(403);
  expect((await admin.delete(`/users/${user.id}/second-factor`)).status).toBe(204);
  expect(await hasFactor()).toBe(false);
  expect((await logIn(user.username)).status).toBe(200);
});

test('a session ends after its idle time, and after its whole time in any case', async () => {
  const user = await person();
  const { body } = await logIn(user.username);
  const times = async () => {
    const [row] = await app.orm.em.fork().execute<{ idle: number; whole: number }[]>(
      `select round(extract(epoch from expires_at - now()) / 3600)::int as idle,
              round(extract(epoch from ends_at - now()) / 3600)::int as whole
         from auth_session where user_id = ? and by_password order by id desc limit 1`,
      [user.id],
    );
    return row;
  };
  expect(await times()).toEqual({ idle: 2, whole: 5 });
  await app.orm.em
    .fork()
    .execute(`update auth_session set ends_at = now() + interval '1 hour' where user_id = ?`, [user.id]);
  const refresh = { grant_type: 'refresh_token', refresh_token: body.refresh_token };
  expect((await app.anonymous.post('/auth/token', refresh)).status).toBe(200);
  expect(await times()).toEqual({ idle: 1, whole: 1 });
});

test('a session that was idle for too long, or has had its whole time, is refused', async () => {
  const user = await person();
  const { body } = await logIn(user.username);
  const own = createClient(app.url, body.access_token);
  const policy = { idleSeconds: 7_200, maxSeconds: 18_000, secondFactorRoles: [] };
  const from = { ip: '127.0.0.1', userAgent: '', requestId: null, policy };
  const secret = await openCookieSession(fork(), { id: user.id }, from);
  const page = { 'sec-fetch-site': 'same-origin', cookie: `cadenza=${secret}` };
  const byCookie = () => app.anonymous.get('/users/me', { headers: page });
  const set = (columns: string) =>
    fork().execute(`update auth_session set ${columns} where user_id = ? and revoked_at is null`, [user.id]);
  expect([(await own.get('/users/me')).status, (await byCookie()).status]).toEqual([200, 200]);

  await set(`expires_at = now() - interval '1 second'`);
  expect([(await own.get('/users/me')).status, (await byCookie()).status]).toEqual([401, 401]);
  const refresh = { grant_type: 'refresh_token', refresh_token: body.refresh_token };
  expect((await app.anonymous.post('/auth/token', refresh)).status).toBe(401);

  // Its use prolongs it, but not beyond its whole time.
  await set(`expires_at = now() + interval '1 hour', ends_at = now() + interval '1 second',
             last_used_at = now() - interval '2 minutes'`);
  expect((await byCookie()).status).toBe(200);
  const [row] = await fork().execute<{ over: boolean }[]>(
    `select bool_or(expires_at <= ends_at) as over from auth_session
      where user_id = ? and cookie_hash is not null`,
    [user.id],
  );
  expect(row?.over).toBe(true);
  await until(byCookie, ({ status }) => status === 401);
});

test("a browser's session ends with its whole time, also for streams", async () => {
  const { id } = await person();
  const policy = { idleSeconds: 7_200, maxSeconds: 18_000, secondFactorRoles: [] };
  const from = { ip: '127.0.0.1', userAgent: '', requestId: null, policy };
  const secret = await openCookieSession(fork(), { id }, from);
  await fork().execute(
    `update auth_session set last_used_at = now() - interval '2 minutes', ends_at = now() + interval '1 hour'
      where user_id = ?`,
    [id],
  );
  const caller = await callerOfCookie(fork(), secret);
  expect(caller?.prolonged).toBe(true);
  expect(caller?.claims.exp).toBeLessThanOrEqual(Date.now() / 1_000 + 3_601);
});
