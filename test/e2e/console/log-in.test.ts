/**
 * Ways to log in, and what comes of a role in a team, in a real browser through the console's own screens:
 * passkeys with its virtual authenticator, an issuer that is a real one (`oidc-provider`).
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect } from '@jest/globals';
import type { Browser, Locator, Page } from 'playwright-core';
import { startTestApp, type TestApp } from '../../support/app.ts';
import { createDecisionLink } from '../../../domain/hitl/decision-links.ts';
import { findTask } from '../../../domain/hitl/human-task.ts';
import {
  accessibilityProblems,
  buildConsole,
  consoleFolder,
  launchChromium,
  noChromium,
  visitConsole,
} from '../../support/chromium.ts';
import { insertRun, insertTask } from '../../support/human-tasks.ts';
import { CLIENT_ID, CLIENT_SECRET, startIssuer, type TestIssuer } from '../../support/issuer.ts';
import { testUnless } from '../../support/outside.ts';

let app: TestApp;
let browser: Browser;
let corp: TestIssuer;
const PASSWORD = 'correct horse battery';

beforeAll(async () => {
  if (noChromium !== undefined) return;
  await buildConsole();
  app = await startTestApp({
    consoleFolder,
    host: 'localhost',
    env: { EGRESS_ALLOW: '127.0.0.1', DECISION_LINKS: 'true' },
  });
  corp = await startIssuer({ redirectUris: [`${app.url}/auth/sso/corp/callback`] });
  browser = await launchChromium();
});
afterAll(async () => {
  await browser?.close();
  await corp?.close();
  await app?.close();
});

const click = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click();

testUnless(noChromium)('a passkey is a second factor, and a log-in without a password', async () => {
  const user = await app.createUser({ username: 'grace', roles: ['builder'] });
  await (await app.as('admin')).patch(`/users/${user.id}`, { password: PASSWORD });
  const { page, open, close } = await visitConsole(browser, app, null);
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('WebAuthn.enable');
  const authenticator = { protocol: 'ctap2' as const, transport: 'internal' as const, hasResidentKey: true };
  await devtools.send('WebAuthn.addVirtualAuthenticator', {
    options: { ...authenticator, hasUserVerification: true, isUserVerified: true },
  });
  const logIn = async () => {
    await page.getByLabel('Username or e-mail').fill('grace');
    await page.getByLabel('Password').fill(PASSWORD);
    await page.getByRole('button', { name: 'Log in', exact: true }).click();
  };
  const isIn = () => page.getByRole('link', { name: 'Sessions' }).waitFor();
  const leave = async () => {
    await page.context().clearCookies();
    await open('/settings/security');
  };

  await open('/settings/security');
  await logIn();
  await page.getByRole('button', { name: 'Add a passkey' }).click();
  await page.getByLabel('Name').fill('laptop');
  await page.getByRole('button', { name: 'Add', exact: true }).click();
  await page.getByRole('heading', { name: 'Recovery codes' }).first().waitFor();

  await leave();
  await logIn();
  await page.getByRole('button', { name: 'Use a passkey' }).click();
  await isIn();

  await leave();
  await page.getByRole('button', { name: 'Use a passkey' }).click();
  await isIn();
  const { body } = await (await app.as('admin')).get(`/audit?actor_id=${user.id}&action=log_in&outcome=done`);
  expect(body.length).toBe(3);
  await close();
});

testUnless(noChromium)('an admin adds an issuer, by which the first log-in makes the account', async () => {
  const boss = await visitConsole(browser, app, await app.user('admin'));
  await boss.open('/settings/issuers');
  await click(boss.page, 'Add an issuer');
  const dialog = boss.page.getByRole('dialog');
  await dialog.getByLabel('Name').first().fill('corp');
  await dialog.getByLabel('Title').first().fill('Corp');
  await dialog.getByLabel('Issuer').first().fill(corp.url);
  await dialog.getByLabel('Client id').fill(CLIENT_ID);
  await dialog.getByLabel('Client secret').fill(CLIENT_SECRET);
  await click(boss.page, 'Save');
  await boss.page.getByText('Saved Corp.').waitFor();
  await click(boss.page, 'Check');
  await boss.page.getByText('Corp answers, with 1 key.').waitFor();
  expect(boss.complaints).toEqual([]);
  await boss.close();
  const admin = await app.as('admin');
  const issuers = (await admin.get('/identity-issuers')).body;
  expect(issuers).toMatchObject([{ name: 'corp', issuer: corp.url, creates_users: true }]);
  const mapping = { ...issuers[0].mapping, default_roles: ['viewer'] };
  expect((await admin.patch(`/identity-issuers/${issuers[0].id}`, { mapping })).status).toBe(200);

  corp.account = { sub: 'e-1', preferred_username: 'hopper', name: 'Grace Hopper', email: 'g@corp.example' };
  const { page, open, close } = await visitConsole(browser, app, null);
  await open('/settings/profile');
  await page.getByRole('link', { name: 'Continue with Corp' }).click();
  await page.getByRole('link', { name: 'Sessions' }).waitFor();
  expect(new URL(page.url()).pathname).toBe('/console/settings/profile');
  const made = (await admin.get('/users?q=hopper')).body;
  expect(made).toMatchObject([{ username: 'hopper', display_name: 'Grace Hopper', roles: ['viewer'] }]);
  // The session is kept, and the next log-in finds the account.
  await page.reload();
  await page.getByRole('link', { name: 'Sessions' }).waitFor();
  await page.context().clearCookies();
  await open('/settings/profile');
  await page.getByRole('link', { name: 'Continue with Corp' }).click();
  await page.getByRole('link', { name: 'Sessions' }).waitFor();
  expect((await admin.get('/users?q=hopper')).body).toHaveLength(1);
  await close();
});

testUnless(noChromium)('an admin lets a program of the issuer act as an account, in part', async () => {
  const admin = await app.as('admin');
  const [issuer] = (await admin.get('/identity-issuers')).body;
  const path = `/identity-issuers/${issuer.id}`;
  expect((await admin.patch(path, { audiences: ['https://cadenza.example'] })).status).toBe(200);
  const account = await app.createUser({ username: 'machinist', roles: ['builder'] });
  const { page, complaints, open, close } = await visitConsole(browser, app, await app.user('admin'));
  await open('/settings/issuers');
  await click(page, 'Programs');
  const programs = page.getByRole('dialog', { name: 'Programs of Corp' });
  await programs.getByText('No programs.').waitFor();
  await click(page, 'Add a program');
  const form = page.getByRole('dialog', { name: 'Add a program' });
  await form.getByRole('textbox', { name: 'Name' }).fill('robot');
  await form.getByLabel('Acts as').fill('machinist');
  await form.getByLabel('Claims').fill('azp');
  await form.getByLabel('May do').selectOption('what its scopes allow');
  for (const scope of ['runs:read', 'runs:write']) await form.getByLabel(scope).check();
  await form.getByRole('button', { name: 'Save' }).click();
  await form.getByText('azp is no claim with a value').waitFor();
  await form.getByLabel('Claims').fill('azp=robot');
  await form.getByRole('button', { name: 'Save' }).click();
  const row = programs.getByRole('row').filter({ hasText: 'robot' });
  expect(await row.innerText()).toMatch(/machinist[^]*azp=robot[^]*runs:read runs:write/);
  expect((await admin.get(`${path}/machines`)).body).toMatchObject([
    {
      name: 'robot',
      user_id: account.id,
      user_name: 'machinist',
      claims: { azp: 'robot' },
      scopes: ['runs:read', 'runs:write'],
    },
  ]);
  await row.getByRole('button', { name: 'Delete' }).click();
  await page
    .getByRole('dialog', { name: 'Delete the program robot?' })
    .getByRole('button', { name: 'Delete' })
    .click();
  await programs.getByText('No programs.').waitFor();
  expect((await admin.get(`${path}/machines`)).body).toEqual([]);
  expect(complaints).toEqual([]);
  await close();
});

/** The fields of an issuer that a request may set. */
const ISSUER_FIELDS: string[] = Object.keys(
  JSON.parse(readFileSync(join(import.meta.dirname, '../../../docs/openapi.json'), 'utf8')).components.schemas
    .CreateIssuerRequest.properties,
);

testUnless(noChromium)('an admin sets each field of an issuer that the API has, and clears it', async () => {
  const admin = await app.as('admin');
  const plain = (
    await admin.post('/identity-issuers', {
      name: 'plain',
      title: 'Plain',
      issuer: 'https://plain.example',
      client_id: 'c',
    })
  ).body;
  const { page, complaints, open, close } = await visitConsole(browser, app, await app.user('admin'));
  await open('/settings/issuers');
  await click(page, 'Add an issuer');
  const dialog = page.getByRole('dialog', { name: 'Add an issuer' });
  const fill = async (values: Record<string, string>, within: Locator = dialog) => {
    for (const [name, value] of Object.entries(values))
      await within.getByRole('textbox', { name, exact: true }).fill(value);
  };
  const groupOf = (name: string) => dialog.getByRole('group', { name, exact: true });
  await fill({
    Name: 'full',
    Title: 'Full',
    Issuer: 'https://full.example',
    'Client id': 'cadenza',
    Scopes: 'openid\nroles',
    'Address of the keys (jwks_uri)': 'https://full.example/keys',
    'Rules for roles': '[{ "claim": "hd", "value": "full.example", "roles": ["builder"] }]',
    'Claim of the groups': 'teams',
    'Claim of the username': 'upn',
    'Claim of the e-mail address': 'mail',
    'Claim of the name': 'called',
    'Audiences of programs': 'https://cadenza.example',
    'Claim of the SCIM externalId': 'oid',
  });
  await dialog.getByLabel('Client secret').fill('a secret');
  await fill({ Claim: 'acr', Value: 'gold' }, groupOf('Claim of a log-in with a second factor'));
  await groupOf('Roles if no rule fits').getByLabel('Viewer').check();
  const types = groupOf('Token types of programs');
  expect(await types.getByLabel('at+jwt (RFC 9068)').isChecked()).toBe(true);
  await types.getByLabel('jwt', { exact: true }).check();
  await dialog.getByLabel('The first log-in makes the account').uncheck();
  await dialog.getByLabel('Enabled').uncheck();
  expect(await accessibilityProblems(page)).toEqual([]);
  await click(page, 'Save');
  await page.getByText('Saved Full.').waitFor();
  const recordOf = async () =>
    (await admin.get('/identity-issuers')).body.find(({ name }: { name: string }) => name === 'full');
  const full = await recordOf();
  expect(full).toMatchObject({ token_types: ['at+jwt', 'jwt'], jwks_uri: 'https://full.example/keys' });
  expect(full.mapping.second_factor).toEqual({ claim: 'acr', value: 'gold' });
  // A field that the form lacks has its default in both.
  const isSame = (a: any, b: any) => (name: string) => JSON.stringify(a[name]) === JSON.stringify(b[name]);
  const fields = ISSUER_FIELDS.map((field) => (field === 'client_secret' ? 'has_secret' : field));
  expect(fields.filter(isSame(plain, full))).toEqual([]);
  expect(Object.keys(full.mapping).filter(isSame(plain.mapping, full.mapping))).toEqual([]);

  const edit = async (change: (form: Locator) => Promise<void>) => {
    await page
      .getByRole('row', { name: /Full \(full\)/ })
      .getByRole('button', { name: 'Edit' })
      .click();
    const form = page.getByRole('dialog', { name: 'Edit Full' });
    await change(form);
    await form.getByRole('button', { name: 'Save' }).click();
    await form.waitFor({ state: 'detached' });
    return recordOf();
  };
  const emptied = await edit(async (form) => {
    const names = ['Address of the keys (jwks_uri)', 'Claim of the groups', 'Claim of the SCIM externalId'];
    for (const name of names) await form.getByRole('textbox', { name, exact: true }).fill('');
    await form.getByLabel('Remove the client secret: it is a public client').check();
  });
  expect(emptied).toEqual({
    ...full,
    has_secret: false,
    jwks_uri: null,
    mapping: { ...full.mapping, groups: null },
    external_id_claim: null,
    updated_at: expect.any(String),
  });
  // A mapping without groups is shown, and stays.
  expect(await edit((form) => form.getByRole('textbox', { name: 'Title' }).fill('Fuller'))).toEqual({
    ...emptied,
    title: 'Fuller',
    updated_at: expect.any(String),
  });
  for (const { id } of [plain, full]) await admin.delete(`/identity-issuers/${id}`);
  expect(complaints).toEqual([]);
  await close();
});

testUnless(noChromium)(
  'a builder of a team makes what it holds, a viewer of the platform or not',
  async () => {
    const member = await app.createUser({ username: 'member', roles: ['viewer'] });
    const admin = await app.as('admin');
    const team = (await admin.post('/teams', { name: 'payments', admin: member.id })).body.id;
    await admin.post('/teams', { name: 'others', admin: (await app.user('admin')).id });
    const { page, complaints, open, close } = await visitConsole(browser, app, member);
    await open('/agents');
    await page.getByRole('link', { name: /^Register/ }).click();
    await page.getByLabel('For whom').waitFor();
    expect(await page.getByLabel('For whom').locator('option').allTextContents()).toEqual(['For payments']);
    await page.getByLabel('Name', { exact: false }).first().fill('payer');
    await page.getByRole('textbox', { name: 'Address', exact: true }).fill('https://pay.example.com');
    await click(page, 'Register');
    await page.getByRole('heading', { name: 'payer', exact: true }).waitFor();
    expect((await admin.get(`/agents?team_id=${team}`)).body).toMatchObject([{ name: 'payer' }]);

    await open('/settings/secrets');
    await page.getByText('No secrets.').waitFor();
    expect(await page.getByRole('button', { name: 'Set a secret' }).count()).toBe(0);
    await page.getByLabel('Team', { exact: true }).selectOption('payments');
    await click(page, 'Set a secret');
    await page.getByRole('dialog').getByLabel('Name').fill('PAY_KEY');
    await page.getByRole('dialog').getByLabel('Value').fill('sesame');
    await page.getByRole('dialog').getByRole('button', { name: 'Set', exact: true }).click();
    await page.getByRole('cell', { name: 'PAY_KEY', exact: true }).waitFor();
    expect((await admin.get(`/secrets?team_id=${team}`)).body).toMatchObject([{ name: 'PAY_KEY' }]);

    await open('/workflows');
    await page.getByRole('button', { name: /^New/ }).click();
    await page.getByLabel('For whom').waitFor();
    await page.getByRole('button', { name: /^Save/ }).click();
    await page.waitForURL(/workflows\/[0-9a-f-]{36}\/edit/);
    expect((await admin.get(`/workflows?team_id=${team}`)).body).toHaveLength(1);
    await open(`/workflows?team=${team}`);
    await page.locator('[data-records] tr').first().waitFor();
    expect(complaints).toEqual([]);
    await close();
  },
);

testUnless(noChromium)('the pages of a decision are accessible, with a log-in and without', async () => {
  const approver = await app.createUser({ username: 'approver', roles: ['approver'] });
  const runId = await insertRun(app.orm, { owner: (await app.user('admin')).id });
  const properties = {
    amount: { type: 'integer', title: 'Amount' },
    paid: { type: 'boolean', title: 'Paid' },
  };
  const id = await insertTask(app.orm, runId, {
    title: 'Pay the bill',
    candidates: { users: ['approver'], roles: [], groups: [] },
    decision_links: true,
    form_schema: { type: 'object', required: ['amount'], properties },
  });
  const em = app.orm.em.fork();
  const task = await findTask(em, id);
  if (task === null) throw new Error('no task');
  const links = { keys: app.app.deps.keys, baseUrl: app.url, allowed: true, hours: 24 };
  const address = await createDecisionLink(em, links, task, approver.id);
  const inside = await visitConsole(browser, app, approver);
  await inside.open(`/inbox?task=${id}`);
  await inside.page.getByRole('heading', { name: 'Pay the bill' }).first().waitFor();
  expect(await accessibilityProblems(inside.page)).toEqual([]);
  await inside.close();

  const { page, close } = await visitConsole(browser, app, null);
  await page.goto(address);
  await page.getByRole('heading', { name: 'Pay the bill' }).waitFor();
  expect(await accessibilityProblems(page)).toEqual([]);
  await page.getByLabel('Amount').fill('7');
  await page.getByRole('button', { name: 'Approve' }).click();
  await page.getByRole('heading').first().waitFor();
  expect(await accessibilityProblems(page)).toEqual([]);
  expect((await (await app.as('admin')).get(`/hitl/tasks/${id}`)).body.status).toBe('decided');
  await page.goto(address);
  expect(await accessibilityProblems(page)).toEqual([]);
  await close();
});
