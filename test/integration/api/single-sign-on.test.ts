/** Log-in by external issuers, against a real one. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import { applySettingsIssuer, type SettingsIssuer } from '../../../domain/identity/settings-issuer.ts';
import { createClient, startTestApp, type Client, type TestApp } from '../../support/app.ts';
import { until } from '../../support/platform.ts';
import { Browser, CLIENT_ID, CLIENT_SECRET, startIssuer, type TestIssuer } from '../../support/issuer.ts';
import { earlyTotpCode, totpCode } from '../../support/totp.ts';

let app: TestApp;
let admin: Client;
let corp: TestIssuer;
let partner: TestIssuer;

const roleRule = (value: string, role: string) => ({ claim: 'roles', value, roles: [role] });
const mapping = { roles: [roleRule('staff', 'viewer'), roleRule('chief', 'admin')] };

beforeAll(async () => {
  app = await startTestApp({ env: { EGRESS_ALLOW: '127.0.0.1' }, keepsCallers: 'without news' });
  admin = await app.as('admin');
  const callback = (name: string) => ({ redirectUris: [`${app.url}/auth/sso/${name}/callback`] });
  corp = await startIssuer({
    ...callback('corp'),
    client: {
      backchannel_logout_uri: `${app.url}/auth/sso/corp/logout`,
      backchannel_logout_session_required: true,
    },
  });
  partner = await startIssuer(callback('partner'));
  await addIssuer('corp', corp.url, { mapping });
  await addIssuer('partner', partner.url, { mapping: { default_roles: ['approver'] } });
});

afterAll(async () => {
  await Promise.all([corp.close(), partner.close()]);
  await app.close();
});

async function addIssuer(name: string, issuer: string, more: object = {}): Promise<string> {
  const body = {
    name,
    title: `The ${name}`,
    issuer,
    client_id: CLIENT_ID,
    client_secret: CLIENT_SECRET,
    ...more,
  };
  const reply = await admin.post('/identity-issuers', body);
  expect(reply).toMatchObject({ status: 201, body: { name, has_secret: true, enabled: true } });
  return reply.body.id;
}

/** Logs in at an issuer, back to the console. */
async function logIn(
  name: string,
  { browser = new Browser(), to = '/console/runs?q=a' }: { browser?: Browser; to?: string } = {},
) {
  const begin = `${app.url}/auth/sso/${name}?${new URLSearchParams({ return_to: to }).toString()}`;
  const walk = await browser.follow(begin, (url) => url === app.url + to);
  return { browser, ...walk };
}

async function whoIs(browser: Browser) {
  const response = await browser.visit(`${app.url}/console/session`);
  return response.status === 200 ? JSON.parse(await response.text()) : null;
}

test('the first log-in makes the account, with roles and groups of the claims', async () => {
  corp.account = {
    sub: 'c-1',
    preferred_username: 'Ada.Lovelace@corp.example',
    name: 'Ada Lovelace',
    email: 'ada@corp.example',
    roles: ['staff', 'unknown'],
    groups: ['finance', 'eu:legal'],
  };
  const { browser, url, response } = await logIn('corp');
  expect(url).toBe(`${app.url}/console/runs?q=a`);
  expect(response.headers.getSetCookie().join()).toMatch(
    /cadenza=[\w-]{40,}; Path=\/; .*HttpOnly; SameSite=Strict/,
  );
  expect(await whoIs(browser)).toMatchObject({
    username: 'Ada.Lovelace',
    display_name: 'Ada Lovelace',
    email: 'ada@corp.example',
    roles: ['viewer'],
    groups: ['corp:eu:legal', 'corp:finance'],
    has_password: false,
  });
});

test('each log-in has a challenge of its own, which the issuer demands', async () => {
  const challenge = async (): Promise<URLSearchParams> => {
    const begun = await new Browser().visit(`${app.url}/auth/sso/corp`);
    return new URL(begun.headers.get('location') ?? '').searchParams;
  };
  const [first, second] = [await challenge(), await challenge()];
  expect(first.get('code_challenge_method')).toBe('S256');
  expect(first.get('code_challenge')).toMatch(/^[\w-]{43}$/);
  expect(second.get('code_challenge')).not.toBe(first.get('code_challenge'));
  const address = new URL(`${corp.url}/auth`);
  first.delete('code_challenge');
  first.delete('code_challenge_method');
  address.search = first.toString();
  const refused = await new Browser().visit(address.href);
  expect(refused.headers.get('location')).toContain('error=invalid_request');
});

test('each log-in maps the claims anew, and those without a role are refused and logged out', async () => {
  corp.account = { sub: 'c-2', preferred_username: 'grace', roles: ['staff'], groups: ['ops'] };
  const first = await logIn('corp');
  const { id } = await whoIs(first.browser);
  corp.account = { sub: 'c-2', preferred_username: 'other', roles: ['chief'], groups: [] };
  const second = await logIn('corp');
  expect(await whoIs(second.browser)).toMatchObject({ id, username: 'grace', roles: ['admin'], groups: [] });
  corp.account = { sub: 'c-2', preferred_username: 'grace', roles: [] };
  const third = await logIn('corp');
  expect(third.response.status).toBe(403);
  expect(third.text).toContain('None of your rights at The corp gives you access');
  expect([await whoIs(first.browser), await whoIs(second.browser)]).toEqual([null, null]);
});

test('nobody gets an account without a role, and no account of the same name or e-mail address', async () => {
  corp.account = { sub: 'c-3', preferred_username: 'mallory', roles: [] };
  const refused = await logIn('corp');
  expect(refused.response.status).toBe(403);
  expect((await admin.get('/users?q=mallory')).body).toEqual([]);

  const local = await app.createUser({ username: 'linus', roles: ['admin'] });
  corp.account = { sub: 'c-4', preferred_username: 'linus', email: 'linus@example.com', roles: ['staff'] };
  const { browser } = await logIn('corp');
  const own = await whoIs(browser);
  expect(own).toMatchObject({ username: 'linus-2', email: 'linus-2@corp.invalid', roles: ['viewer'] });
  expect(own.id).not.toBe(local.id);
});

test('refused log-ins, new accounts and changed roles are in the audit log', async () => {
  const actions = async (id: string) =>
    (await admin.get(`/audit?object_id=${id}`)).body.map(({ action }: { action: string }) => action);
  corp.account = { sub: 'c-20', preferred_username: 'audited', roles: ['staff'] };
  const { id } = await whoIs((await logIn('corp')).browser);
  corp.account = { sub: 'c-20', preferred_username: 'audited', roles: ['chief'] };
  await logIn('corp');
  expect(await actions(id)).toEqual(['issuer_change_access', 'issuer_change_access', 'issuer_create_user']);
  corp.account = { sub: 'c-20', preferred_username: 'audited', roles: [] };
  await logIn('corp');
  const [refused] = (await admin.get('/audit?action=log_in&outcome=refused')).body;
  expect(refused).toMatchObject({
    actor: { id },
    details: { by: 'issuer', issuer: 'corp', code: 'no_roles' },
  });
});

test('a role that needs a second factor gets it from the issuer, or shows one here', async () => {
  const strict = await startTestApp({ env: { EGRESS_ALLOW: '127.0.0.1', SECOND_FACTOR_ROLES: 'builder' } });
  const issuer = await startIssuer({ redirectUris: [`${strict.url}/auth/sso/idp/callback`] });
  const rule = { claim: 'groups', value: 'two-factors' };
  const reply = await (
    await strict.as('admin')
  ).post('/identity-issuers', {
    name: 'idp',
    title: 'Idp',
    issuer: issuer.url,
    client_id: CLIENT_ID,
    client_secret: CLIENT_SECRET,
    mapping: { default_roles: ['builder'], second_factor: rule },
  });
  expect(reply.status).toBe(201);
  const enter = async (groups: string[]) => {
    issuer.account = { sub: 's-1', preferred_username: 'sue', groups };
    const browser = new Browser();
    await browser.follow(`${strict.url}/auth/sso/idp?fresh=true`, (url) => url.endsWith('/console/'));
    const call = async (method: string, path: string, body?: object) => {
      const response = await browser.visit(strict.url + path, 'same-origin', {
        method,
        ...(body && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
      });
      const text = await response.text();
      return { status: response.status, body: text === '' ? null : JSON.parse(text) };
    };
    // A builder's request is refused for its body only.
    const isBuilder = async () => (await call('POST', '/agents', {})).status !== 403;
    return { call, isBuilder };
  };
  const full = await enter(['two-factors']);
  expect(await full.isBuilder()).toBe(true);
  const bare = await enter([]);
  expect(await bare.isBuilder()).toBe(false);
  const client = { name: 'robot' };
  expect((await bare.call('POST', '/users/me/clients', client)).body.code).toBe('second_factor_required');
  const { secret } = (await bare.call('POST', '/users/me/totp')).body;
  const early = await earlyTotpCode(secret);
  expect((await bare.call('POST', '/users/me/totp/confirm', { code: early })).status).toBe(200);
  expect(await bare.isBuilder()).toBe(true);

  const later = await enter([]);
  const factors = await later.call('GET', '/users/me/second-factor');
  expect([await later.isBuilder(), factors.body.awaited]).toEqual([false, true]);
  expect((await later.call('DELETE', '/users/me/totp')).body.code).toBe('second_factor_required');
  expect((await later.call('POST', '/users/me/verify', { code: totpCode(secret) })).status).toBe(204);
  expect(await later.isBuilder()).toBe(true);
  await issuer.close();
  await strict.close();
});

test('the same subject at two issuers is two people', async () => {
  corp.account = { sub: 'same', preferred_username: 'sam', roles: ['staff'] };
  partner.account = { sub: 'same', preferred_username: 'sam', groups: ['finance'] };
  const [left, right] = [
    await whoIs((await logIn('corp')).browser),
    await whoIs((await logIn('partner')).browser),
  ];
  expect(left.id).not.toBe(right.id);
  expect(right).toMatchObject({ username: 'sam-2', roles: ['approver'], groups: ['partner:finance'] });
});

test('a log-in leads back to our own pages only', async () => {
  corp.account = { sub: 'c-1', preferred_username: 'ada', roles: ['staff'] };
  const targets = ['https://evil.example/', '//evil.example/', '/\\evil.example', '/auth/token', 'console'];
  for (const to of targets) {
    const browser = new Browser();
    const begin = `${app.url}/auth/sso/corp?${new URLSearchParams({ return_to: to }).toString()}`;
    const walk = await browser.follow(begin, (url) => url === `${app.url}/console/`);
    expect([to, walk.url]).toEqual([to, `${app.url}/console/`]);
  }
});

test('only the browser that began a log-in completes it, and only once', async () => {
  corp.account = { sub: 'c-1', preferred_username: 'ada', roles: ['staff'] };
  const victim = new Browser();
  const attacker = new Browser();
  const isCallback = (url: string): boolean => url.includes('/callback');
  const { url } = await attacker.follow(`${app.url}/auth/sso/corp`, isCallback);
  const forged = await victim.visit(url, 'cross-site');
  expect([forged.status, await whoIs(victim)]).toEqual([400, null]);
  const begun = await victim.follow(`${app.url}/auth/sso/corp`, isCallback);
  const mixed = new URL(begun.url);
  mixed.searchParams.set('code', new URL(url).searchParams.get('code') ?? '');
  expect((await victim.visit(mixed.href, 'cross-site')).status).toBe(403);
  expect((await victim.visit(begun.url, 'cross-site')).status).toBe(400);
  expect((await attacker.visit(url, 'cross-site')).status).toBe(303);
  expect((await attacker.visit(url, 'cross-site')).status).toBe(400);
  const foreign = await new Browser().visit(`${app.url}/auth/sso/corp`, 'cross-site');
  expect(foreign.headers.get('location')).toBe('/console/');
  expect(foreign.headers.getSetCookie()).toEqual([]);
});

test('an answer of one issuer is not taken for that of another', async () => {
  corp.account = { sub: 'c-1', preferred_username: 'ada', roles: ['staff'] };
  const browser = new Browser();
  const { url } = await browser.follow(`${app.url}/auth/sso/corp`, (at) => at.includes('/callback'));
  const elsewhere = url.replace('/sso/corp/', '/sso/partner/');
  expect((await browser.visit(elsewhere, 'cross-site')).status).toBe(400);
  const again = await browser.follow(`${app.url}/auth/sso/corp`, (at) => at.includes('/callback'));
  const mixedUp = new URL(again.url);
  mixedUp.searchParams.set('iss', partner.url);
  const answer = await browser.visit(mixedUp.href, 'cross-site');
  expect([answer.status, await whoIs(browser)]).toEqual([403, null]);
});

test('new keys of an issuer are found, and unknown ones are looked for with a bound', async () => {
  corp.account = { sub: 'c-1', preferred_username: 'ada', roles: ['staff'] };
  await logIn('corp');
  await corp.rotateKeys();
  const before = corp.keyReads();
  await until(
    async () => (await logIn('corp')).response.status,
    (status) => status === 303,
  );
  expect(corp.keyReads() - before).toBeLessThanOrEqual(2);
});

test('a user links and unlinks an identity, and logs in by it', async () => {
  const { browser, id } = await passwordSession('linked-user');
  partner.account = { sub: 'p-9', preferred_username: 'whoever', groups: ['ops'] };
  const linked = await link(browser, 'partner');
  expect(linked.url).toBe(`${app.url}/console/settings/profile`);
  const byIssuer = await logIn('partner');
  expect(await whoIs(byIssuer.browser)).toMatchObject({ id, roles: ['builder'], groups: ['partner:ops'] });

  const other = await passwordSession('another-user');
  expect((await link(other.browser, 'partner')).text).toContain('belongs to an account already');

  const [identity] = await json(await browser.visit(`${app.url}/users/me/identities`));
  expect(identity).toMatchObject({ issuer_name: 'partner', subject: 'p-9', label: 'whoever' });
  const unlink = `${app.url}/users/me/identities/${identity.id}`;
  expect((await browser.visit(unlink, 'same-origin', { method: 'DELETE' })).status).toBe(204);
  expect(await whoIs(byIssuer.browser)).toBeNull();
  expect(await whoIs(browser)).toMatchObject({ id, groups: [] });
});

test('a password is switched off only beside an identity, and never the last administrator’s', async () => {
  const { browser, id } = await passwordSession('no-password');
  const off = () => browser.visit(`${app.url}/users/me/password`, 'same-origin', { method: 'DELETE' });
  expect(await json(await off())).toMatchObject({ code: 'last_log_in' });
  partner.account = { sub: 'p-10', preferred_username: 'nopass' };
  await link(browser, 'partner');
  expect((await off()).status).toBe(204);
  const back = await logIn('partner');
  expect(await whoIs(back.browser)).toMatchObject({ id, has_password: false });
  const credentials = { username: 'no-password', password: PASSWORD };
  expect((await app.anonymous.post('/auth/token', credentials)).status).toBe(401);
  const [identity] = await json(await back.browser.visit(`${app.url}/users/me/identities`));
  expect((await admin.delete(`/users/${id}/identities/${identity.id}`)).body.code).toBe('last_log_in');

  const others = (await admin.get('/users?role=admin&limit=200')).body as {
    id: string;
    has_password: boolean;
  }[];
  const me = await app.user('admin');
  for (const one of others.filter((user) => user.has_password && user.id !== me.id))
    expect((await admin.patch(`/users/${one.id}`, { password: null })).status).toBe(200);
  for (const change of [{ password: null }, { status: 'disabled' }, { roles: ['viewer'] }])
    expect((await admin.patch(`/users/${me.id}`, change)).body.code).toBe('last_admin');
});

test('the command line logs in by an issuer; without a password a second factor is the proof', async () => {
  partner.account = { sub: 'p-11', preferred_username: 'by-code' };
  const browser = new Browser();
  await browser.follow(`${app.url}/auth/sso/partner?fresh=true`, (url) => url.endsWith('/console/'));
  const device = await logInDevice(browser);
  const me = (await device.get('/users/me')).body;
  expect(me).toMatchObject({ username: 'by-code', has_password: false, roles: ['approver'] });
  const create = () => device.post('/users/me/clients', { name: 'robot' });
  expect((await create()).body.code).toBe('login_too_old');
  const guess = { password: PASSWORD };
  expect((await device.post('/users/me/verify', guess)).body.code).toBe('wrong_proof');

  const set = await browser.visit(`${app.url}/users/me/totp`, 'same-origin', { method: 'POST' });
  const { secret } = await json(set);
  const { recovery_codes: codes } = await json(
    await postJson(browser, '/users/me/totp/confirm', { code: totpCode(secret) }),
  );
  expect((await device.post('/users/me/verify', { recovery_code: codes[0] })).status).toBe(204);
  expect((await create()).status).toBe(201);
  expect((await logIn('partner')).response.status).toBe(303);
});

test('local groups cannot pass for those of an issuer, which decides on the roles it gave', async () => {
  const wrong = await admin.patch(`/users/${(await app.user('viewer')).id}`, { groups: ['corp:finance'] });
  expect(wrong.body.errors).toMatchObject([{ pointer: '/groups/0', code: 'group_of_issuer' }]);
  corp.account = { sub: 'c-1', preferred_username: 'ada', roles: ['staff'], groups: ['finance'] };
  const { id } = await whoIs((await logIn('corp')).browser);
  expect((await admin.patch(`/users/${id}`, { roles: ['admin'] })).body.code).toBe('managed_by_issuer');
  const kept = await admin.patch(`/users/${id}`, { groups: ['local', 'corp:finance'] });
  expect(kept.body.groups).toEqual(['local', 'corp:finance']);
  expect((await whoIs((await logIn('corp')).browser)).groups.toSorted()).toEqual(['corp:finance', 'local']);
});

test('log-out ends the session at the issuer too, and the issuer ends sessions here', async () => {
  corp.account = { sub: 'c-7', preferred_username: 'leaver', roles: ['staff'] };
  const { browser } = await logIn('corp');
  const second = await logIn('corp');
  const out = await browser.visit(`${app.url}/console/session`, 'same-origin', { method: 'DELETE' });
  const { log_out_url: url } = await json(out);
  expect(url).toMatch(new RegExp(`^${corp.url}/session/end\\?.*id_token_hint=`));
  expect(await whoIs(browser)).toBeNull();
  expect(await whoIs(second.browser)).not.toBeNull();
  // The issuer asks, and then tells us by the back channel.
  const page = await second.browser.visit(`${corp.url}/session/end`, 'none');
  const xsrf = /name="xsrf" value="(\w+)"/.exec(await page.text())?.[1] ?? '';
  const confirmed = await second.browser.visit(`${corp.url}/session/end/confirm`, 'same-origin', {
    method: 'POST',
    body: new URLSearchParams({ xsrf, logout: 'yes' }),
  });
  expect([xsrf !== '', confirmed.status]).toEqual([true, 303]);
  expect(await whoIs(second.browser)).toBeNull();
});

test('a disabled issuer ends its sessions, a removed one leaves its users without its groups', async () => {
  const extra = await startIssuer({ redirectUris: [`${app.url}/auth/sso/extra/callback`] });
  const id = await addIssuer('extra', extra.url, { mapping: { default_roles: ['viewer'] } });
  expect((await admin.post(`/identity-issuers/${id}/check`, {})).body).toMatchObject({ keys: 1 });
  extra.account = { sub: 'e-1', preferred_username: 'eve', groups: ['x'] };
  const { browser } = await logIn('extra');
  const eve = await whoIs(browser);
  const device = await logInDevice(browser);
  expect((await device.get('/users/me')).body.id).toBe(eve.id);
  expect((await admin.patch(`/identity-issuers/${id}`, { enabled: false })).status).toBe(200);
  expect(await whoIs(browser)).toBeNull();
  expect((await device.get('/users/me')).status).toBe(401);
  expect((await logIn('extra')).response.status).toBe(404);
  expect(
    (await app.anonymous.get('/auth/issuers')).body.issuers.map(({ name }: { name: string }) => name),
  ).toEqual(['corp', 'partner']);
  expect((await admin.delete(`/identity-issuers/${id}`)).status).toBe(204);
  expect((await admin.get(`/users/${eve.id}`)).body).toMatchObject({ groups: [], issuer_id: null });
  await extra.close();
});

test('access tokens of an issuer are those of an account that an administrator names', async () => {
  const audience = 'https://cadenza.example';
  const robots = await startIssuer({
    redirectUris: [`${app.url}/auth/sso/robots/callback`],
    clients: ['robot', 'stranger'].map((id) => ({
      client_id: id,
      client_secret: CLIENT_SECRET,
      grant_types: ['client_credentials'],
      redirect_uris: [],
      response_types: [],
    })),
    features: {
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_ctx: unknown, resource: string) => ({
          scope: 'api',
          audience: resource,
          accessTokenFormat: 'jwt',
        }),
      },
    },
  });
  const id = await addIssuer('robots', robots.url, { audiences: [audience] });
  const account = await app.createUser({ username: 'the-robot', roles: ['builder'], groups: ['bots'] });
  const tokenOf = async (client: string, resource = audience): Promise<string> => {
    const response = await fetch(`${robots.url}/token`, {
      method: 'POST',
      headers: {
        authorization: `Basic ${btoa(`${client}:${encodeURIComponent(CLIENT_SECRET)}`)}`,
      },
      body: new URLSearchParams({ grant_type: 'client_credentials', resource }),
    });
    return (await json(response)).access_token;
  };
  const token = await tokenOf('robot');
  const call = async (bearer: string) => (await createClient(app.url, bearer).get('/users/me')).status;
  expect(await call(token)).toBe(401);
  const machine = { name: 'robot', user_id: account.id, claims: { client_id: 'robot' } };
  const made = await admin.post(`/identity-issuers/${id}/machines`, machine);
  expect(made.status).toBe(201);
  const again = await admin.post(`/identity-issuers/${id}/machines`, { ...machine, name: 'another' });
  expect([again.status, again.body.code]).toEqual([409, 'claims_taken']);
  await admin.patch(`/identity-issuers/${id}`, { audiences: [] });
  const useless = { ...machine, claims: { client_id: 'other' } };
  const refused = await admin.post(`/identity-issuers/${id}/machines`, useless);
  expect([refused.status, refused.body.errors?.[0]?.code]).toEqual([422, 'no_audiences']);
  await admin.patch(`/identity-issuers/${id}`, { audiences: [audience] });
  const robot = createClient(app.url, token);
  expect((await robot.get('/users/me')).body).toMatchObject({ id: account.id, groups: ['bots'] });
  expect((await robot.post('/users/me/clients', { name: 'x' })).body.code).toBe('person_required');
  expect((await robot.get('/agents')).status).toBe(200);
  const forged = `${token.slice(0, -8)}AAAAAAAA`;
  for (const wrong of [await tokenOf('stranger'), await tokenOf('robot', 'https://other.example'), forged])
    expect(await call(wrong)).toBe(401);
  await admin.delete(`/identity-issuers/${id}/machines/${made.body.id}`);
  await until(
    () => call(token),
    (status) => status === 401,
  );
  const wrong = await admin.post(`/identity-issuers/${id}/machines`, { ...machine, scopes: ['all'] });
  expect(wrong.status).toBe(422);
  // Of the account that it acts for, not of the administrator who registers it.
  const beyond = await admin.post(`/identity-issuers/${id}/machines`, { ...machine, scopes: ['admin'] });
  expect([beyond.status, beyond.body.errors?.[0]?.pointer]).toEqual([422, '/scopes/0']);
  const limited = { ...machine, scopes: ['runs:read'] };
  const narrow = await admin.post(`/identity-issuers/${id}/machines`, limited);
  expect(narrow.body).toMatchObject({ scopes: ['runs:read'] });
  expect((await robot.get('/runs')).status).toBe(200);
  expect((await robot.get('/agents')).body).toMatchObject({
    code: 'insufficient_scope',
    scope: 'agents:read',
  });
  expect((await admin.delete(`/identity-issuers/${id}`)).status).toBe(204);
  await robots.close();
});

test('the settings define one issuer, which only they change', async () => {
  const settings = {
    ...app.env,
    OIDC_ISSUER: 'https://settings.example',
    OIDC_CLIENT_ID: 'cadenza',
    OIDC_SECOND_FACTOR: { claim: 'acr', value: 'gold' },
  };
  const { encryption } = app.app.deps;
  const apply = (env: SettingsIssuer) =>
    app.orm.em.fork().transactional((em) => applySettingsIssuer(em, encryption, env));
  await Promise.all([apply(settings), apply({ ...settings, OIDC_TITLE: 'the company' })]);
  const find = async () =>
    (await admin.get('/identity-issuers')).body.find(({ name }: { name: string }) => name === 'oidc');
  const found = await find();
  expect(found).toMatchObject({ from_settings: true, client_id: 'cadenza', enabled: true });
  expect(found.mapping.second_factor).toEqual({ claim: 'acr', value: 'gold' });
  const path = `/identity-issuers/${found.id}`;
  for (const reply of [await admin.patch(path, { enabled: false }), await admin.delete(path)])
    expect(reply.body.code).toBe('from_settings');
  const entriesOf = async () =>
    (await admin.get(`/audit?object_id=${found.id}`)).body
      .filter(({ via }: { via: string }) => via === 'system')
      .map(({ action, fields }: { action: string; fields: string[] }) => [action, fields.includes('title')]);
  const [latest, ...first] = await entriesOf();
  expect([latest, first]).toEqual([['updateIssuer', true], [['createIssuer', true]]]);
  // A start with the same settings changes nothing.
  await apply({ ...settings, OIDC_TITLE: found.title });
  expect(await entriesOf()).toHaveLength(2);
  await apply({ ...settings, OIDC_TITLE: found.title, OIDC_CLIENT_SECRET: 'a new secret' });
  expect(await entriesOf()).toHaveLength(3);
  await apply({ ...settings, OIDC_ISSUER: undefined });
  expect(await entriesOf()).toHaveLength(4);
  expect(await find()).toMatchObject({ from_settings: false });
  expect((await admin.delete(path)).status).toBe(204);
});

const PASSWORD = 'a long enough password';

async function passwordSession(username: string): Promise<{ browser: Browser; id: string }> {
  const body = { username, email: `${username}@example.com`, roles: ['builder'], password: PASSWORD };
  const { id } = (await admin.post('/users', body)).body;
  const browser = new Browser();
  await browser.visit(`${app.url}/console/session`, 'same-origin', {
    method: 'POST',
    body: JSON.stringify({ username, password: PASSWORD }),
    headers: { 'content-type': 'application/json' },
  });
  return { browser, id };
}

function postJson(browser: Browser, path: string, body: object): Promise<Response> {
  const headers = { 'content-type': 'application/json' };
  return browser.visit(app.url + path, 'same-origin', {
    method: 'POST',
    body: JSON.stringify(body),
    headers,
  });
}

/** As the command line does, whose code a browser approves. */
async function logInDevice(browser: Browser): Promise<Client> {
  const post = (path: string, fields: Record<string, string>) =>
    app.anonymous.post(path, new URLSearchParams(fields).toString(), {
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
  const { device_code, user_code } = (await post('/auth/device', { client_id: 'cadenza' })).body;
  const decided = await postJson(browser, '/auth/device/decision', { user_code, decision: 'approve' });
  expect(decided.status).toBe(204);
  const grantType = 'urn:ietf:params:oauth:grant-type:device_code';
  return createClient(
    app.url,
    (await post('/auth/token', { grant_type: grantType, device_code })).body.access_token,
  );
}

async function link(browser: Browser, issuer: string) {
  const { url } = await json(await postJson(browser, '/users/me/identities', { issuer }));
  return browser.follow(url, (at) => at.endsWith('/console/settings/profile'));
}

async function json(response: Response) {
  return JSON.parse(await response.text());
}
