/** What people of other roles see of what they may not change, with long names, on a phone. */
import { expect } from '@jest/globals';

import type { TestApp, TestUser } from '../../support/app.ts';
import { phone } from '../../support/chromium.ts';
import { consoleTestsWithoutTemporal, expectFits } from '../../support/console.ts';

/** Has no place where a line may break. */
const LONG = `${'Überweisungsbestätigung'.repeat(4)} of the branch`;
let app: TestApp;
let vera: TestUser;
let ids: Record<'workflow' | 'agent', string>;

const { inBrowser, visit } = consoleTestsWithoutTemporal(async (started) => {
  app = started;
  const [admin, owner] = [await app.as('admin'), await app.createUser({ roles: ['builder'] })];
  vera = await app.createUser({ username: 'vera', roles: ['viewer'] });
  for (const { id } of [owner, vera])
    expect((await admin.patch(`/users/${id}`, { display_name: LONG })).status).toBe(200);
  const asOwner = await app.as(owner);
  const definition = { do: [{ first: { set: { a: 1 } } }] };
  const workflow = await asOwner.post('/workflows', { name: LONG, definition, visibility: 'public' });
  const agent = await asOwner.post('/agents', {
    name: LONG,
    type: 'api',
    version: '1.0.0',
    visibility: 'public',
    configuration: { endpoint: `https://example.com/${'long-path/'.repeat(12)}` },
  });
  ids = { workflow: workflow.body.id, agent: agent.body.id };
});

inBrowser('forms for what a viewer may not change say so, and offer nothing to save', async () => {
  const { page, complaints, open } = await visit(vera, { viewport: phone });
  for (const [path, text] of [
    [`/agents/${ids.agent}/edit`, 'Its owner, builders of its team and admins can change this agent.'],
    [
      `/workflows/${ids.workflow}/edit`,
      'Its owner, builders of its team and admins can change this workflow.',
    ],
    ['/workflows/new', 'This needs the role builder.'],
    ['/agents/new', 'This needs the role builder.'],
  ] as const) {
    await open(path);
    await page.getByText(text).waitFor();
    expect([path, await page.locator('main :is(input, textarea, button.primary)').count()]).toEqual([
      path,
      0,
    ]);
    await expectFits(page, `viewer-${path.replaceAll(/\W+/g, '-')}`);
  }
  await open(`/workflows/${ids.workflow}/edit`);
  await page.getByRole('link', { name: 'Its definition' }).click();
  await page.getByRole('tab', { name: 'Definition', selected: true }).waitFor();
  expect(complaints).toEqual([]);
});

inBrowser('long names break or are shortened, of records and of the person', async () => {
  const { page, complaints, open } = await visit(vera, { viewport: phone });
  for (const path of [
    '/agents',
    `/agents/${ids.agent}`,
    '/workflows',
    `/workflows/${ids.workflow}`,
    '/settings',
  ]) {
    await open(path);
    await page.locator('h1').waitFor();
    await page.getByText(LONG).locator('visible=true').first().waitFor();
    await expectFits(page, `long-${path.replaceAll(/\W+/g, '-')}`);
    const beyond: unknown = await page.evaluate(`(() => {
      const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
      const found = [];
      for (let text = texts.nextNode(); text !== null; text = texts.nextNode()) {
        const holder = text.parentElement;
        if (holder.closest('[role=region], .hidden-text, dialog') || !holder.checkVisibility()) continue;
        const cut = getComputedStyle(holder).textOverflow === 'ellipsis' ? holder : null;
        const range = document.createRange();
        range.selectNodeContents(cut ?? text);
        const { right } = cut === null ? range.getBoundingClientRect() : cut.getBoundingClientRect();
        if (right > innerWidth + 1) found.push(text.data.slice(0, 40));
      }
      return found;
    })()`);
    expect([path, beyond]).toEqual([path, []]);
  }
  expect(complaints).toEqual([]);
});

inBrowser('where there is no team yet, admins read how to make one, and others who makes them', async () => {
  const admin = await visit(await app.createUser({ roles: ['admin'] }), { viewport: phone });
  await admin.open('/settings/teams');
  await admin.page.getByText('There is no team yet. “Create a team” makes one').waitFor();
  await admin.page.getByRole('button', { name: 'Create a team' }).waitFor();
  const other = await visit(vera, { viewport: phone });
  await other.open('/settings/teams');
  await other.page.getByText('You are in no team. Admins create teams').waitFor();
  expect(await other.page.getByRole('button', { name: 'Create a team' }).count()).toBe(0);
  expect([...admin.complaints, ...other.complaints]).toEqual([]);
});
