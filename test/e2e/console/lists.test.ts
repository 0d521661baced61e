/** The lists of runs and of tasks in a real browser: filters, orders, and actions on several runs. */
import { expect } from '@jest/globals';
import type { Page } from 'playwright-core';

import type { Client } from '../../support/app.ts';
import { accessibilityProblems, keepPicture, phone, sidewaysScroll, wide } from '../../support/chromium.ts';
import { consoleTests, expectScreensFit } from '../../support/console.ts';
import { insertRun } from '../../support/human-tasks.ts';
import { until, type TestPlatform } from '../../support/platform.ts';

let platform: TestPlatform;

const { inBrowser, visit } = consoleTests(async (started) => {
  platform = started;
});

const pausing = { do: [{ pause: { wait: { minutes: 10 } } }] };
const completing = { do: [{ only: { set: { done: true } } }] };
const asking = (title: string, more = {}) => ({
  do: [{ review: { call: 'human', with: { title, ...more } } }],
});

/** Runs of a workflow of the client's user, each with the input `{order}`, in this status. */
async function runsOf(
  client: Client,
  workflow: { name: string; definition: unknown; tags?: string[]; visibility?: string },
  orders: string[],
  status: string,
): Promise<string[]> {
  const created = await client.post('/workflows', workflow);
  expect(created.status).toBe(201);
  const ids: string[] = [];
  for (const order of orders) {
    const { body } = await client.post(`/workflows/${created.body.id}/run`, { input_params: { order } });
    ids.push(body.id);
    await statusIs(client, body.id, status);
  }
  return ids;
}

const statusIs = (client: Client, id: string, status: string) =>
  until(
    async () => (await client.get(`/runs/${id}`)).body.status,
    (now) => now === status,
  );

const row = (page: Page, name: string | RegExp) => page.getByRole('row', { name });
const gone = (page: Page, name: string) => row(page, name).waitFor({ state: 'detached' });

inBrowser('a list that is read anew while its next page is on its way goes on to its end', async () => {
  const user = await platform.createUser({ username: 'lena', roles: ['approver'] });
  const run = await insertRun(platform.orm, { owner: user.id });
  await platform.orm.em.fork().execute(
    `insert into hitl_task (id, run_id, workflow_name, owner_id, initiator_id, task, task_name, title,
                            decisions, status, priority, candidates, candidate_keys)
     select gen_random_uuid(), ?::uuid, 'long', ?::uuid, ?::uuid, '/do/0/ask', 'ask', 'Number ' || n,
            '[{"id": "approve", "label": "Approve", "requires_comment": false}]',
            'open', 50, '{"users": ["lena"], "roles": [], "groups": []}', array['name:lena']
       from generate_series(1, 300) n`,
    [run, user.id, user.id],
  );
  const { page, complaints, open } = await visit(user);
  let openStream = (): void => undefined;
  const mayOpen = new Promise<void>((resolve) => (openStream = resolve));
  await page.route('**/events?types=*', async (route) => {
    await mayOpen;
    await route.continue();
  });
  const isFirst = (url: string) => url.includes('/hitl/tasks?') && !url.includes('cursor=');
  let pages = 0;
  await page.route('**/hitl/tasks?*cursor=*', async (route) => {
    pages += 1;
    if (pages === 2) {
      // The first page is read anew when the stream opens.
      const anew = page.waitForResponse((response) => isFirst(response.url()));
      openStream();
      await (await anew).finished();
      await page.evaluate('new Promise(requestAnimationFrame)');
    }
    await route.continue();
  });
  await open('/inbox');
  await page.locator('[role=option]').first().waitFor();
  await until(
    () =>
      page.evaluate(`(() => {
        const box = document.querySelector('[role=listbox]');
        (window.tops ??= []).push(box.scrollTop);
        box.scrollTop = box.scrollHeight;
        // None is drawn for a moment after a jump.
        return box.querySelector('[role=option]')?.ariaSetSize ?? null;
      })()`),
    (size) => size === '300',
  );
  // No page that comes leads back to the chosen task, which is the first.
  const [first, ...later] = (await page.evaluate('tops')) as number[];
  expect([first, later.filter((top) => top === 0)]).toEqual([0, []]);
  expect(pages).toBeGreaterThan(2);
  expect(complaints).toEqual([]);
});

inBrowser('a task that comes while the list is being read stays in it', async () => {
  const user = await platform.createUser({ username: 'mona', roles: ['builder'] });
  const client = await platform.as(user);
  const start = (title: string) =>
    runsOf(
      client,
      { name: title, definition: asking(title, { candidates: { users: ['mona'] } }) },
      ['R'],
      'waiting',
    );
  await start('Early');
  const { page, complaints, open } = await visit(user);
  const [mayStream, mayAnswer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  await page.route('**/events?types=*', async (route) => {
    await mayStream.promise;
    await route.continue();
  });
  await open('/inbox');
  const task = (title: string) => page.getByRole('option', { name: title });
  await task('Early').waitFor();
  // The list is read anew when the stream opens; this answer is older than the next task.
  const isRead = Promise.withResolvers<void>();
  await page.route('**/hitl/tasks?*', async (route) => {
    const { pathname, search } = new URL(route.request().url());
    const { body } = await client.get(pathname + search);
    isRead.resolve();
    await mayAnswer.promise;
    await route.fulfill({ json: body });
  });
  mayStream.resolve();
  await isRead.promise;
  await start('Late');
  await task('Late').waitFor();
  const answered = page.waitForResponse((response) => response.url().includes('/hitl/tasks?'));
  mayAnswer.resolve();
  await (await answered).finished();
  await page.evaluate('new Promise(requestAnimationFrame)');
  expect(await page.getByRole('listbox').getByRole('option').count()).toBe(2);
  expect(complaints).toEqual([]);
});

inBrowser('several runs are cancelled by keyboard, and what cannot be is named', async () => {
  const user = await platform.createUser({ roles: ['builder'] });
  const client = await platform.as(user);
  const [first = '', second = ''] = await runsOf(
    client,
    { name: 'Pausing', definition: pausing },
    ['N-1', 'N-2'],
    'waiting',
  );
  await runsOf(client, { name: 'Quick', definition: completing }, ['N-3'], 'completed');
  const { page, complaints, open } = await visit(user);
  await open('/runs');
  await row(page, 'N-1').waitFor();
  await page.keyboard.press('x');
  await page.keyboard.press('j');
  await page.keyboard.press('x');
  await page.keyboard.press('j');
  await page.keyboard.press('x');
  const bar = page.getByRole('toolbar', { name: '3 selected' });
  await bar.getByRole('button', { name: 'Suspend' }).waitFor();
  // Nothing that is selected has failed.
  expect(await bar.getByRole('button', { name: 'Retry' }).count()).toBe(0);
  expect(await accessibilityProblems(page)).toEqual([]);
  await page.keyboard.press('?');
  const keys = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
  for (const text of ['Suspend 2 runs', 'Cancel 2 runs', 'Select this run', 'Clear the selection'])
    await keys.getByText(text).waitFor();
  expect(await keys.getByText('Retry').count()).toBe(0);
  await page.keyboard.press('Escape');
  await keys.waitFor({ state: 'hidden' });
  await page.keyboard.press('C');
  const dialog = page.getByRole('dialog', { name: 'Cancel 2 runs?' });
  await dialog.getByText('1 other selected run is left as it is').waitFor();
  expect(await accessibilityProblems(page)).toEqual([]);
  await dialog.getByRole('button', { name: 'Back' }).click();
  await dialog.waitFor({ state: 'hidden' });
  expect((await client.get(`/runs/${first}`)).body.status).toBe('waiting');
  await page.keyboard.press('C');
  await page.keyboard.press('Enter');
  await page.getByText('2 runs cancelled.').waitFor();
  await page.getByRole('toolbar', { name: '1 selected' }).waitFor();
  await row(page, /cancelled.*N-1/).waitFor();
  await row(page, /cancelled.*N-2/).waitFor();
  for (const id of [first, second]) await statusIs(client, id, 'cancelled');
  await page.keyboard.press('Escape');
  await page.getByRole('toolbar').waitFor({ state: 'detached' });
  expect(complaints).toEqual([]);
});

inBrowser('a run that ends while somebody decides is refused with its reason', async () => {
  const user = await platform.createUser({ roles: ['builder'] });
  const client = await platform.as(user);
  const [first = ''] = await runsOf(
    client,
    { name: 'Pausing', definition: pausing },
    ['O-1', 'O-2'],
    'waiting',
  );
  const { page, open } = await visit(user);
  await open('/runs');
  await row(page, 'O-1').waitFor();
  await page.getByLabel('Select all that are shown').check();
  await page.getByRole('button', { name: 'Suspend' }).click();
  const dialog = page.getByRole('dialog', { name: 'Suspend 2 runs?' });
  await dialog.waitFor();
  // The page learns of it after the server has.
  await page.route('**/runs/actions', async (route) => {
    await client.post(`/runs/${first}/cancel`);
    await statusIs(client, first, 'cancelled');
    await route.continue();
  });
  await dialog.getByRole('button', { name: 'Suspend 2 runs' }).click();
  await page.getByText('1 run suspended.').waitFor();
  await page.getByText("1 run refused: The run is cancelled: it can't be suspended.").waitFor();
  await row(page, /suspended.*O-2/).waitFor();
  await page.keyboard.press('Escape');
  await row(page, /suspended.*O-2/)
    .getByRole('checkbox')
    .check();
  await page.keyboard.press('S');
  await page.getByRole('dialog', { name: 'Resume 1 run?' }).waitFor();
  await page.keyboard.press('Enter');
  await row(page, /waiting.*O-2/).waitFor();
});

inBrowser('an admin filters runs by owner, workflow, time and tag, and the address keeps it', async () => {
  const admin = await platform.createUser({ roles: ['admin'] });
  const user = await platform.createUser({ username: 'owen', roles: ['builder'] });
  const [asAdmin, asUser] = [await platform.as(admin), await platform.as(user)];
  const own = { name: 'Of the admin', definition: completing, tags: ['ledger'] };
  await runsOf(asAdmin, own, ['P-1'], 'completed');
  const other = { name: 'Of Owen', definition: completing, visibility: 'public' };
  const [old = ''] = await runsOf(asUser, other, ['P-2', 'P-3'], 'completed');
  await platform.orm.em
    .fork()
    .execute(`update run set created_at = now() - interval '2 days' where id = ?`, [old]);
  const { page, complaints, open } = await visit(admin);
  await open('/runs');
  await row(page, /P-2 .*owen/).waitFor();
  await page.getByLabel('Whose runs').selectOption('Mine');
  await gone(page, 'P-2');
  await row(page, 'P-1').waitFor();
  await page.reload();
  await row(page, 'P-1').waitFor();
  expect(await page.getByLabel('Whose runs').inputValue()).toBe('me');
  await page.getByLabel('Whose runs').selectOption('Everybody’s');
  await page.getByLabel('Workflow', { exact: true }).selectOption('Of Owen');
  await gone(page, 'P-1');
  await row(page, 'P-2').waitFor();
  await page.getByLabel('When').selectOption('Last 24 hours');
  await gone(page, 'P-2');
  await row(page, 'P-3').waitFor();
  await page.getByLabel('Tag', { exact: true }).fill('ledger');
  await page.getByText('Nothing matches this workflow, last 24 hours, tag ledger.').waitFor();
  await page.getByRole('button', { name: 'Clear filters' }).click();
  await page.getByLabel('Tag', { exact: true }).fill('ledger');
  await gone(page, 'P-2');
  await row(page, 'P-1').waitFor();
  expect(new URL(page.url()).search).toBe('?tag=ledger');
  expect(complaints).toEqual([]);
});

inBrowser('the inbox has three orders, and shows what one has claimed', async () => {
  const owner = await platform.as('builder');
  const user = await platform.createUser({ username: 'ines', roles: ['approver'] });
  const client = await platform.as(user);
  const candidates = { users: ['ines'] };
  const tasks: [string, Record<string, unknown>][] = [
    ['Plain', {}],
    ['Late', { due: 'P9D' }],
    ['Soon', { due: 'P1D' }],
    ['Urgent', { priority: 90 }],
  ];
  for (const [title, more] of tasks)
    await runsOf(
      owner,
      { name: title, definition: asking(title, { ...more, candidates }) },
      ['x'],
      'waiting',
    );
  const { page, complaints, open } = await visit(user);
  const titles = async () =>
    (await page.getByRole('listbox').getByRole('option').allInnerTexts()).flatMap(
      (text) => /^\w+/.exec(text) ?? [],
    );
  const shows = (order: string[]) => until(titles, (now) => now.join() === order.join());
  await open('/inbox');
  await shows(['Urgent', 'Plain', 'Late', 'Soon']);
  await page.getByLabel('Order').selectOption('By due time');
  await shows(['Soon', 'Late', 'Plain', 'Urgent']);
  await page.reload();
  await shows(['Soon', 'Late', 'Plain', 'Urgent']);
  await page.getByLabel('Order').selectOption('Oldest first');
  await shows(['Plain', 'Late', 'Soon', 'Urgent']);
  const { body } = await client.get('/hitl/tasks?q=Late');
  await client.post(`/hitl/tasks/${body[0].id}/claim`);
  await page.getByLabel('Claimed by me').check();
  await shows(['Late']);
  expect(new URL(page.url()).search).toContain('claimed=me');
  await client.post(`/hitl/tasks/${body[0].id}/release`);
  await shows([]);
  await page.getByRole('button', { name: 'Clear filters' }).click();
  // The order is no filter.
  await shows(['Plain', 'Late', 'Soon', 'Urgent']);
  expect(complaints).toEqual([]);
});

inBrowser('the lists are accessible and fit, on a desk and on a phone, light and dark', async () => {
  const admin = await platform.createUser({ roles: ['admin'] });
  const client = await platform.as(admin);
  await runsOf(client, { name: 'Fits', definition: pausing }, ['Q-1', 'Q-2'], 'waiting');
  await expectScreensFit(
    (viewport) => visit(admin, { viewport }),
    [
      ['inbox-orders', '/inbox?scope=candidate&sort=due&claimed=me', 'No task matches.'],
      ['runs-filtered', '/runs?owner=me&since=P1D&tag=none', 'Nothing matches'],
    ],
  );
  for (const viewport of [wide, phone]) {
    const { page, complaints, open } = await visit(admin, { viewport });
    const check = async (name: string) => {
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
        const at = `${name}-${viewport.width}-${colorScheme}`;
        await keepPicture(page, at);
        expect([at, await accessibilityProblems(page), await sidewaysScroll(page)]).toEqual([at, [], 0]);
      }
    };
    await open('/runs?owner=me&since=P1D');
    await page.getByRole('link', { name: 'Fits' }).first().waitFor();
    await page.getByLabel('Select all that are shown').check();
    await page.getByRole('toolbar').waitFor();
    await check('runs-selected');
    await page.keyboard.press('S');
    await page.getByRole('dialog', { name: 'Suspend 2 runs?' }).waitFor();
    await check('runs-confirm');
    expect(complaints).toEqual([]);
  }
});
