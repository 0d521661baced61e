/** Webhooks of both directions in a real browser: their secrets, what fails, and whose they are. */
import { expect } from '@jest/globals';
import type { Page } from 'playwright-core';

import type { Client, TestApp, TestUser } from '../../support/app.ts';
import { phone, wide } from '../../support/chromium.ts';
import { consoleTestsWithoutTemporal, expectFits } from '../../support/console.ts';

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

inBrowser(
  'an admin finds what a person has by name, on a phone too, and nothing else is claimed',
  async () => {
    const { user: root, own: asRoot } = await person('root', 'admin');
    const { user: judy, own } = await person('judy');
    const { user: nobody } = await person('nobody-yet');
    const { user: gone, own: asGone } = await person('gone');
    const team = await create(asRoot, '/teams', { name: 'Receivers' });
    const joined = await asRoot.put(`/teams/${team}/members/${judy.id}`, { role: 'builder' });
    expect(joined.status).toBeLessThan(300);
    await create(own, '/webhooks', { url: 'https://judy.example.com/own' });
    await create(own, '/webhooks', { url: 'https://judy.example.com/team', team_id: team });
    await create(asRoot, '/webhooks', { url: 'https://root.example.com/team', team_id: team });
    await create(asGone, '/webhooks', { url: 'https://gone.example.com' });
    expect((await asRoot.patch(`/users/${gone.id}`, { status: 'disabled' })).status).toBe(200);
    for (const [at, client, query] of [
      ['own', own, ''],
      ['team', own, `?team_id=${team}`],
      ['root', asRoot, ''],
    ] as const) {
      const event = { specversion: '1.0', id: at, source: `/${at}`, type: `received.by.${at}` };
      const headers = { 'content-type': 'application/cloudevents+json' };
      expect((await client.post(`/events${query}`, event, { headers })).status).toBe(202);
    }
    for (const viewport of [wide, phone]) {
      const { page, complaints, open } = await visit(root, { viewport });
      const row = (name: string | RegExp) => page.getByRole('row', { name });
      const field = page.getByLabel('Person', { exact: true });
      const whose = page.getByLabel('Whose');
      const teams = page.getByLabel('Team');
      await open('/settings/webhooks');
      for (const name of ['judy.example.com/own', 'root.example.com/team', 'gone.example.com'])
        await row(name).waitFor();
      await page.getByText('that its owner or its team may see').waitFor();
      await field.fill('jud');
      await page.getByRole('option', { name: 'judy' }).click();
      await row('root.example.com/team').waitFor({ state: 'detached' });
      for (const name of ['judy.example.com/own', 'judy.example.com/team']) await row(name).waitFor();
      expect(await field.inputValue()).toBe('judy');
      await expectFits(page, `of-judy-${viewport.width}`);
      // A team and a person narrow together.
      await teams.selectOption('Receivers');
      await row('judy.example.com/own').waitFor({ state: 'detached' });
      await row('judy.example.com/team').waitFor();
      expect(await row('root.example.com/team').count()).toBe(0);
      await field.fill('nobody-yet');
      await field.press('Enter');
      await page.getByText('Nothing matches Receivers, Those of nobody-yet.').waitFor();
      await page.getByRole('button', { name: 'Clear filters' }).click();
      await row('root.example.com/team').waitFor();
      // Who is disabled has no suggestion, but is found by the whole name.
      await field.fill('GONE');
      await field.press('Enter');
      await row('judy.example.com/own').waitFor({ state: 'detached' });
      await row('gone.example.com').waitFor();
      await field.fill('no-such-person');
      await field.press('Enter');
      await page.getByText('There is no user no-such-person.').waitFor();

      await open('/settings/events');
      await row('received.by.root').waitFor();
      await page.getByText('These are yours. Choose a person or a team above').waitFor();
      await page.getByText('No sources. Whoever may send events may send them of any source.').waitFor();
      await field.fill('judy');
      await page.getByRole('option', { name: 'judy' }).click();
      await row('received.by.own').waitFor();
      expect(await page.getByText('These are yours').count()).toBe(0);
      // About those of judy, the list says nothing that holds for everybody.
      await page.getByText('Nothing matches Those of judy.').nth(1).waitFor();
      expect(await page.getByText('No sources.').count()).toBe(0);
      await teams.selectOption('Receivers');
      await row('received.by.team').waitFor();
      await page.getByText('These are all of the team').waitFor();
      await expectFits(page, `received-by-team-${viewport.width}`);
      await whose.selectOption('Everybody’s');
      await page.getByText('These are all of the team').waitFor({ state: 'detached' });
      await row('received.by.team').waitFor();
      expect(complaints).toEqual([]);
    }

    // A name of the list keeps what else is chosen.
    const { page, open } = await visit(root);
    await open(`/settings/webhooks?team=${team}`);
    await page
      .getByRole('row', { name: 'judy.example.com/team' })
      .getByRole('link', { name: 'judy', exact: true })
      .click();
    await page.getByRole('row', { name: 'root.example.com/team' }).waitFor({ state: 'detached' });
    expect(new URL(page.url()).searchParams.get('team')).toBe(team);
    await open('/settings/files?q=fern');
    await page.getByText('Files that people uploaded').waitFor();
    await page.getByLabel('Person', { exact: true }).fill(nobody.id);
    await page.getByLabel('Person', { exact: true }).press('Enter');
    await page.getByText('Nothing matches “fern”, Those of nobody-yet.').waitFor();
  },
);

inBrowser('a webhook that fails looks so on a phone, and many warnings take one line', async () => {
  const { user, own } = await person('fay');
  const types = Array.from({ length: 50 }, (_, at) => `io.cadenza.hitll.v${at}`);
  const id = await create(own, '/webhooks', { url: 'https://hooks.example.com/failing', types });
  expect((await own.get(`/webhooks/${id}`)).body.warnings).toHaveLength(50);
  await app.orm.em.fork().execute(
    `update delivery_target
        set failing_since = now(), last_error = ?, active = false, disabled_reason = 'failing' where id = ?`,
    [`answered 500: ${'the reason is long; '.repeat(20)}`, id],
  );
  for (const viewport of [wide, phone]) {
    const { page, complaints, open } = await visit(user, { viewport });
    await open('/settings/webhooks');
    const row = page.getByRole('row', { name: /failing/ });
    const visible = (text: string) => row.getByText(text).locator('visible=true');
    await visible('off: deliveries kept failing').waitFor();
    await visible('failing since').waitFor();
    await visible('answered 500').waitFor();
    await expectFits(page, `failing-${viewport.width}`);
    const warnings = visible('50 warnings');
    await warnings.focus();
    await page.keyboard.press('Enter');
    await visible('io.cadenza.hitll.v49 matches none of').waitFor();
    await expectFits(page, `failing-warned-${viewport.width}`);
    expect(complaints).toEqual([]);
  }
});
