/** Giving records to a team and back, and to other persons, in a real browser. */
import { expect } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';

import type { Client, TestApp, TestUser } from '../../support/app.ts';
import { laptop } from '../../support/chromium.ts';
import { consoleTestsWithoutTemporal, expectFits } from '../../support/console.ts';

let app: TestApp;
let ada: TestUser;
let asAda: Client;

const { inBrowser, visit } = consoleTestsWithoutTemporal(async (started) => {
  app = started;
  ada = await app.createUser({ username: 'ada', roles: ['builder'] });
  asAda = await app.as(ada);
});

/** In the dialog that has been opened. */
async function choose(page: Page, name: string, to: string): Promise<void> {
  const dialog = page.getByRole('dialog', { name: `Move ${name}` });
  await dialog.getByLabel('To').selectOption({ label: to });
  await dialog.getByRole('button', { name: 'Move', exact: true }).click();
  await page.getByText(`${name} belongs to ${to} now.`).waitFor();
}

/** The rarer buttons of a row. */
async function showMore(row: Pick<Locator, 'getByRole'>): Promise<void> {
  await row.getByRole('button', { name: 'More', exact: true }).click();
}

inBrowser('who owns agents, workflows and what goes in and out gives it to a team, and back', async () => {
  const admin = await app.as('admin');
  const team = (await admin.post('/teams', { name: 'Payments' })).body.id;
  expect((await admin.put(`/teams/${team}/members/${ada.id}`, { role: 'admin' })).status).toBeLessThan(300);
  await asAda.put('/secrets/HOOK_KEY', { value: 'not-to-be-shown-anywhere' });
  const made = async (path: string, body: object): Promise<string> => {
    const reply = await asAda.post(path, body);
    expect([path, reply.status, reply.body.detail]).toEqual([path, 201, undefined]);
    return reply.body.id;
  };
  const agent = await made('/agents', {
    name: 'scorer',
    type: 'api',
    version: '1.0.0',
    visibility: 'private',
    configuration: { endpoint: 'https://scores.example.com' },
  });
  const definition = { do: [{ first: { set: { a: 1 } } }] };
  const workflow = await made('/workflows', { name: 'pay', definition });
  const webhook = await made('/webhooks', { url: 'https://hooks.example.com/1' });
  const hook = await made('/hooks', { name: 'Issues', scheme: 'github', secret: 'HOOK_KEY' });
  const source = await made('/event-sources', { source: '/scanner' });

  const { page, complaints, open } = await visit(ada);
  const records = [
    ['scorer', `/agents/${agent}`, `/agents/${agent}`],
    ['pay', `/workflows/${workflow}`, `/workflows/${workflow}`],
    ['https://hooks.example.com/1', '/settings/webhooks', `/webhooks/${webhook}`],
    ['Issues', '/settings/events', `/hooks/${hook}`],
    ['/scanner', '/settings/events', `/event-sources/${source}`],
  ] as const;
  for (const [to, team_id] of [
    ['Payments', team],
    ['me', null],
  ] as const)
    for (const [name, screen, path] of records) {
      await open(screen);
      const place = screen.startsWith('/settings') ? page.getByRole('row', { name }) : page;
      if (/hooks\//.test(path)) await showMore(place);
      await place.getByRole('button', { name: 'Move', exact: true }).click();
      await choose(page, name, to);
      expect([path, (await asAda.get(path)).body]).toMatchObject([path, { team_id, owner_id: ada.id }]);
    }
  expect(complaints).toEqual([]);
});

inBrowser('who knows no team has nowhere to move anything', async () => {
  const grace = await app.createUser({ username: 'grace', roles: ['builder'] });
  const made = await (await app.as(grace)).post('/webhooks', { url: 'https://hooks.example.com/2' });
  expect(made.status).toBe(201);
  const { page, open } = await visit(grace);
  await open('/settings/webhooks');
  const row = page.getByRole('row', { name: 'https://hooks.example.com/2' });
  await showMore(row);
  await row.getByRole('button', { name: 'Turn off' }).waitFor();
  expect(await row.getByRole('button', { name: 'Move', exact: true }).count()).toBe(0);
});

inBrowser('an admin gives each thing to another person, after reading what that means', async () => {
  const administrator = await app.createUser({ username: 'root', roles: ['admin'] });
  const asRoot = await app.as(administrator);
  const taker = await app.createUser({ username: 'taker', roles: ['builder'] });
  await app.createUser({ username: 'onlooker', roles: ['viewer'] });
  await asAda.put('/secrets/PUSH_KEY', { value: 'not-to-be-shown-anywhere' });
  const made = async (by: Client, path: string, body: unknown, options = {}): Promise<string> => {
    const reply = await by.post(path, body, options);
    expect([path, reply.status, reply.body.detail]).toEqual([path, 201, undefined]);
    return reply.body.id;
  };
  const agent = await made(asAda, '/agents', {
    name: 'rater',
    type: 'api',
    version: '1.0.0',
    visibility: 'private',
    configuration: { endpoint: 'https://scores.example.com' },
  });
  const definition = { do: [{ first: { set: { a: 1 } } }] };
  const workflow = await made(asAda, '/workflows', { name: 'refund', definition });
  const file = await made(asAda, '/files?name=notes.txt', 'otters', {
    headers: { 'content-type': 'text/plain' },
  });
  const webhook = await made(asAda, '/webhooks', { url: 'https://hooks.example.com/3' });
  const hook = await made(asAda, '/hooks', { name: 'Pushes', scheme: 'github', secret: 'PUSH_KEY' });
  const source = await made(asAda, '/event-sources', { source: '/sensor' });

  const { page, complaints, open } = await visit(administrator);
  const records = [
    ['rater', `/agents/${agent}`, `/agents/${agent}`, 'All its versions go along.'],
    ['refund', `/workflows/${workflow}`, `/workflows/${workflow}`, 'runs stay with who started them'],
    ['notes.txt', '/settings/files', `/files/${file}/metadata`, 'Its content and its links go along.'],
    ['https://hooks.example.com/3', '/settings/webhooks', `/webhooks/${webhook}`, 'look at the address'],
    ['Pushes', '/settings/events', `/hooks/${hook}`, 'who gets copies of the secrets'],
    ['/sensor', '/settings/events', `/event-sources/${source}`, 'With whom it is shared stays.'],
  ] as const;
  const giving = async (name: string, screen: string, where: string) => {
    await open(screen);
    const place = screen.startsWith('/settings') ? page.getByRole('row', { name }) : page;
    if (/hooks\//.test(where)) await showMore(place);
    await place.getByRole('button', { name: 'Give to …' }).click();
    const dialog = page.getByRole('dialog', { name: `Give ${name} to another person` });
    await dialog.getByText('Only an admin can give it back.').waitFor();
    return { dialog, give: dialog.getByRole('button', { name: 'Give', exact: true }) };
  };
  const [name, screen, path] = records[3];
  const { dialog, give } = await giving(name, screen, path);
  await expectFits(page, 'give');
  await dialog.getByLabel('To').fill('nobody');
  await give.click();
  await dialog.getByText('There is no user nobody.').waitFor();
  await dialog.getByLabel('To').fill('onlooker');
  await give.click();
  await dialog.getByText('needs the role approver for it').waitFor();
  await dialog.getByLabel('To').and(dialog.locator('[aria-invalid=true]')).waitFor();
  expect((await asAda.get(path)).body.owner_id).toBe(ada.id);
  expect(complaints.splice(0)).toEqual([expect.stringContaining('422')]);

  for (const [called, where, at, meaning] of records) {
    const opened = await giving(called, where, at);
    await opened.dialog.getByText(meaning).waitFor();
    await opened.dialog.getByLabel('To').fill('taker');
    await opened.give.click();
    await page.getByText(`${called} belongs to taker now.`).waitFor();
    expect([at, (await asRoot.get(at)).body]).toMatchObject([at, { team_id: null, owner_id: taker.id }]);
  }
  expect(complaints).toEqual([]);
});

inBrowser('an admin finds what receives and sends events by the person who has it', async () => {
  const [ruth, judy] = [
    await app.createUser({ username: 'ruth', roles: ['admin'] }),
    await app.createUser({ username: 'judy', roles: ['builder'] }),
  ];
  for (const user of [ruth, judy]) {
    const client = await app.as(user);
    const [{ username: name }, key] = [user, { value: 'not-to-be-shown-anywhere' }];
    expect((await client.put('/secrets/FOUND_KEY', key)).status).toBe(201);
    const hook = { name: `Calls of ${name}`, scheme: 'github', secret: 'FOUND_KEY' };
    for (const [path, body] of [
      ['/webhooks', { url: `https://${name}.example.com` }],
      ['/hooks', hook],
      ['/event-sources', { source: `/of/${name}` }],
    ] as const)
      expect([path, (await client.post(path, body)).status]).toEqual([path, 201]);
  }
  const { page, complaints, open } = await visit(ruth);
  for (const [screen, tables] of [
    ['/settings/webhooks', [['ruth.example.com', 'judy.example.com', 'Create a webhook']]],
    [
      '/settings/events',
      [
        ['Calls of ruth', 'Calls of judy', 'Create an inbound webhook'],
        ['/of/ruth', '/of/judy', 'Add a source'],
      ],
    ],
  ] as const) {
    await open(screen);
    const row = (name: string) => page.getByRole('row', { name });
    for (const [own, others] of tables) for (const name of [own, others]) await row(name).waitFor();
    await expectFits(page, 'owners');
    await row(tables[0][1]).getByRole('link', { name: 'judy' }).click();
    for (const [own, others, create] of tables) {
      await row(own).waitFor({ state: 'detached' });
      await row(others).waitFor();
      expect([create, await page.getByRole('button', { name: create }).count()]).toEqual([create, 0]);
    }
    await page.getByLabel('Whose').selectOption({ label: 'Mine' });
    for (const [own, others, create] of tables) {
      await row(others).waitFor({ state: 'detached' });
      await row(own).waitFor();
      await page.getByRole('button', { name: create }).waitFor();
    }
  }
  expect(complaints).toEqual([]);
  const own = await visit(judy);
  await own.open('/settings/webhooks');
  await own.page.getByRole('row', { name: 'judy.example.com' }).waitFor();
  expect(await own.page.getByLabel('Whose').count()).toBe(0);
});

inBrowser('who is no admin gives nothing to other persons', async () => {
  const heidi = await app.createUser({ username: 'heidi', roles: ['builder'] });
  const made = await (await app.as(heidi)).post('/webhooks', { url: 'https://hooks.example.com/4' });
  expect(made.status).toBe(201);
  const { page, open } = await visit(heidi);
  await open('/settings/webhooks');
  const row = page.getByRole('row', { name: 'https://hooks.example.com/4' });
  await showMore(row);
  await row.getByRole('button', { name: 'Rotate' }).waitFor();
  expect(await row.getByRole('button', { name: 'Give to …' }).count()).toBe(0);
});

inBrowser('the buttons of an inbound webhook stand in one line, the rarer ones behind More', async () => {
  const administrator = await app.createUser({ username: 'roots', roles: ['admin'] });
  const asAdministrator = await app.as(administrator);
  await asAdministrator.put('/secrets/OLD_KEY', { value: 'not-to-be-shown-anywhere' });
  await asAdministrator.put('/secrets/NEW_KEY', { value: 'not-to-be-shown-either' });
  const body = { name: 'Issues of the shop', scheme: 'github', secret: 'OLD_KEY' };
  const { id } = (await asAdministrator.post('/hooks', body)).body;
  expect((await app.anonymous.post(`/hooks/${id}`, {})).status).toBe(401);
  const { page, complaints, open } = await visit(administrator, { viewport: laptop });
  await open('/settings/events');
  const row = page.getByRole('row', { name: 'Issues of the shop' });
  const button = (name: string) => row.getByRole('button', { name, exact: true });
  await button('More').waitFor();
  const shown = ['Change', 'Turn off', 'More'];
  expect(await row.getByRole('button').allInnerTexts()).toEqual(shown);
  const tops = await Promise.all(shown.map(async (name) => (await button(name).boundingBox())?.y));
  expect(new Set(tops).size).toBe(1);
  await expectFits(page, 'hook-row');
  await showMore(row);
  // What it shows comes after it, for the keys too; its name stays, beside the state that is read out.
  await row.getByRole('button', { name: 'More', exact: true, expanded: true }).waitFor();
  expect((await row.getByRole('button').allInnerTexts()).slice(0, 4)).toEqual([...shown, 'Rotate']);
  await expectFits(page, 'hook-more');
  await button('Rotate').click();
  const dialog = page.getByRole('dialog', { name: 'Rotate the secret' });
  await dialog.getByLabel('Secret').fill('NEW_KEY');
  await dialog.getByRole('button', { name: 'Rotate' }).click();
  await button('End the rotation').click();
  await button('End the rotation').waitFor({ state: 'detached' });
  expect((await asAdministrator.get(`/hooks/${id}`)).body).toMatchObject({
    secret: 'NEW_KEY',
    former_secret: null,
  });
  await showMore(row);
  expect(await row.getByRole('button').allInnerTexts()).toEqual(shown);
  expect(complaints).toEqual([]);
});
