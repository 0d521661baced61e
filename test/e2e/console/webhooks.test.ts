/** Webhooks of both directions in a real browser: their secrets, what fails, and whose they are. */
import { expect } from '@jest/globals';
import type { Page } from 'playwright-core';

import type { Client, TestApp, TestUser } from '../../support/app.ts';
import { consoleTestsWithoutTemporal } from '../../support/console.ts';

/** More than a page of the list. */
const MANY = 50;
const DROP_CHANGES = 'Show what is saved now, and drop my changes';
let app: TestApp;

const { inBrowser, visit } = consoleTestsWithoutTemporal(async (started) => {
  app = started;
});

const dialogOf = (page: Page) => page.getByRole('dialog').filter({ visible: true });

async function person(
  username: string,
  role: 'admin' | 'builder' = 'builder',
): Promise<{ user: TestUser; own: Client }> {
  const user = await app.createUser({ username, roles: [role] });
  return { user, own: await app.as(user) };
}

/** @returns its id */
async function create(client: Client, path: string, body: object): Promise<string> {
  const reply = await client.post(path, body);
  expect([path, reply.status, reply.body.detail]).toEqual([path, 201, undefined]);
  return reply.body.id;
}

inBrowser('a rotated secret is shown, also of a webhook that is not on the first page', async () => {
  const { user, own } = await person('ada');
  for (let at = 0; at <= MANY; at += 1)
    await create(own, '/webhooks', { url: `https://hooks.example.com/${at}` });
  const { page, complaints, open } = await visit(user);
  await open('/settings/webhooks');
  const row = page.getByRole('row', { name: /hooks\.example\.com\/0 / });
  await page.getByRole('row', { name: /hooks\.example\.com\/50 / }).waitFor();
  expect(await row.count()).toBe(0);
  await page.getByRole('button', { name: 'Show more' }).click();
  await row.getByRole('button', { name: 'More', exact: true }).click();
  await row.getByRole('button', { name: 'Rotate' }).click();
  await dialogOf(page).getByRole('button', { name: 'Rotate' }).click();
  await dialogOf(page).locator('pre', { hasText: 'whsec_' }).waitFor();
  await row.waitFor({ state: 'detached' });
  await dialogOf(page).locator('pre', { hasText: 'whsec_' }).waitFor();
  await dialogOf(page).getByRole('button', { name: 'Close' }).click();
  expect(await dialogOf(page).count()).toBe(0);
  expect(complaints).toEqual([]);
});

inBrowser('of two people who rotate a secret at once, one does', async () => {
  const { user, own } = await person('grace');
  const webhook = await create(own, '/webhooks', { url: 'https://hooks.example.com/shared' });
  for (const name of ['OLD_KEY', 'OTHER_KEY', 'NEW_KEY'])
    await own.put(`/secrets/${name}`, { value: `not-to-be-shown-${name}` });
  const hook = await create(own, '/hooks', { name: 'Issues', scheme: 'github', secret: 'OLD_KEY' });
  const { page, complaints, open } = await visit(user);
  const dialog = dialogOf(page);
  const rotate = () => dialog.getByRole('button', { name: 'Rotate' }).click();
  const openRotation = async (name: string) => {
    const row = page.getByRole('row', { name });
    await row.getByRole('button', { name: 'More', exact: true }).click();
    await row.getByRole('button', { name: 'Rotate' }).click();
  };
  await open('/settings/webhooks');
  await openRotation('hooks.example.com/shared');
  await dialog.getByLabel('The current secret signs too').selectOption('for 1 hour');
  const others = (await own.post(`/webhooks/${webhook}/rotate-secret`, {})).body;
  await rotate();
  await dialog.getByRole('button', { name: DROP_CHANGES }).click();
  expect((await own.get(`/webhooks/${webhook}`)).body.former_secret_until).toBe(others.former_secret_until);
  expect(complaints.splice(0)).toEqual([expect.stringContaining('412')]);
  await dialog.getByRole('button', { name: DROP_CHANGES }).waitFor({ state: 'detached' });
  await rotate();
  await dialog.locator('pre', { hasText: 'whsec_' }).waitFor();

  await open('/settings/events');
  await openRotation('Issues');
  await dialog.getByLabel('Secret').fill('NEW_KEY');
  await own.patch(`/hooks/${hook}`, { secret: 'OTHER_KEY' });
  await rotate();
  await dialog.getByRole('button', { name: DROP_CHANGES }).click();
  expect(complaints.splice(0)).toEqual([expect.stringContaining('412')]);
  await dialog.getByRole('button', { name: DROP_CHANGES }).waitFor({ state: 'detached' });
  await dialog.getByLabel('Secret').fill('NEW_KEY');
  await rotate();
  await page.getByRole('row', { name: 'Issues' }).getByText('NEW_KEY, and OTHER_KEY for now').waitFor();
  expect((await own.get(`/hooks/${hook}`)).body).toMatchObject({
    secret: 'NEW_KEY',
    former_secret: 'OTHER_KEY',
  });
  expect(complaints).toEqual([]);
});
