/** An issuer begins to provision (SCIM) when people have logged in by it already. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import { createClient, startTestApp, type Client, type TestApp } from '../../support/app.ts';
import { Browser, CLIENT_ID, CLIENT_SECRET, startIssuer, type TestIssuer } from '../../support/issuer.ts';

let app: TestApp;
let admin: Client;

interface Provisioned {
  name: string;
  id: string;
  issuer: TestIssuer;
  scim: Client;
}
let okta: Provisioned;
let entra: Provisioned;

beforeAll(async () => {
  app = await startTestApp({ env: { EGRESS_ALLOW: '127.0.0.1' }, keepsCallers: 'without news' });
  admin = await app.as('admin');
  okta = await provisioned('okta', {});
  entra = await provisioned('entra', { external_id_claim: 'oid' });
});

afterAll(async () => {
  await Promise.all([okta.issuer.close(), entra.issuer.close()]);
  await app.close();
});

async function provisioned(name: string, more: object): Promise<Provisioned> {
  const issuer = await startIssuer({ redirectUris: [`${app.url}/auth/sso/${name}/callback`] });
  const created = await admin.post('/identity-issuers', {
    name,
    title: name,
    issuer: issuer.url,
    client_id: CLIENT_ID,
    client_secret: CLIENT_SECRET,
    mapping: { default_roles: ['builder'] },
    ...more,
  });
  expect(created.status).toBe(201);
  const made = await admin.post(`/identity-issuers/${created.body.id}/scim-tokens`, { name: 'sync' });
  return { name, id: created.body.id, issuer, scim: createClient(app.url, made.body.token) };
}

async function logIn({ name, issuer }: Provisioned, account: TestIssuer['account']) {
  issuer.account = account;
  const browser = new Browser();
  await browser.follow(`${app.url}/auth/sso/${name}?fresh=true`, (url) => url === `${app.url}/console/`);
  const response = await browser.visit(`${app.url}/console/session`);
  const session = response.status === 200 ? JSON.parse(await response.text()) : null;
  return { browser, id: session?.id };
}

async function found({ scim }: Provisioned, filter: string): Promise<string[]> {
  const reply = await scim.get(`/scim/v2/Users?filter=${encodeURIComponent(filter)}`);
  expect(reply.status).toBe(200);
  return reply.body.Resources.map(({ id }: { id: string }) => id);
}

const refusedAsTaken = { status: 409, body: { scimType: 'uniqueness' } };
const patch = (value: object) => ({
  schemas: ['urn:ietf:params:scim:api:messages:2.0:PatchOp'],
  Operations: [{ op: 'replace', value }],
});

test('whoever has logged in is found by userName and externalId, and not created again', async () => {
  const account = {
    sub: '00u1',
    preferred_username: 'Ada@corp.example',
    email: 'ada.lovelace@corp.example',
    email_verified: true,
  };
  const { id } = await logIn(okta, account);
  for (const filter of [
    'userName eq "ADA@corp.example"',
    'userName eq "ada.lovelace@corp.example"',
    'externalId eq "00u1"',
  ])
    expect([filter, await found(okta, filter)]).toEqual([filter, [id]]);
  expect(await found(okta, 'userName ne "ada@corp.example"')).toEqual([]);
  for (const body of [
    { userName: 'ada@corp.example' },
    { userName: 'ada.lovelace@corp.example', externalId: 'another' },
    { userName: 'renamed@corp.example', externalId: '00u1' },
  ])
    expect(await okta.scim.post('/scim/v2/Users', body)).toMatchObject(refusedAsTaken);
  expect((await okta.scim.get('/scim/v2/Users')).body.totalResults).toBe(1);
});

test('deprovisioning ends sessions, tokens and clients of the account that is in use', async () => {
  const { id, browser } = await logIn(okta, { sub: '00u2', preferred_username: 'grace@corp.example' });
  const post = async (path: string, body: object) => {
    const response = await browser.visit(app.url + path, 'same-origin', {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json' },
    });
    expect([path, response.status]).toEqual([path, 201]);
    return JSON.parse(await response.text());
  };
  const ends = new Date(Date.now() + 86_400_000).toISOString();
  const { token } = await post('/users/me/tokens', {
    name: 'mine',
    scopes: ['workflows:read'],
    expires_at: ends,
  });
  const { client_id, client_secret } = await post('/users/me/clients', { name: 'robot' });
  const asRobot = { grant_type: 'client_credentials', client_id, client_secret };
  const mine = createClient(app.url, token);
  expect((await app.anonymous.post('/auth/token', asRobot)).status).toBe(200);
  expect((await mine.get('/workflows')).status).toBe(200);
  const [provisionedId] = await found(okta, 'userName eq "grace@corp.example"');
  expect(provisionedId).toBe(id);
  const sent = { userName: 'grace@corp.example', externalId: '00u2', active: false };
  const put = await okta.scim.put(`/scim/v2/Users/${id}`, sent);
  expect(put).toMatchObject({ status: 200, body: { active: false } });
  expect((await browser.visit(`${app.url}/console/session`)).status).not.toBe(200);
  expect((await mine.get('/workflows')).status).toBe(401);
  expect((await app.anonymous.post('/auth/token', asRobot)).status).toBe(401);
  expect((await logIn(okta, { sub: '00u2', preferred_username: 'grace@corp.example' })).id).toBeUndefined();
});

test('from the first change on the names are those of SCIM', async () => {
  const { id } = await logIn(okta, { sub: '00u3', preferred_username: 'joan@corp.example' });
  const named = patch({ userName: 'joan.clarke@corp.example', externalId: '00u3' });
  expect((await okta.scim.patch(`/scim/v2/Users/${id}`, named)).status).toBe(200);
  await logIn(okta, { sub: '00u3', preferred_username: 'joan@corp.example' });
  expect(await found(okta, 'userName eq "joan.clarke@corp.example"')).toEqual([id]);
  expect(await found(okta, 'userName eq "joan@corp.example"')).toEqual([]);
  expect((await okta.scim.post('/scim/v2/Users', { userName: 'joan@corp.example' })).status).toBe(201);
});

test('a name hands no account to a person with another externalId', async () => {
  const { id } = await logIn(entra, { sub: 'p-1', oid: 'o-1', preferred_username: 'bob@corp.example' });
  expect(await found(entra, 'externalId eq "o-1"')).toEqual([id]);
  expect(await found(entra, 'externalId eq "p-1"')).toEqual([]);
  const other = { userName: 'bob@corp.example', externalId: 'o-2' };
  expect(await entra.scim.put(`/scim/v2/Users/${id}`, other)).toMatchObject(refusedAsTaken);
  const own = { userName: 'bob@corp.example', externalId: 'o-1' };
  expect((await entra.scim.put(`/scim/v2/Users/${id}`, own)).status).toBe(200);
});

test('of two people whose log-ins said the same name, the newest has it', async () => {
  await logIn(okta, { sub: '00u4', preferred_username: 'shared@corp.example' });
  const { id } = await logIn(okta, { sub: '00u5', preferred_username: 'shared@corp.example' });
  expect(await found(okta, 'userName eq "shared@corp.example"')).toEqual([id]);
});

test('an e-mail address that the issuer has not verified is no name', async () => {
  const email = 'victim@corp.example';
  await logIn(okta, { sub: '00u6', preferred_username: 'mallory', email });
  await logIn(okta, { sub: '00u7', preferred_username: 'eve', email, email_verified: false });
  expect(await found(okta, `userName eq "${email}"`)).toEqual([]);
  expect((await okta.scim.post('/scim/v2/Users', { userName: email })).status).toBe(201);
});

test('accounts of other issuers and local ones are neither found nor changed', async () => {
  await logIn(okta, { sub: 'x-1', preferred_username: 'both@corp.example' });
  expect(await found(entra, 'userName eq "both@corp.example" or externalId eq "x-1"')).toEqual([]);
  expect((await entra.scim.post('/scim/v2/Users', { userName: 'both@corp.example' })).status).toBe(201);
  const { id, username } = await app.user('approver');
  expect(await found(okta, `userName eq "${username}"`)).toEqual([]);
  const linked = await admin.post(`/users/${id}/identities`, { issuer_id: okta.id, subject: '00u8' });
  expect(linked.status).toBe(201);
  expect(await found(okta, 'externalId eq "00u8"')).toEqual([]);
  const asked = await okta.scim.post('/scim/v2/Users', { userName: 'local', externalId: '00u8' });
  expect(asked).toMatchObject(refusedAsTaken);
  expect((await admin.get(`/users/${id}`)).body.status).toBe('active');
});
