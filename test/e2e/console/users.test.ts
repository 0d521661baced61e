/** The page of one user, on which admins take access away, hand over and erase, in a real browser. */
import { expect } from '@jest/globals';
import type { Page } from 'playwright-core';

import { limitSessions } from '../../../domain/auth/second-factor.ts';
import { continueErasures } from '../../../domain/privacy/continue-erasures.ts';
import { beginTransfer } from '../../../domain/transfers/begin.ts';
import { continueTransfers } from '../../../domain/transfers/continue.ts';
import { agentBody, registeredAgent } from '../../support/agent-body.ts';
import { createClient, type Client, type TestApp, type TestUser } from '../../support/app.ts';
import { phone, wide } from '../../support/chromium.ts';
import { consoleTestsWithoutTemporal, expectFits } from '../../support/console.ts';
import { until } from '../../support/platform.ts';
import { totpCode } from '../../support/totp.ts';

const PASSWORD = 'correct horse battery staple';
/** More than the transaction moves that begins a transfer. */
const MANY = 5_200;
/** The browser itself notes that there is no transfer yet. */
const NO_TRANSFER = '404';
let app: TestApp;
let root: TestUser;
let admin: Client;

const { inBrowser, visit } = consoleTestsWithoutTemporal(async (started) => {
  app = started;
  root = await app.createUser({ username: 'root', roles: ['admin'] });
  admin = await app.as(root);
});

const heading = (page: Page, title: string) => page.getByRole('heading', { name: title, exact: true });
const click = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click();
const dialogOf = (page: Page) => page.getByRole('dialog').filter({ visible: true });
/** A part of the page, by its heading. */
const part = (page: Page, title: string) => page.locator('section').filter({ has: heading(page, title) });
const focusedText = (page: Page) => page.evaluate('document.activeElement.innerText');
const fork = () => app.orm.em.fork();
const statuses = (clients: readonly Client[]): Promise<number[]> =>
  Promise.all(clients.map(async (one) => (await one.get('/users/me')).status));

interface Access {
  user: TestUser;
  /** Two log-ins, an access token and a machine client. */
  sessions: [Client, Client];
  token: Client;
  machine: { client_id: string; client_secret: string };
}

/** Somebody with a password and a second factor, who is logged in everywhere. */
async function person(username: string): Promise<Access> {
  const user = await app.createUser({ username, roles: ['approver'], groups: ['finance'] });
  expect((await admin.patch(`/users/${user.id}`, { password: PASSWORD })).status).toBe(200);
  const logIn = async () => {
    const { body } = await app.anonymous.post('/auth/token', { username, password: PASSWORD });
    return createClient(app.url, body.access_token);
  };
  const sessions: Access['sessions'] = [await logIn(), await logIn()];
  const [own] = sessions;
  const expires_at = new Date(Date.now() + 3_600_000).toISOString();
  const token = (await own.post('/users/me/tokens', { name: 'script', scopes: ['account:read'], expires_at }))
    .body.token;
  const machine = (await own.post('/users/me/clients', { name: 'nightly', scopes: ['runs:read'] })).body;
  const { secret } = (await own.post('/users/me/totp')).body;
  const code = totpCode(secret);
  expect((await own.post('/users/me/totp/confirm', { code })).status).toBe(200);
  return { user, sessions, token: createClient(app.url, token), machine };
}

inBrowser('what waits for a second factor says so, to its owner and to admins', async () => {
  const user = await app.createUser({ username: 'heidi', roles: ['builder'] });
  const own = await app.as(user);
  const expires_at = new Date(Date.now() + 3_600_000).toISOString();
  const token = await own.post('/users/me/tokens', { name: 'script', scopes: ['runs:read'], expires_at });
  const made = await own.post('/users/me/clients', { name: 'nightly' });
  const agent = await registeredAgent(own, { execution_type: 'edge' });
  const worker = await own.post(`/agents/${agent.id}/worker-tokens`, { name: 'plant 7' });
  expect([token.status, made.status, worker.status]).toEqual([201, 201, 201]);
  const { page, complaints, open } = await visit(user);
  await open('/settings/tokens');
  await page.getByRole('row', { name: /script/ }).waitFor();
  expect(await page.getByText('waits for').count()).toBe(0);
  // As after a restart that made the setting name the role.
  await limitSessions(fork(), [user.id], ['builder']);
  for (const [path, name] of [
    ['/settings/tokens', 'script'],
    ['/settings/clients', 'nightly'],
  ] as const) {
    await open(path);
    await page.getByRole('row', { name: `${name} (waits for a second factor)` }).waitFor();
    const link = page.getByRole('link', { name: 'Set up a second factor' });
    expect(await link.getAttribute('href')).toMatch(/\/settings\/security$/);
    await expectFits(page, `waiting-${name}`);
  }
  expect(complaints).toEqual([]);

  const other = await visit(root);
  await other.open(`/settings/users/${user.id}`);
  for (const [title, row] of [
    ['Access tokens', /script \(waits for a second factor\)/],
    ['Machine clients', /nightly \(waits for a second factor\)/],
    ['Sessions', /\(waits for a second factor\)/],
  ] as const)
    await part(other.page, title).getByRole('row', { name: row }).first().waitFor();
  await expectFits(other.page, 'user-waiting');
  await other.open(`/agents/${agent.id}`);
  await other.page.getByRole('row', { name: 'plant 7 (waits for a second factor)' }).waitFor();
  await other.page.getByText('serves no jobs until its owner has one').waitFor();
  expect(other.complaints.filter((text) => !text.includes(NO_TRANSFER))).toEqual([]);
});

inBrowser(
  'an admin ends what has access as a user, and takes the second factor and password away',
  async () => {
    const issuer = { name: 'corp', title: 'Corp', issuer: 'https://id.example.com', client_id: 'cadenza' };
    expect((await admin.post('/identity-issuers', issuer)).status).toBe(201);
    const { user, sessions, token, machine } = await person('grace');
    const path = `/users/${user.id}`;
    const { page, complaints, open } = await visit(root);
    const dialog = dialogOf(page);
    await open('/settings/users');
    await page.getByRole('link', { name: 'grace', exact: true }).click();
    await heading(page, 'grace').waitFor();
    await page.getByText('finance').waitFor();
    await part(page, 'Second factor').getByText('Set up.').waitFor();
    await part(page, 'Machine clients')
      .getByRole('row', { name: /nightly.*runs:read/ })
      .waitFor();
    await part(page, 'Access tokens')
      .getByRole('row', { name: /script.*account:read/ })
      .waitFor();
    await expectFits(page, 'user');

    const rows = part(page, 'Sessions')
      .getByRole('row')
      .filter({ has: page.getByRole('button') });
    await until(
      () => rows.count(),
      (count) => count === 2,
    );
    await rows.last().getByRole('button', { name: 'End' }).click();
    await dialog.getByText('Whoever uses it has to log in again.').waitFor();
    await dialog.getByRole('button', { name: 'End' }).click();
    await until(
      () => rows.count(),
      (count) => count === 1,
    );
    expect(await statuses([...sessions, token])).toEqual([200, 401, 200]);
    await click(page, 'End all sessions');
    await dialog.getByText('Machine clients and access tokens go on working.').waitFor();
    await dialog.getByRole('button', { name: 'End all sessions' }).click();
    await page.getByText('All sessions of grace have ended.').waitFor();
    await page.getByText('No sessions.').waitFor();
    expect(await statuses([...sessions, token])).toEqual([401, 401, 200]);

    await part(page, 'Access tokens').getByRole('button', { name: 'Delete' }).click();
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await page.getByText('No access tokens.').waitFor();
    expect(await statuses([token])).toEqual([401]);
    await part(page, 'Machine clients').getByRole('button', { name: 'Delete' }).click();
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await page.getByText('No machine clients.').waitFor();
    const { client_id, client_secret } = machine;
    const again = { grant_type: 'client_credentials', client_id, client_secret };
    expect((await app.anonymous.post('/auth/token', again)).status).toBe(401);

    const logIn = () => app.anonymous.post('/auth/token', { username: 'grace', password: PASSWORD });
    expect((await logIn()).body.code).toBe('mfa_required');
    await click(page, 'Reset the second factor');
    await dialog.getByText('passkeys and recovery codes no longer open the account').waitFor();
    await dialog.getByRole('button', { name: 'Reset the second factor' }).click();
    await part(page, 'Second factor').getByText('None is set up.').waitFor();
    expect((await logIn()).status).toBe(200);

    const identities = part(page, 'Single sign-on');
    const link = async () => {
      await click(page, 'Link an identity');
      await dialog.getByLabel('Subject').fill('grace-of-corp');
      await dialog.getByRole('button', { name: 'Link an identity' }).click();
      await identities.getByRole('row', { name: /Corp.*grace-of-corp/ }).waitFor();
    };
    const unlink = async () => {
      await identities.getByRole('button', { name: 'Unlink' }).click();
      await dialog.getByRole('button', { name: 'Unlink' }).click();
    };
    await link();
    expect((await admin.get(`${path}/identities`)).body).toMatchObject([{ subject: 'grace-of-corp' }]);
    await unlink();
    await identities.getByText('No identities at external issuers.').waitFor();
    expect((await admin.get(`${path}/identities`)).body).toEqual([]);
    await link();

    await click(page, 'Switch the password off');
    await dialog.getByText('From then on single sign-on is the only way in.').waitFor();
    await dialog.getByRole('button', { name: 'Switch the password off' }).click();
    await page.getByText('none: by single sign-on or an invitation').waitFor();
    expect((await admin.get(path)).body.has_password).toBe(false);
    expect((await logIn()).status).toBe(401);
    expect(await page.getByRole('button', { name: 'Switch the password off' }).count()).toBe(0);
    // The last way to log in stays, and the page says why.
    expect(complaints.splice(0).filter((complaint) => !complaint.includes(NO_TRANSFER))).toEqual([]);
    await unlink();
    await dialog.getByText('There would be no way left to log in').waitFor();
    expect(complaints.splice(0)).toEqual([expect.stringContaining('409')]);
    expect((await admin.get(`${path}/identities`)).body).toHaveLength(1);
  },
);

inBrowser('an admin hands over what a user owns, erases the user, and asks Temporal again', async () => {
  const ada = await app.createUser({ username: 'ada', roles: ['builder'] });
  const olga = await app.createUser({ username: 'olga', roles: ['builder'] });
  const asOlga = await app.as(olga);
  const { body: agent } = await asOlga.post('/agents', agentBody({ name: 'of-olga' }));
  await asOlga.put('/secrets/KEY', { value: 'of olga' });
  await (await app.as(ada)).put('/secrets/KEY', { value: 'of ada' });
  const { page, complaints, open } = await visit(root);
  const dialog = dialogOf(page);
  await open('/settings/users');
  const row = page.getByRole('row', { name: /olga/ });
  await row.getByRole('button', { name: 'More', exact: true }).click();
  await row.getByRole('button', { name: 'Erase' }).click();
  await dialog.getByText('Hand over first').waitFor();
  await dialog.getByRole('link', { name: "On the user's page" }).click();
  await heading(page, 'olga').waitFor();

  const owned = part(page, 'Hand over');
  await owned.getByText('Nothing has been handed over.').waitFor();
  await owned.getByRole('button', { name: 'Hand over' }).click();
  await dialog.getByText('Agents, workflows, runs, files, webhooks').waitFor();
  await dialog.getByLabel('To').fill('nobody-here');
  await dialog.getByRole('button', { name: 'Hand over' }).click();
  await dialog.getByText('There is no user nobody-here.').waitFor();
  expect((await admin.get(`/agents/${agent.id}`)).body.owner_id).toBe(olga.id);
  await dialog.getByLabel('To').fill('ada');
  await dialog.getByRole('button', { name: 'Hand over' }).click();
  await page.getByText('What olga owned belongs to ada.').waitFor();
  await owned.getByText('Handed over to ada').waitFor();
  await owned.getByText('agents (1)').waitFor();
  await owned.getByText('Secrets with a new name').waitFor();
  expect((await admin.get(`/agents/${agent.id}`)).body.owner_id).toBe(ada.id);
  await expectFits(page, 'user-handed-over');

  await click(page, 'Erase');
  await dialog.getByLabel('Username').fill('olga');
  await dialog.getByRole('button', { name: 'Erase' }).click();
  await dialog.getByText('What became of the data of olga').waitFor();
  await continueErasures({ fork, files: app.app.deps.files }, 60_000);
  await dialog.getByRole('button', { name: 'Close' }).click();
  await heading(page, 'Erasure').waitFor();
  expect(await page.getByRole('button', { name: 'Hand over' }).count()).toBe(0);
  const report = async () => (await admin.get(`/users/${olga.id}/erasure`)).body;
  await until(report, ({ status }) => status === 'done');
  await fork().execute(
    `insert into erasure_history (run_id, user_id, next_at, attempts, refusal)
     values (gen_random_uuid(), ?, 'infinity', 5, 'PERMISSION_DENIED')`,
    [olga.id],
  );
  await page.reload();
  await page.getByText('Temporal refuses to remove 1 (PERMISSION_DENIED)').waitFor();
  await expectFits(page, 'user-erased');
  await click(page, 'Try again');
  await dialog.getByText('Temporal is asked once more').waitFor();
  await dialog.getByRole('button', { name: 'Try again' }).click();
  await page.getByText('Temporal refuses to remove').waitFor({ state: 'detached' });
  expect((await report()).histories).toMatchObject({ refused: 0 });
  expect(complaints.filter((complaint) => !complaint.includes(NO_TRANSFER))).toEqual([]);
});

inBrowser('the page follows a large transfer to its end', async () => {
  const [from, to] = [
    await app.createUser({ username: 'emil' }),
    await app.createUser({ username: 'frida' }),
  ];
  await fork().execute(
    `insert into file (id, owner_id, name, media_type, size, sha256)
     select gen_random_uuid(), ?, 'f', 'text/plain', 10, repeat('0', 64) from generate_series(1, ?)`,
    [from.id, MANY],
  );
  const { encryption, env } = app.app.deps;
  const actor = { id: root.id, username: root.username, roles: root.roles, groups: [] };
  await fork().transactional((em) =>
    beginTransfer(em, { encryption, limits: env }, actor, { from: from.id, to: to.id }),
  );
  const { page, complaints, open } = await visit(root);
  await open(`/settings/users/${from.id}`);
  await page.getByText('Handing over to frida: what is done so far').waitFor();
  expect(await page.getByRole('button', { name: 'Hand over' }).count()).toBe(0);
  await continueTransfers(fork, 60_000);
  await page.getByText('What emil owned belongs to frida.').waitFor();
  await page.getByText(`files (${MANY})`).waitFor();
  await page.getByRole('button', { name: 'Hand over' }).waitFor();
  expect(complaints).toEqual([]);
});

inBrowser('a user is created without a password, and only admins open the page of a user', async () => {
  const { page, complaints, open } = await visit(root);
  const dialog = dialogOf(page);
  await open('/settings/users');
  await click(page, 'Create a user');
  await dialog.getByLabel('Username').fill('linus');
  await dialog.getByLabel('Email').fill('linus@example.com');
  await dialog.getByLabel('Invite the person to choose a password').uncheck();
  await dialog.getByRole('button', { name: 'Create' }).click();
  await page.getByText('linus is saved, without a password.').waitFor();
  const [created] = (await admin.get('/users?q=linus')).body;
  expect(created).toMatchObject({ username: 'linus', has_password: false });
  const linus = page.getByRole('link', { name: 'linus', exact: true });
  await page.getByLabel('Role', { exact: true }).selectOption('admin');
  await linus.waitFor({ state: 'detached' });
  await page.getByLabel('Role', { exact: true }).selectOption('viewer');
  await linus.waitFor();
  expect(complaints).toEqual([]);

  const builder = await visit(await app.user('builder'));
  await builder.open(`/settings/users/${created.id}`);
  await builder.page.getByText('This needs the role admin.').waitFor();
  expect(await builder.page.getByText('linus').count()).toBe(0);
  expect(builder.complaints).toEqual([]);
  await open('/settings/users/0197a1b2-0000-7000-8000-000000000001');
  await page.getByRole('alert').getByText('There is no such user').waitFor();
});

inBrowser('on a phone the parts of the settings and the rarer acts are shown on demand', async () => {
  const mallory = await app.createUser({ username: 'mallory', roles: ['builder', 'approver'] });
  const { page, complaints, open } = await visit(root, { viewport: phone });
  await open('/settings/profile');
  const menu = page.getByRole('button', { name: /^Settings: / });
  const parts = page.getByRole('navigation', { name: 'Settings' }).getByRole('link');
  expect([await menu.innerText(), await parts.count()]).toEqual([
    expect.stringContaining('Settings: Profile'),
    0,
  ]);
  const { y = Infinity } = (await heading(page, 'Profile').boundingBox()) ?? {};
  expect(y).toBeLessThan(200);
  await menu.click();
  await expectFits(page, 'settings-menu');
  await parts.filter({ hasText: 'Users' }).press('Enter');
  await heading(page, 'Users').waitFor();
  await until(
    () => focusedText(page),
    (text) => String(text).startsWith('Settings: Users'),
  );
  expect([await menu.innerText(), await parts.count()]).toEqual([
    expect.stringContaining('Settings: Users'),
    0,
  ]);
  const row = page.getByRole('row', { name: /mallory/ });
  await row.getByText('builder, approver').first().waitFor();
  expect(await row.getByRole('button').allInnerTexts()).toEqual(['Change', 'More']);
  await expectFits(page, 'users-phone');
  await row.getByRole('button', { name: 'More', exact: true }).click();
  expect(await row.getByRole('button').allInnerTexts()).toEqual([
    'Change',
    'More',
    'Budget',
    'Limits',
    'Erase',
  ]);
  const more = row.getByRole('button', { name: 'More', exact: true, expanded: true });
  await more.focus();
  await page.keyboard.press('Tab');
  expect(await focusedText(page)).toBe('Budget');
  await expectFits(page, 'users-more-phone');
  // The page of a user draws another frame.
  await open(`/settings/users/${mallory.id}`);
  await heading(page, 'mallory').waitFor();
  await menu.click();
  await parts.filter({ hasText: 'Audit log' }).press('Enter');
  await heading(page, 'Audit log').waitFor();
  await until(
    () => focusedText(page),
    (text) => String(text).startsWith('Settings: Audit log'),
  );
  const entry = page.getByRole('row').filter({ hasText: 'Log in' }).first();
  await entry.getByText('done · session').waitFor();
  await expectFits(page, 'audit-phone');
  // Nothing of the table is below the buttons, which stay in sight.
  const hidden = `(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(
    document.querySelector('[role=region]'))`;
  expect(await page.evaluate(hidden)).toBe(0);
  expect(complaints.filter((text) => !text.includes(NO_TRANSFER))).toEqual([]);
});

inBrowser('without mail, an admin hands over the link of an invitation, and is told so', async () => {
  const { page, complaints, open } = await visit(root);
  await open('/settings/users');
  await click(page, 'Create a user');
  const dialog = dialogOf(page);
  await dialog.getByLabel('Username').fill('eve');
  await dialog.getByLabel('Email').fill('eve@example.com');
  await dialog.getByRole('button', { name: 'Create' }).click();
  const given = page.getByRole('dialog', { name: /^Hand it to eve\. It works once, until .*\d/ });
  await given.getByText('/console/password#').waitFor();
  await expectFits(page, 'invitation-link');
  await given.getByRole('button', { name: 'Close' }).click();
  await page.getByRole('row', { name: /eve.*invited/ }).waitFor();
  // There is no way to a new password but an admin.
  const nobody = await visit(null);
  await nobody.open('/');
  await nobody.page.getByText('Forgotten your password? Ask an administrator.').waitFor();
  await expectFits(nobody.page, 'log-in-without-mail');
  expect(complaints).toEqual([]);
});

inBrowser('an admin sees whose files there are, and those of one person', async () => {
  const owner = await app.createUser({ username: 'ferdi', roles: ['builder'] });
  for (const [who, name] of [
    [await app.as(owner), 'ferns.txt'],
    [admin, 'roots.txt'],
  ] as const) {
    const type = { headers: { 'content-type': 'text/plain' } };
    expect((await who.post(`/files?name=${name}`, new Uint8Array([120]), type)).status).toBe(201);
  }
  const { page, complaints, open } = await visit(root);
  // A transfer before has left more files than a page shows.
  await open('/settings/files?q=.txt');
  await page.getByRole('row', { name: /roots.txt.*root/ }).waitFor();
  await page
    .getByRole('row', { name: /ferns.txt/ })
    .getByRole('link', { name: 'ferdi' })
    .click();
  await page.getByRole('row', { name: /roots.txt/ }).waitFor({ state: 'detached' });
  expect(await page.getByLabel('Whose').innerText()).toContain('Those of ferdi');
  expect(await page.getByLabel('File to upload').count()).toBe(0);
  await expectFits(page, 'files-of-one');
  expect(complaints).toEqual([]);
});

inBrowser('the list of agents marks those that will not work', async () => {
  const owner = await app.createUser({ username: 'wanda', roles: ['builder'] });
  const configuration = { endpoint: 'https://api.example.com', headers: { 'X-Key': '<NO_SUCH_KEY>' } };
  const own = await app.as(owner);
  const made = await own.post('/agents', agentBody({ name: 'keyless', configuration }));
  expect(made.body.warnings).toHaveLength(1);
  const [{ message }] = made.body.warnings;
  await own.post(
    '/agents',
    agentBody({ name: 'sound', configuration: { endpoint: configuration.endpoint } }),
  );
  for (const viewport of [wide, phone]) {
    const { page, complaints, open } = await visit(owner, { viewport });
    await open('/agents');
    const mark = page.getByRole('row', { name: /keyless/ }).getByText('1 warning');
    await mark.locator('visible=true').waitFor();
    expect(await page.getByRole('row', { name: /sound/ }).getByText('warning').count()).toBe(0);
    await expectFits(page, `agents-warnings-${viewport.width}`);
    // By keyboard, what it warns of.
    await page.getByRole('link', { name: 'keyless' }).focus();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.getByText(message).locator('visible=true').waitFor();
    await expectFits(page, `agents-warned-${viewport.width}`);
    await page.getByRole('link', { name: 'keyless' }).click();
    // The path names the agent.
    await page.getByText('Agents / keyless').waitFor();
    expect(complaints).toEqual([]);
  }
});

inBrowser('whoever creates a token chooses its scopes from a list, or limits it to workflows', async () => {
  const owner = await app.createUser({ username: 'toni', roles: ['builder'] });
  const made = await (await app.as(owner)).post('/workflows', { name: 'w', definition: { do: [] } });
  const { page, complaints, open } = await visit(owner);
  await open('/settings/tokens');
  await click(page, 'Create a token');
  const dialog = dialogOf(page);
  const create = () => dialog.getByRole('button', { name: 'Create', exact: true }).click();
  await create();
  for (const text of ['Name is missing', 'Expiry is missing']) await dialog.getByText(text).waitFor();
  await dialog.getByRole('textbox', { name: 'Name' }).fill('script');
  await dialog.getByLabel('Expiry').fill(new Date(Date.now() + 86_400_000).toISOString().slice(0, 16));
  await create();
  await dialog.getByText('Scopes must have an entry').waitFor();
  await dialog.getByRole('group', { name: 'Scopes' }).and(dialog.locator('[data-invalid=true]')).waitFor();
  await dialog.getByLabel('runs:write').check();
  // What was ticked before counts no longer: it would let the token steer all runs.
  await dialog.getByLabel('May do').selectOption('these workflows and their runs alone');
  expect(await dialog.getByRole('checkbox').count()).toBe(0);
  const workflows = dialog.getByRole('textbox', { name: 'Workflows' });
  await create();
  await dialog.getByText('Workflows is missing').waitFor();
  await workflows.fill(`${made.body.id}\nreports`);
  await create();
  await dialog.getByText('Entry 2 of Workflows must be a UUID').waitFor();
  await workflows.and(dialog.locator('[aria-invalid=true]')).waitFor();
  await expectFits(page, 'token-workflows');
  await workflows.fill(made.body.id);
  await create();
  const once = page.getByRole('dialog', { name: /^This is shown once/ });
  const token = createClient(app.url, await once.locator('pre').innerText());
  await once.getByRole('button', { name: 'Close' }).click();
  await page.getByRole('row', { name: `workflow:${made.body.id}` }).waitFor();
  const [stored] = (await (await app.as(owner)).get('/users/me/tokens')).body;
  expect(stored.scopes).toEqual([`workflow:${made.body.id}`]);
  const replies = [`/workflows/${made.body.id}`, `/runs?workflow_id=${made.body.id}`, '/runs'];
  expect(await Promise.all(replies.map(async (path) => (await token.get(path)).status))).toEqual([
    200, 200, 403,
  ]);
  expect(complaints).toEqual([]);
});
