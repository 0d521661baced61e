/**
 * A role that needs a second factor takes effect only in sessions that have seen one, whoever gives the role
 * and whenever: an issuer by SCIM or by the claims of a log-in elsewhere, or an administrator.
 */
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import { settlePrograms } from '../../domain/auth/waiting-programs.ts';
import { createClient, startTestApp, type Client, type TestApp } from '../support/app.ts';
import { inOneHour } from '../support/human-tasks.ts';
import { meet } from '../support/meeting-requests.ts';
import { Browser, CLIENT_ID, CLIENT_SECRET, startIssuer, type TestIssuer } from '../support/issuer.ts';
import { earlyTotpCode, totpCode } from '../support/totp.ts';

let app: TestApp;
let admin: Client;
let corp: TestIssuer;
let scim: Client;

const PASSWORD = 'correct horse battery';

beforeAll(async () => {
  app = await startTestApp({
    env: { EGRESS_ALLOW: '127.0.0.1', SECOND_FACTOR_ROLES: 'admin' },
    keepsCallers: 'without news',
  });
  admin = await app.as('admin');
  corp = await startIssuer({ redirectUris: [`${app.url}/auth/sso/corp/callback`] });
  const { body } = await admin.post('/identity-issuers', {
    name: 'corp',
    title: 'Corp',
    issuer: corp.url,
    client_id: CLIENT_ID,
    client_secret: CLIENT_SECRET,
    external_id_claim: 'sub',
    mapping: {
      default_roles: ['viewer'],
      roles: [{ claim: 'groups', value: 'Chiefs', roles: ['admin'] }],
      second_factor: { claim: 'groups', value: 'two-factors' },
    },
  });
  const token = await admin.post(`/identity-issuers/${body.id}/scim-tokens`, { name: 'sync' });
  scim = createClient(app.url, token.body.token);
});
afterAll(async () => {
  await corp.close();
  await app.close();
});

/** Logs in by the issuer. */
async function enter(sub: string, claims: object) {
  corp.account = { sub, ...claims };
  const browser = new Browser();
  await browser.follow(`${app.url}/auth/sso/corp?fresh=true`, (url) => url === `${app.url}/console/`);
  const call = async (method: string, path: string, body?: object) => {
    const response = await browser.visit(app.url + path, 'same-origin', {
      method,
      ...(body && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    });
    const text = await response.text();
    return { status: response.status, body: text === '' ? null : JSON.parse(text) };
  };
  return { call, isAdmin: async () => (await call('GET', '/users')).status === 200 };
}

async function provisioned(sub: string): Promise<string> {
  const schemas = ['urn:ietf:params:scim:schemas:core:2.0:User'];
  const reply = await scim.post('/scim/v2/Users', { schemas, userName: sub, externalId: sub });
  expect(reply.status).toBe(201);
  return reply.body.id;
}

/** The group whose members are administrators. */
async function setChiefs(...ids: string[]): Promise<void> {
  const members = ids.map((value) => ({ value }));
  const listed = await scim.get(`/scim/v2/Groups?filter=${encodeURIComponent('displayName eq "Chiefs"')}`);
  const id = listed.body.Resources[0]?.id;
  const group = {
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:Group'],
    displayName: 'Chiefs',
    members,
  };
  const reply =
    id === undefined
      ? await scim.post('/scim/v2/Groups', group)
      : await scim.put(`/scim/v2/Groups/${id}`, group);
  expect(reply.status).toBeLessThan(300);
}

test('a role by SCIM takes effect in open sessions whose issuer has asked for a second factor', async () => {
  const id = await provisioned('s-1');
  const bare = await enter('s-1', {});
  const full = await enter('s-1', { groups: ['two-factors'] });
  await setChiefs(id);
  expect([await bare.isAdmin(), await full.isAdmin()]).toEqual([false, true]);
  expect((await bare.call('GET', '/users/me/second-factor')).body.awaited).toBe(true);
  // A factor that is shown here gives the role.
  const { secret } = (await bare.call('POST', '/users/me/totp')).body;
  expect((await bare.call('POST', '/users/me/totp/confirm', { code: totpCode(secret) })).status).toBe(200);
  expect(await bare.isAdmin()).toBe(true);

  // Another change does not ask again.
  await setChiefs();
  await setChiefs(id);
  expect([await bare.isAdmin(), await full.isAdmin()]).toEqual([true, true]);
  // Without the factor, only the session for which the issuer asked for one keeps the role.
  expect((await bare.call('DELETE', '/users/me/totp')).status).toBe(204);
  expect([await bare.isAdmin(), await full.isAdmin()]).toEqual([false, true]);
});

test('claims of a log-in give a role to other sessions only after a second factor', async () => {
  const bare = await enter('s-2', {});
  const full = await enter('s-2', { groups: ['Chiefs', 'two-factors'] });
  expect([await bare.isAdmin(), await full.isAdmin()]).toEqual([false, true]);
});

test('a session that was open before the account had its factor has not seen it', async () => {
  const user = await app.createUser({ roles: ['builder'] });
  await admin.patch(`/users/${user.id}`, { password: PASSWORD });
  const open = async (): Promise<Client> => {
    const reply = await app.anonymous.post('/auth/token', { username: user.username, password: PASSWORD });
    return createClient(app.url, reply.body.access_token);
  };
  const [former, own] = [await open(), await open()];
  const { secret } = (await own.post('/users/me/totp')).body;
  expect((await own.post('/users/me/totp/confirm', { code: await earlyTotpCode(secret) })).status).toBe(200);
  expect((await admin.patch(`/users/${user.id}`, { roles: ['admin'] })).status).toBe(200);
  expect((await former.get('/users')).status).toBe(403);
  expect((await own.get('/users')).status).toBe(200);
  expect((await former.post('/users/me/verify', { code: totpCode(secret) })).status).toBe(204);
  expect((await former.get('/users')).status).toBe(200);
});

const waits = (one: { awaits_second_factor: unknown }): unknown => one.awaits_second_factor;

/** A machine client, by a token from before each call and by a new one. */
async function machineOf({ client_id, client_secret }: Record<string, string>) {
  const grant = () =>
    app.anonymous.post('/auth/token', { grant_type: 'client_credentials', client_id, client_secret });
  const former = createClient(app.url, (await grant()).body.access_token);
  const isAdmin = async (): Promise<boolean[]> => {
    const now = createClient(app.url, (await grant()).body.access_token);
    return Promise.all([former, now].map(async (one) => (await one.get('/users')).status === 200));
  };
  return { former, isAdmin, grant };
}

test("tokens and machine clients have a viewer's rights until their user has a second factor", async () => {
  const user = await app.createUser({ roles: ['builder'] });
  const change = async (fields: object): Promise<void> => {
    expect((await admin.patch(`/users/${user.id}`, fields)).status).toBe(200);
  };
  await change({ password: PASSWORD });
  const { body } = await app.anonymous.post('/auth/token', { username: user.username, password: PASSWORD });
  const own = createClient(app.url, body.access_token);
  const made = await own.post('/users/me/clients', { name: 'robot' });
  const { former, isAdmin, grant } = await machineOf(made.body);
  const expires_at = new Date(Date.now() + 86_400_000).toISOString();
  const scopes = ['workflows:read', 'workflows:write'];
  const { token } = (await own.post('/users/me/tokens', { name: 't', scopes, expires_at })).body;
  const personal = createClient(app.url, token);
  /** Whether they may do what builders do: the definition is refused only after that. */
  const build = () =>
    Promise.all([former, personal].map(async (one) => (await one.post('/workflows', {})).status));
  const mayBuild = [422, 422];
  expect([await build(), await isAdmin()]).toEqual([mayBuild, [false, false]]);

  // Of the roles, none counts before the factor is set up, as in sessions.
  await change({ roles: ['builder', 'admin'] });
  expect([await build(), await isAdmin()]).toEqual([
    [403, 403],
    [false, false],
  ]);
  expect((await grant()).body.scope).toBe('viewer');
  // The lists of the user and of admins say so.
  for (const list of [`/users/${user.id}/clients`, `/users/${user.id}/tokens`, `/users/${user.id}/sessions`])
    expect([list, (await admin.get(list)).body.map(waits)]).toEqual([list, [true]]);
  for (const list of ['/users/me/clients', '/users/me/tokens', '/users/me/sessions'])
    expect([list, (await own.get(list)).body.map(waits)]).toEqual([list, [true]]);
  expect((await personal.get('/workflows')).status).toBe(200);
  expect((await personal.post('/workflows', {})).body).toMatchObject({
    code: 'role_required',
    detail: expect.stringContaining('until its user shows a second factor'),
  });
  // Without the role they go on.
  await change({ roles: ['builder'] });
  expect(await build()).toEqual(mayBuild);
  for (const list of ['/users/me/clients', '/users/me/tokens'])
    expect([list, (await own.get(list)).body.map(waits)]).toEqual([list, [false]]);
  await change({ roles: ['builder', 'admin'] });
  expect(await build()).toEqual([403, 403]);

  const { secret } = (await own.post('/users/me/totp')).body;
  expect((await own.post('/users/me/totp/confirm', { code: totpCode(secret) })).status).toBe(200);
  expect([await build(), await isAdmin()]).toEqual([mayBuild, [true, true]]);
  expect((await own.delete('/users/me/totp')).status).toBe(204);
  expect([await build(), await isAdmin()]).toEqual([
    [403, 403],
    [false, false],
  ]);
});

test('a second factor that the issuer has asked for once counts for machine clients, too', async () => {
  const ids = [await provisioned('s-3'), await provisioned('s-4')];
  const bare = await enter('s-3', {});
  const full = await enter('s-4', { groups: ['two-factors'] });
  const make = async ({ call }: Awaited<ReturnType<typeof enter>>) =>
    machineOf((await call('POST', '/users/me/clients', { name: 'robot' })).body);
  const [waiting, free] = [await make(bare), await make(full)];
  await setChiefs(...ids);
  expect([await waiting.isAdmin(), await free.isAdmin()]).toEqual([
    [false, false],
    [true, true],
  ]);
  // Later log-ins need not tell it again.
  await enter('s-4', {});
  await enter('s-3', { groups: ['two-factors'] });
  expect([await waiting.isAdmin(), await free.isAdmin()]).toEqual([
    [true, true],
    [true, true],
  ]);
});

/** What a session makes: a new program, by the path of its list. */
const NEW_PROGRAMS = {
  '/users/me/tokens': { name: 't', scopes: ['workflows:write'] },
  '/users/me/clients': { name: 'robot' },
};
type Call = (method: string, path: string, body?: object) => Promise<{ status: number; body: any }>;

/** Makes programs one after the other, each while `rise` gives the user a role; `fall` takes it again. */
async function makeWhile(call: Call, rise: () => Promise<unknown>, fall: () => Promise<unknown>) {
  const found: [string, string, boolean][] = [];
  for (const [path, fields] of Object.entries(NEW_PROGRAMS)) {
    const make = () => call('POST', path, { ...fields, expires_at: inOneHour() });
    const listed = async (): Promise<boolean[]> => (await call('GET', path)).body.map(waits);
    const [, made] = await meet(app, rise, make);
    found.push([path, 'role first', made.body.awaits_second_factor]);
    await fall();
    expect([made.status, await listed()]).toEqual([201, [false]]);
    const [other] = await meet(app, make, rise);
    expect([other.status, other.body.awaits_second_factor]).toEqual([201, false]);
    found.push([path, 'program first', (await listed()).every(Boolean)]);
    await fall();
  }
  return found;
}

const ALL_WAIT = Object.keys(NEW_PROGRAMS).flatMap((path) => [
  [path, 'role first', true],
  [path, 'program first', true],
]);

test('a token or client that is made while an admin gives its user a role waits from then on', async () => {
  const user = await app.createUser({ roles: ['builder'] });
  const own = await app.as(user);
  const call: Call = (method, path, body) => (method === 'GET' ? own.get(path) : own.post(path, body));
  const change = (roles: string[]) => async () => {
    expect((await admin.patch(`/users/${user.id}`, { roles })).status).toBe(200);
    // The session stands in for one that has seen a factor: the next program is made in it.
    if (!roles.includes('admin'))
      await app.orm.em
        .fork()
        .execute('update auth_session set awaits_second_factor = false where user_id = ?', [user.id]);
  };
  expect(await makeWhile(call, change(['builder', 'admin']), change(['builder']))).toEqual(ALL_WAIT);
});

test('a token or client that is made while its user gets a role by SCIM waits from then on', async () => {
  const id = await provisioned('s-5');
  const { call } = await enter('s-5', {});
  const fall = async () => {
    await setChiefs();
    await app.orm.em
      .fork()
      .execute('update auth_session set awaits_second_factor = false where user_id = ?', [id]);
  };
  await setChiefs();
  expect(await makeWhile(call, () => setChiefs(id), fall)).toEqual(ALL_WAIT);
});

test('the regular pass holds the accounts: a role that comes meanwhile is not lost', async () => {
  const user = await app.createUser({ roles: ['builder'] });
  const own = await app.as(user);
  const made = await own.post('/users/me/clients', { name: 'robot' });
  expect(made.body.awaits_second_factor).toBe(false);
  const em = app.orm.em.fork();
  const row = () =>
    em.execute<{ awaits_second_factor: boolean }[]>(
      'select awaits_second_factor from auth_client where id = ?',
      [made.body.id],
    );
  // As after a restart whose setting no longer names a role.
  await em.execute('update auth_client set awaits_second_factor = true where id = ?', [made.body.id]);
  const rise = async () => {
    expect((await admin.patch(`/users/${user.id}`, { roles: ['builder', 'admin'] })).status).toBe(200);
  };
  await meet(app, rise, () => settlePrograms(app.orm.em.fork(), 'of everybody', ['admin']));
  expect((await row()).map(waits)).toEqual([true]);
});

test('a second factor of an identity that is unlinked counts no more for machine clients', async () => {
  const user = await app.createUser({ roles: ['builder'] });
  await admin.patch(`/users/${user.id}`, { password: PASSWORD });
  const issuer = (await admin.get('/identity-issuers')).body[0].id;
  const link = { issuer_id: issuer, subject: 's-6' };
  const linked = await admin.post(`/users/${user.id}/identities`, link);
  expect(linked.status).toBe(201);
  const full = await enter('s-6', { groups: ['two-factors'] });
  const made = await full.call('POST', '/users/me/clients', { name: 'robot' });
  await admin.patch(`/users/${user.id}`, { roles: ['builder', 'admin'] });
  const listed = async () => (await admin.get(`/users/${user.id}/clients`)).body.map(waits);
  expect([made.status, await listed()]).toEqual([201, [false]]);
  expect((await admin.delete(`/users/${user.id}/identities/${linked.body.id}`)).status).toBe(204);
  expect(await listed()).toEqual([true]);
});
