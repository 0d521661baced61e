/**
 * A session that is opened while its user gets a role that needs a second factor does not have the role
 * without one, whichever of the two comes first.
 */
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import { applySettingsClient } from '../../domain/oauth/settings-client.ts';
import { createClient, startTestApp, type Client, type Reply, type TestApp } from '../support/app.ts';
import { cookiesOf, fromOwnPage, logInBrowser, sessionCookie, withHeaders } from '../support/browser.ts';
import { Browser, CLIENT_ID, CLIENT_SECRET, startIssuer, type TestIssuer } from '../support/issuer.ts';
import { meet } from '../support/meeting-requests.ts';
import { authorize, authorizePath, comesBack, postForm, redeem } from '../support/oauth-client.ts';
import { earlyTotpCode, totpCode } from '../support/totp.ts';

const PASSWORD = 'correct horse battery';
const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';
const UI = { callback: 'https://temporal.example.com/auth/sso/callback', secret: 's'.repeat(40) };
let app: TestApp;
let admin: Client;
let corp: TestIssuer;
let issuerId: string;

beforeAll(async () => {
  app = await startTestApp({
    env: {
      EGRESS_ALLOW: '127.0.0.1',
      SECOND_FACTOR_ROLES: 'admin',
      OAUTH_CLIENTS_PER_ADDRESS: '1000',
      TEMPORAL_UI_URL: new URL(UI.callback).origin,
      TEMPORAL_UI_CLIENT_SECRET: UI.secret,
    },
  });
  await applySettingsClient(app.orm.em.fork(), app.env);
  admin = await app.as('admin');
  corp = await startIssuer({ redirectUris: [`${app.url}/auth/sso/corp/callback`] });
  const { body } = await admin.post('/identity-issuers', {
    name: 'corp',
    title: 'Corp',
    issuer: corp.url,
    client_id: CLIENT_ID,
    client_secret: CLIENT_SECRET,
  });
  issuerId = body.id;
});
afterAll(async () => {
  await corp.close();
  await app.close();
});

interface Person {
  id: string;
  username: string;
  /** A session that is open already. */
  page: Client;
  rise: () => Promise<void>;
  fall: () => Promise<void>;
}

async function person(): Promise<Person> {
  const user = await app.createUser({ roles: ['builder'] });
  const change = async (fields: object): Promise<void> => {
    expect((await admin.patch(`/users/${user.id}`, fields)).status).toBe(200);
  };
  await change({ password: PASSWORD });
  const link = { issuer_id: issuerId, subject: user.username };
  expect((await admin.post(`/users/${user.id}/identities`, link)).status).toBe(201);
  const cookie = await sessionCookie(app, user);
  return {
    id: user.id,
    username: user.username,
    page: withHeaders(createClient(app.url), { ...fromOwnPage, cookie }),
    rise: () => change({ roles: ['builder', 'admin'] }),
    fall: () => change({ roles: ['builder'] }),
  };
}

const form = (fields: Record<string, string>) => postForm(app.anonymous, '/auth/token', fields);
/** Whether a session may do what builders do, and not just a viewer: the definition is refused after that. */
type MayBuild = () => Promise<boolean>;
const buildingBy =
  (client: Client): MayBuild =>
  async () => {
    const { status } = await client.post('/workflows', {});
    expect([403, 422]).toContain(status);
    return status === 422;
  };
const byToken = ({ body }: Reply): MayBuild => buildingBy(createClient(app.url, body.access_token));

type Opening = () => Promise<MayBuild>;

/** Ways to a session: each does what comes before, and returns the request that opens it. */
const WAYS: Record<string, (who: Person) => Promise<Opening>> = {
  'a password':
    async ({ username }) =>
    async () =>
      byToken(await app.anonymous.post('/auth/token', { username, password: PASSWORD })),
  'a password in a browser':
    async ({ username }) =>
    async () => {
      const cookie = cookiesOf(await logInBrowser(app.url, username, PASSWORD));
      return buildingBy(withHeaders(createClient(app.url), { ...fromOwnPage, cookie }));
    },
  'an issuer':
    async ({ username }) =>
    async () => {
      corp.account = { sub: username };
      const browser = new Browser();
      await browser.follow(`${app.url}/auth/sso/corp?fresh=true`, (url) => url === `${app.url}/console/`);
      const headers = { 'content-type': 'application/json' };
      return async () =>
        (await browser.visit(`${app.url}/workflows`, 'same-origin', { method: 'POST', body: '{}', headers }))
          .status === 422;
    },
  'the device flow': async ({ page }) => {
    const { device_code, user_code } = (await postForm(app.anonymous, '/auth/device', {})).body;
    const decided = await page.post('/auth/device/decision', { user_code, decision: 'approve' });
    expect(decided.status).toBe(204);
    return async () => byToken(await form({ grant_type: DEVICE_GRANT, device_code }));
  },
  'the code of an OAuth client': async ({ page }) => {
    const flow = await authorize(app, page, { scope: 'admin' });
    return async () => byToken(await redeem(app, flow));
  },
};

test.each(Object.entries(WAYS))('a session by %s', async (_way, begin) => {
  const who = await person();
  const found: [string, boolean][] = [];
  expect(await (await (await begin(who))())()).toBe(true);
  const open = await begin(who);
  const [, late] = await meet(app, who.rise, open);
  found.push(['the role first', await late()]);
  await who.fall();
  const again = await begin(who);
  const [early] = await meet(app, again, who.rise);
  found.push(['the session first', await early()]);
  expect(found).toEqual([
    ['the role first', false],
    ['the session first', false],
  ]);
  // It was opened, and waits only for the factor.
  const sessions = (await admin.get(`/users/${who.id}/sessions`)).body as { awaits_second_factor: boolean }[];
  expect(sessions.length).toBeGreaterThanOrEqual(4);
  expect(sessions.every((one) => one.awaits_second_factor)).toBe(true);
});

test('a refresh that meets the role tells, and gives, no more than a viewer has', async () => {
  const { username, rise } = await person();
  const { body } = await app.anonymous.post('/auth/token', { username, password: PASSWORD });
  expect(body.scope).toBe('builder');
  const refresh = { grant_type: 'refresh_token', refresh_token: body.refresh_token };
  const [, renewed] = await meet(app, rise, () => form(refresh));
  expect([renewed.status, renewed.body.scope, await byToken(renewed)()]).toEqual([200, 'viewer', false]);
});

/** An administrator with an authenticator app, whose codes of now and of the next period are unused. */
async function proven() {
  const who = await person();
  const { secret } = (await who.page.post('/users/me/totp')).body;
  const early = await earlyTotpCode(secret);
  expect((await who.page.post('/users/me/totp/confirm', { code: early })).status).toBe(200);
  await who.rise();
  expect((await who.page.get('/users')).status).toBe(200);
  const reset = () => admin.delete(`/users/${who.id}/second-factor`);
  return { ...who, secret, reset };
}

test('a second step that meets the removal of the factor', async () => {
  const begun = async () => {
    const who = await proven();
    const first = await app.anonymous.post('/auth/token', { username: who.username, password: PASSWORD });
    expect(first.body.code).toBe('mfa_required');
    const step = { grant_type: 'second_factor', challenge: first.body.challenge };
    const complete = () => app.anonymous.post('/auth/token', { ...step, code: totpCode(who.secret) });
    return { ...who, complete };
  };
  const one = await begun();
  const [removed, late] = await meet(app, one.reset, one.complete);
  expect([removed.status, late.status]).toEqual([204, 401]);
  const other = await begun();
  const [early] = await meet(app, other.complete, other.reset);
  expect([early.status, await byToken(early)()]).toEqual([200, false]);
});

test('a step-up that meets the removal of the factor', async () => {
  for (const isFirst of [true, false]) {
    const { page, secret, reset } = await proven();
    const verify = () => page.post('/users/me/verify', { code: totpCode(secret) });
    if (isFirst) expect((await meet(app, verify, reset)).map(({ status }) => status)).toEqual([204, 204]);
    else expect((await meet(app, reset, verify))[1].status).toBe(403);
    expect((await page.get('/users')).status).toBe(403);
  }
});

test("Temporal's web UI gets no tokens by a session that waits, nor new ones", async () => {
  const ask = async (page: Client): Promise<Reply> => {
    const fields = { response_type: 'code', client_id: 'temporal-ui', scope: 'openid' };
    return page.get(
      authorizePath({ ...fields, redirect_uri: UI.callback, state: 's', nonce: 'n', resumed: 'true' }),
    );
  };
  const client = { client_id: 'temporal-ui', client_secret: UI.secret };
  const redeemUi = async (reply: Reply): Promise<Reply> => {
    const code = comesBack(reply)['code'] ?? '';
    return form({ grant_type: 'authorization_code', code, redirect_uri: UI.callback, ...client });
  };
  const { page, reset } = await proven();
  const tokens = await redeemUi(await ask(page));
  expect([tokens.status, tokens.body.scope]).toEqual([200, 'openid admin']);
  const code = await ask(page);
  const [removed, late] = await meet(app, reset, () => redeemUi(code));
  expect([removed.status, late.status, late.body.error]).toEqual([204, 400, 'invalid_grant']);
  const refresh = { grant_type: 'refresh_token', refresh_token: tokens.body.refresh_token, ...client };
  expect((await form(refresh)).body.error).toBe('invalid_grant');
  expect((await ask(page)).status).toBe(403);
});

test('an account that is disabled while its user logs in by an issuer gets no session', async () => {
  const who = await person();
  const disable = () => admin.patch(`/users/${who.id}`, { status: 'disabled' });
  corp.account = { sub: who.username };
  const enter = () =>
    new Browser().follow(`${app.url}/auth/sso/corp?fresh=true`, (url) => url === `${app.url}/console/`);
  const [disabled, walk] = await meet(app, disable, enter);
  expect([disabled.status, walk.response.status, walk.text]).toEqual([
    200,
    403,
    expect.stringContaining('Your account is disabled.'),
  ]);
});
