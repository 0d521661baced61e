/** Saved views and colours in a real browser, shared by tabs and browsers. */
import { expect } from '@jest/globals';
import type { Page } from 'playwright-core';

import type { TestApp, TestUser } from '../../support/app.ts';
import { phone, wide } from '../../support/chromium.ts';
import { consoleTestsWithoutTemporal, expectFits } from '../../support/console.ts';
import { until } from '../../support/platform.ts';

let app: TestApp;

const { inBrowser, visit } = consoleTestsWithoutTemporal(async (started) => {
  app = started;
});

const somebody = () => app.createUser({ roles: ['builder'] });
const stored = async (user: TestUser) =>
  (await (await app.as(user)).get('/users/me/preferences')).body.console;
const heading = (page: Page, name: string) => page.getByRole('heading', { name, exact: true });
const views = (page: Page) => page.getByRole('dialog', { name: 'Saved views' });

/** Saves what the list shows, by keyboard. */
async function save(page: Page, name: string): Promise<void> {
  await page.keyboard.press('v');
  await views(page).getByLabel('Name of the filter').fill(name);
  await page.keyboard.press('Enter');
  await views(page).waitFor({ state: 'hidden' });
}

inBrowser('a filter is saved under a name, opened, renamed, opens first, and is deleted', async () => {
  const user = await somebody();
  const { page, complaints, open } = await visit(user);
  await open('/runs?status=faulted&q=refund');
  await heading(page, 'Runs').waitFor();
  await save(page, 'Bad refunds');
  await page.getByRole('button', { name: 'Views Bad refunds' }).waitFor();
  expect((await stored(user)).views.runs).toEqual([
    { name: 'Bad refunds', query: 'q=refund&status=faulted' },
  ]);
  await page.getByLabel('Status').selectOption('');
  await page.getByRole('button', { name: 'Views', exact: true }).waitFor();
  // By its name, from another screen.
  await page.keyboard.press('g');
  await page.keyboard.press('w');
  await heading(page, 'Workflows').waitFor();
  await page.keyboard.press('Control+k');
  await page.keyboard.type('bad ref');
  await page.keyboard.press('Enter');
  await heading(page, 'Runs').waitFor();
  expect(page.url()).toMatch(/\/runs\?q=refund&status=faulted$/);
  await page.keyboard.press('v');
  await views(page).getByRole('button', { name: 'Rename Bad refunds' }).click();
  await page.keyboard.press('Control+a');
  await page.keyboard.type('Lost money');
  await page.keyboard.press('Enter');
  await views(page).getByRole('button', { name: 'Open first Lost money' }).click();
  await views(page).getByText('opens first').waitFor();
  const link = page.getByRole('navigation').getByRole('link', { name: 'Runs' });
  expect(await link.getAttribute('href')).toBe('/console/runs?q=refund&status=faulted');
  // The second key comes before the browser tells of the closing.
  await Promise.all([page.keyboard.press('Escape'), page.keyboard.press('v')]);
  await views(page).getByRole('button', { name: 'Delete Lost money' }).click();
  await views(page).getByText('You have none of this list yet.').waitFor();
  expect((await stored(user)).views.runs).toEqual([]);
  expect(await link.getAttribute('href')).toBe('/console/runs');
  expect(complaints).toEqual([]);
});

inBrowser('the console opens at the view that is to open first, in every browser', async () => {
  const user = await somebody();
  const first = await visit(user);
  await first.open('/inbox?overdue=true');
  await heading(first.page, 'Inbox').waitFor();
  await save(first.page, 'Late');
  await first.page.keyboard.press('v');
  await views(first.page).getByRole('button', { name: 'Open first Late' }).click();
  await views(first.page).getByText('opens first').waitFor();
  const other = await visit(user);
  await other.open('/');
  await other.page.waitForURL('**/console/inbox?overdue=true');
  await other.page.getByRole('button', { name: 'Views Late' }).waitFor();
  // An address is what it says.
  await other.open('/inbox');
  await other.page.getByRole('button', { name: 'Views', exact: true }).waitFor();
  expect(other.page.url()).toMatch(/\/inbox$/);
});

inBrowser('a view that is saved while another tab saves one too keeps that of the other', async () => {
  const user = await somebody();
  const other = await app.as(user);
  const { page, complaints, open } = await visit(user);
  await open('/agents?status=active');
  await heading(page, 'Agents').waitFor();
  let isFirst = true;
  await page.route('**/users/me/preferences', async (route) => {
    if (route.request().method() === 'PUT' && isFirst) {
      isFirst = false;
      const agents = [{ name: 'Of the other', query: 'q=x' }];
      await other.put('/users/me/preferences', { cli: 'kept', console: { views: { agents } } });
    }
    await route.continue();
  });
  await save(page, 'Of this one');
  expect((await stored(user)).views.agents.map(({ name }: { name: string }) => name)).toEqual([
    'Of the other',
    'Of this one',
  ]);
  expect((await other.get('/users/me/preferences')).body.cli).toBe('kept');
  await page.keyboard.press('v');
  await views(page).getByRole('link', { name: 'Of the other' }).waitFor();
  // The browser itself notes that the first attempt was refused.
  expect(complaints).toEqual([expect.stringContaining('412')]);
});

inBrowser('colours follow to other browsers, also those that were chosen offline', async () => {
  const user = await somebody();
  const scheme = (page: Page) => page.evaluate('document.documentElement.style.colorScheme');
  const first = await visit(user);
  await first.open('/runs');
  await heading(first.page, 'Runs').waitFor();
  await first.page.keyboard.press('t');
  await until(
    () => stored(user),
    (console) => console?.theme === 'dark',
  );
  const second = await visit(user);
  await second.open('/runs');
  await until(
    () => scheme(second.page),
    (now) => now === 'dark',
  );
  await second.page.getByText('live', { exact: true }).waitFor();
  await second.page.context().setOffline(true);
  await second.page.keyboard.press('t');
  expect(await scheme(second.page)).toBe('light');
  expect((await stored(user)).theme).toBe('dark');
  await second.page.context().setOffline(false);
  await second.page.reload();
  await until(
    () => stored(user),
    (console) => console?.theme === 'light',
  );
  expect(await scheme(second.page)).toBe('light');
});

inBrowser('rows are as high as the user likes them, in every browser', async () => {
  const user = await somebody();
  await (await app.as(user)).post('/workflows', { name: 'A row', definition: { do: [{ a: { set: {} } }] } });
  const rowHeight = async (page: Page) => {
    await page.getByRole('link', { name: 'A row' }).waitFor();
    return (await page.locator('tbody tr').boundingBox())?.height ?? 0;
  };
  const first = await visit(user);
  await first.open('/workflows');
  const compact = await rowHeight(first.page);
  await first.open('/settings/profile');
  await first.page.getByLabel('Comfortable').check();
  await until(
    () => stored(user),
    (console) => console?.density === 'comfortable',
  );
  const second = await visit(user);
  await second.open('/workflows');
  await until(
    () => rowHeight(second.page),
    (height) => height > compact,
  );
  expect([...first.complaints, ...second.complaints]).toEqual([]);
});

inBrowser('saved views are accessible and fit, on a desk and on a phone, light and dark', async () => {
  const user = await somebody();
  const client = await app.as(user);
  const list = [
    { name: 'A view whose name goes on and on until it does not fit', query: 'q=x', default: true },
  ];
  const lists = { inbox: list, runs: list, workflows: list, agents: list };
  await client.put('/users/me/preferences', { console: { views: lists } });
  for (const viewport of [wide, phone]) {
    const { page, complaints, open } = await visit(user, { viewport });
    for (const name of ['inbox', 'runs', 'workflows', 'agents']) {
      await open(`/${name}?q=x`);
      await page.getByRole('button', { name: /^Views A view whose/ }).click();
      await views(page)
        .getByRole('link', { name: /^A view whose/ })
        .waitFor();
      await expectFits(page, `views-${name}-${viewport.width}`);
      await page.keyboard.press('Escape');
      await views(page).waitFor({ state: 'hidden' });
      await expectFits(page, `with-view-${name}-${viewport.width}`);
    }
    expect(complaints).toEqual([]);
  }
});
