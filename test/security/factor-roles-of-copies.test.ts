/**
 * Copies of the API with different SECOND_FACTOR_ROLES on one database, as while a new one is rolled out.
 * What one of them limits, no other gives back or opens.
 */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { pino } from 'pino';

import { FactorLimits } from '../../api/factor-limits.ts';
import type { Role } from '../../contracts/roles.ts';
import { registeredAgent } from '../support/agent-body.ts';
import { createClient, startTestApp, type Client, type TestApp, type TestUser } from '../support/app.ts';
import { inOneHour } from '../support/human-tasks.ts';
import { totpCode } from '../support/totp.ts';

const PASSWORD = 'correct horse battery';
const logger = pino({ level: 'silent' });
/** Names no role. */
let former: TestApp;
/** Names `admin`. */
let next: TestApp;
let admin: Client;

beforeAll(async () => {
  former = await startTestApp();
  const { databaseUrl, env } = former;
  next = await startTestApp({ databaseUrl, env: { BASE_URL: env.BASE_URL, SECOND_FACTOR_ROLES: 'admin' } });
  admin = await former.as('admin');
  const { id } = await former.user('admin');
  await execute(`update auth_session set second_factor = 'own' where user_id = ?`, [id]);
});
afterAll(async () => {
  await next.close();
  await former.close();
});

const execute = (sql: string, values: unknown[] = []) => former.orm.em.fork().execute(sql, values);
const limitsOf = ({ orm, env }: TestApp): FactorLimits =>
  new FactorLimits({ fork: () => orm.em.fork(), logger, roles: env.SECOND_FACTOR_ROLES });
/** As if the time had passed for which the settings of stopped copies count. */
const forget = () => execute(`update second_factor_setting set expires_at = now() - interval '1 second'`);

/** An administrator without a second factor, with one program of each kind. */
async function person(): Promise<{ user: TestUser; own: Client; waiting: () => Promise<boolean[]> }> {
  const user = await former.createUser({ roles: ['builder', 'admin'] });
  const own = await former.as(user);
  const agent = await registeredAgent(own, { name: user.username, execution_type: 'edge' });
  for (const [path, fields] of [
    ['/users/me/tokens', { scopes: ['workflows:write'] }],
    ['/users/me/clients', {}],
    [`/agents/${agent.id}/worker-tokens`, {}],
  ] as const) {
    const made = await own.post(path, { ...fields, name: 'one', expires_at: inOneHour() });
    expect([path, made.status, made.body.awaits_second_factor]).toEqual([path, 201, false]);
  }
  const lists = ['tokens', 'clients'].map((kind) => `/users/${user.id}/${kind}`);
  const waiting = async () => {
    const found = await Promise.all(
      [...lists, `/agents/${agent.id}/worker-tokens`].map(async (path) => (await admin.get(path)).body),
    );
    return found.flat().map((one) => one.awaits_second_factor);
  };
  return { user, own, waiting };
}

async function logIn(app: TestApp, { username }: TestUser) {
  const { body } = await app.anonymous.post('/auth/token', { username, password: PASSWORD });
  const isAdmin = (await createClient(app.url, body.access_token).get('/users')).status === 200;
  return { scope: body.scope, isAdmin };
}

const changeRoles = async ({ id }: TestUser, roles: Role[]): Promise<void> => {
  expect((await admin.patch(`/users/${id}`, { roles })).status).toBe(200);
};

const ALL = [true, true, true];
const NONE = [false, false, false];
const LIMITED = { scope: 'viewer', isAdmin: false };
const FULL = { scope: 'builder admin', isAdmin: true };

test('a former copy gives nothing back, and opens nothing, while a copy names the role', async () => {
  const { user, own, waiting } = await person();
  const other = await former.createUser({ roles: ['builder', 'admin'] });
  expect((await admin.patch(`/users/${other.id}`, { password: PASSWORD })).status).toBe(200);
  const [old, young] = [limitsOf(former), limitsOf(next)];
  await old.renew();
  expect([await waiting(), await logIn(former, other)]).toEqual([NONE, FULL]);
  await young.renew();
  expect(await waiting()).toEqual(ALL);
  expect((await own.get('/users')).status).toBe(403);

  // The pass of the former copy, what it does when roles change, and what it opens.
  for (let pass = 0; pass < 3; pass += 1) {
    await old.renew();
    expect(await waiting()).toEqual(ALL);
  }
  await changeRoles(user, ['builder']);
  expect([await waiting(), (await own.get('/users/me/second-factor')).body]).toMatchObject([
    NONE,
    { required: false, awaited: false },
  ]);
  await changeRoles(user, ['builder', 'admin']);
  expect([await waiting(), (await own.get('/users/me/second-factor')).body]).toMatchObject([
    ALL,
    { required: true, awaited: true },
  ]);
  for (const app of [former, next]) expect(await logIn(app, other)).toEqual(LIMITED);
  // A session that stands in for one that an issuer has opened and asked for a factor.
  await execute(
    `update auth_session set second_factor = 'issuer', awaits_second_factor = false where user_id = ?`,
    [user.id],
  );
  const more = { name: 'more', scopes: ['workflows:write'], expires_at: inOneHour() };
  expect((await own.post('/users/me/tokens', more)).body.awaits_second_factor).toBe(true);

  // Nobody waits for ever: when no copy names the role any more, the former copy gives all of it back.
  await young.stop();
  await old.renew();
  expect(await waiting()).toEqual([true, ...ALL]);
  await forget();
  await old.renew();
  expect([await waiting(), await logIn(former, other)]).toEqual([[false, ...NONE], FULL]);
});

test('the setting of a copy that was killed, or restarts, counts until its time is over', async () => {
  const { waiting } = await person();
  const [old, killed] = [limitsOf(former), limitsOf(next)];
  /** Of each setting that counts. */
  const secondsLeft = async (): Promise<number[]> => {
    const rows = await former.orm.em.fork().execute<{ seconds: number }[]>(
      `select extract(epoch from expires_at - clock_timestamp())::int as seconds from second_factor_setting
        where expires_at > clock_timestamp()`,
    );
    return rows.map(({ seconds }) => seconds);
  };
  for (let pass = 0; pass < 3; pass += 1) await killed.renew();
  expect(Math.min(...(await secondsLeft()))).toBeGreaterThan(500);
  await forget();
  await old.renew();
  expect(await waiting()).toEqual(NONE);
  // It was not killed, but had lost the database: it limits again what was given back.
  await killed.renew();
  expect([await waiting(), await secondsLeft()]).toEqual([ALL, [expect.any(Number)]]);
  const restarted = limitsOf(next);
  await killed.stop();
  expect(Math.max(...(await secondsLeft()))).toBeLessThanOrEqual(60);
  await restarted.renew();
  expect(await waiting()).toEqual(ALL);
  await restarted.stop();
  await forget();
});

test('a second factor that is set up on a former copy counts', async () => {
  const { own, waiting } = await person();
  const young = limitsOf(next);
  await young.renew();
  expect(await waiting()).toEqual(ALL);
  const { secret } = (await own.post('/users/me/totp')).body;
  const code = totpCode(secret);
  expect((await own.post('/users/me/totp/confirm', { code })).status).toBe(200);
  expect([await waiting(), (await own.get('/users')).status]).toEqual([NONE, 200]);
  await limitsOf(former).renew();
  await young.renew();
  expect(await waiting()).toEqual(NONE);
  await young.stop();
  await forget();
});
