/** Giving records to a team and back, in a real browser. */
import { expect } from '@jest/globals';
import type { Page } from 'playwright-core';

import type { Client, TestApp, TestUser } from '../../support/app.ts';
import { consoleTestsWithoutTemporal } from '../../support/console.ts';

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
  await row.getByRole('button', { name: 'Turn off' }).waitFor();
  expect(await row.getByRole('button', { name: 'Move', exact: true }).count()).toBe(0);
});
