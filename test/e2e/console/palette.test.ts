/** The palette, the keys of a screen, the way between records, and skeletons, in a real browser. */
import { expect } from '@jest/globals';
import type { Page } from 'playwright-core';

import type { Client, TestApp, TestUser } from '../../support/app.ts';
import { accessibilityProblems, keepPicture, phone, wide } from '../../support/chromium.ts';
import { consoleTestsWithoutTemporal, expectFits } from '../../support/console.ts';
import { insertRun, insertTask } from '../../support/human-tasks.ts';
import { until } from '../../support/platform.ts';

let app: TestApp;
let ada: TestUser;
let asAda: Client;

const { inBrowser, visit } = consoleTestsWithoutTemporal(async (started) => {
  app = started;
  ada = await app.createUser({ username: 'ada', roles: ['builder'] });
  asAda = await app.as(ada);
});

async function create(name: string): Promise<string> {
  const { status, body } = await asAda.post('/workflows', { name, definition: { do: [{ a: { set: {} } }] } });
  expect(status).toBe(201);
  return body.id;
}

const heading = (page: Page, name: string) => page.getByRole('heading', { name, exact: true });
const palette = (page: Page) => page.getByRole('dialog', { name: 'Search or do…' });
const chosen = (page: Page) => palette(page).getByRole('option', { selected: true });

inBrowser('somebody goes to screens and records, and acts, by names alone', async () => {
  const id = await create('Invoices of suppliers');
  const run = await insertRun(app.orm, { owner: ada.id });
  await insertTask(app.orm, run, {
    title: 'Pay the big invoice?',
    candidates: { users: [ada.username], roles: [], groups: [] },
  });
  const { page, complaints, open } = await visit(ada);
  await open('/inbox');
  await heading(page, 'Inbox').waitFor();
  // As fast as the keyboard goes: nothing is lost while the list is loaded.
  await page.keyboard.press('Control+k');
  await page.keyboard.type('workfl');
  await page.keyboard.press('Enter');
  await heading(page, 'Workflows').waitFor();
  await page.keyboard.press('Control+k');
  await page.keyboard.type('invoice');
  const results = palette(page);
  await results
    .getByRole('group', { name: 'Tasks' })
    .getByRole('option', { name: /Pay the big/ })
    .waitFor();
  await results.getByRole('group', { name: 'Workflows' }).getByRole('option').waitFor();
  // What is chosen is what the screen reader hears of the field that keeps the focus.
  const field = page.getByRole('combobox', { name: 'Search or do…' });
  const active = async () =>
    page.locator(`#${await field.getAttribute('aria-activedescendant')}`).innerText();
  expect(await active()).toContain('Pay the big invoice?');
  await page.keyboard.press('ArrowDown');
  expect(await chosen(page).innerText()).toContain('Invoices of suppliers');
  expect(await active()).toContain('Invoices of suppliers');
  await keepPicture(page, 'palette');
  await page.keyboard.press('Enter');
  await heading(page, 'Invoices of suppliers').waitFor();
  expect(page.url()).toContain(id);
  // What the screen does has a name too.
  await page.keyboard.press('Control+k');
  await page.keyboard.type('show: definition');
  await page.keyboard.press('Enter');
  await page.getByRole('tab', { name: 'Definition', selected: true }).waitFor();
  // A run by its whole id.
  await page.keyboard.press('Control+k');
  await page.keyboard.insertText(run);
  await results.getByRole('option', { name: /purchase/ }).waitFor();
  await page.keyboard.press('Enter');
  await heading(page, 'purchase').waitFor();
  expect(page.url()).toContain(run);
  expect(complaints).toEqual([]);
});

inBrowser('the palette closes as it opened, and says when it finds nothing', async () => {
  const { page, complaints, open } = await visit(ada);
  await open('/runs');
  await page.getByRole('button', { name: 'Search or do…' }).click();
  await page.keyboard.type('no-such-thing');
  await palette(page).getByText('Nothing is called “no-such-thing”.').waitFor();
  expect(await palette(page).getByRole('option').count()).toBe(0);
  await page.keyboard.press('Escape');
  await palette(page).waitFor({ state: 'hidden' });
  expect(await page.evaluate('document.activeElement.textContent')).toContain('Search or do…');
  await page.keyboard.press('Control+k');
  await page.keyboard.press('Control+k');
  await palette(page).waitFor({ state: 'hidden' });
  // It stays open if it is opened again before the browser has told that it is closed.
  const isOpen = await page.evaluate(`(async () => {
    const press = async () => {
      const key = { key: 'k', ctrlKey: true, bubbles: true, cancelable: true };
      document.activeElement.dispatchEvent(new KeyboardEvent('keydown', key));
      for (let step = 0; step < 5; step += 1) await null;
    };
    await press();
    const dialog = document.querySelector('dialog[open]');
    // The page's own listener comes before this one.
    const told = new Promise((resolve) => dialog.addEventListener('close', resolve, { once: true }));
    await press();
    await press();
    await told;
    for (let step = 0; step < 5; step += 1) await null;
    return dialog.open;
  })()`);
  expect(isOpen).toBe(true);
  expect(complaints).toEqual([]);
});

inBrowser('a key shows what the keys of this screen do, beside those of every screen', async () => {
  const id = await create('Has keys');
  const { page, open } = await visit(ada);
  await open(`/workflows/${id}`);
  await heading(page, 'Has keys').waitFor();
  await page.keyboard.press('Control+k');
  // A key right after the palette is closed is no text, although the browser has not moved the focus yet.
  await page.evaluate(`
    document.querySelector('dialog[open]').close();
    document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key: '?', bubbles: true }));
  `);
  const dialog = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
  const part = (name: string) => dialog.locator('section', { has: page.getByRole('heading', { name }) });
  await part('On this screen').getByText('Edit this workflow').waitFor();
  await part('Everywhere').getByText('Go to the inbox').waitFor();
  expect(await dialog.getByText('Next step').count()).toBe(0);
  await page.keyboard.press('Escape');
  await page.keyboard.press('g');
  await page.keyboard.press('r');
  await heading(page, 'Runs').waitFor();
  await page.keyboard.press('?');
  await part('On this screen').getByText('Next run').waitFor();
  expect(await dialog.getByText('Edit this workflow').count()).toBe(0);
});

inBrowser('keys lead from a record to its neighbours, and back to the filtered list', async () => {
  for (const name of ['Series one', 'Series two', 'Series three']) await create(name);
  const { page, complaints, open } = await visit(ada);
  await open('/workflows?q=series');
  await page.getByRole('link', { name: 'Series two' }).click();
  await page.getByText('2 of 3').waitFor();
  await page.keyboard.press(']');
  await heading(page, 'Series one').waitFor();
  await page.getByText('3 of 3').waitFor();
  // There is none after the last.
  await page.keyboard.press(']');
  await page.keyboard.press('[');
  await heading(page, 'Series two').waitFor();
  await page.getByRole('button', { name: 'Previous record' }).click();
  await heading(page, 'Series three').waitFor();
  await page.keyboard.press('u');
  await page.getByRole('searchbox').waitFor();
  expect(await page.getByRole('searchbox').inputValue()).toBe('series');
  expect(complaints).toEqual([]);
});

/** Entries without a step, from one number to another. */
async function addEntries(run: string, first: number, last: number): Promise<void> {
  await app.orm.em.fork().execute(
    `with added as (
       insert into run_event (run_id, seq, key, type, at, level, message, data)
       select ?::uuid, n, 'entry' || n, 'io.cadenza.hitl.commented.v1', clock_timestamp(), 'info',
              'entry ' || n, '{}'
         from generate_series(?::int, ?::int) n)
     update run set last_seq = ? where id = ?`,
    [run, first, last, last, run],
  );
  await app.orm.em.fork().execute(`select pg_notify('run_event', ?)`, [run]);
}

inBrowser('of a very long log the end is shown, and all of it to whoever asks', async () => {
  const run = await insertRun(app.orm, { owner: ada.id });
  await addEntries(run, 1, 20_500);
  const { page, complaints, open } = await visit(ada);
  await open(`/runs/${run}?view=log`);
  await page.getByText('The first 500 events of this run are not shown.').waitFor();
  await page.getByText('20000 entries').waitFor();
  await page.getByText('entry 20500', { exact: true }).waitFor();
  expect(await accessibilityProblems(page)).toEqual([]);
  await page.getByRole('button', { name: 'Show all' }).click();
  await page.getByText('20500 entries').waitFor();
  expect(await page.getByRole('slider').getAttribute('min')).toBe('1');
  expect(complaints).toEqual([]);
});

inBrowser('a hidden tab lets go of its streams, and misses nothing when it is looked at again', async () => {
  const run = await insertRun(app.orm, { owner: ada.id });
  await addEntries(run, 1, 3);
  const { page, complaints, open } = await visit(ada);
  await page.clock.install();
  const ended: string[] = [];
  page.on('requestfailed', (request) => ended.push(new URL(request.url()).pathname));
  await open(`/runs/${run}?view=log`);
  await page.getByText('3 entries').waitFor();
  const show = (isHidden: boolean) =>
    page.evaluate(`Object.defineProperty(document, 'hidden', { value: ${isHidden}, configurable: true });
      document.dispatchEvent(new Event('visibilitychange'))`);
  await show(true);
  await page.clock.fastForward(20_000);
  await until(
    async () => ended.toSorted(),
    (paths) => paths.length === 2,
  );
  expect(ended.toSorted()).toEqual(['/events', `/runs/${run}/events`]);
  await addEntries(run, 4, 5);
  await show(false);
  await page.getByText('entry 5', { exact: true }).waitFor();
  await page.getByText('5 entries').waitFor();
  expect(complaints).toEqual([]);
});

inBrowser('a record that takes long shows that it is read', async () => {
  const id = await create('Slow to come');
  const run = await insertRun(app.orm, { owner: ada.id });
  const agent = await asAda.post('/agents', {
    name: 'slow agent',
    type: 'api',
    version: '1.0.0',
    visibility: 'private',
  });
  for (const [path, record, title] of [
    [`/workflows/${id}`, `**/workflows/${id}`, 'Slow to come'],
    [`/runs/${run}`, `**/runs/${run}`, 'purchase'],
    [`/agents/${agent.body.id}`, `**/agents/${agent.body.id}`, 'slow agent'],
  ] as const) {
    const { page, complaints, open } = await visit(ada);
    const held = Promise.withResolvers<void>();
    await page.route(record, async (route) => {
      if (route.request().resourceType() !== 'fetch') return route.continue();
      await held.promise;
      return route.continue();
    });
    await open(path);
    await page.locator('main [aria-busy=true] > [aria-hidden=true]').waitFor();
    await keepPicture(page, `skeleton-${title}`);
    expect([path, await accessibilityProblems(page)]).toEqual([path, []]);
    held.resolve();
    await heading(page, title).waitFor();
    expect(await page.locator('main [aria-busy=true] > [aria-hidden=true]').count()).toBe(0);
    expect(complaints).toEqual([]);
  }
});

inBrowser(
  'palette and list of keys are accessible and fit, on a desk and on a phone, light and dark',
  async () => {
    await create('A workflow with a name that is long enough to be cut on a phone, and then goes on and on');
    for (const viewport of [wide, phone]) {
      const { page, complaints, open } = await visit(ada, { viewport });
      await open('/workflows');
      await heading(page, 'Workflows').waitFor();
      await page.keyboard.press('Control+k');
      await page.keyboard.type('work');
      await palette(page).getByRole('group', { name: 'Workflows' }).waitFor();
      await expectFits(page, `palette-${viewport.width}`);
      await page.keyboard.press('Escape');
      await page.keyboard.press('?');
      await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
      await expectFits(page, `keys-${viewport.width}`);
      expect(complaints).toEqual([]);
    }
  },
);
