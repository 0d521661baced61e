/** The console in a real browser, on the real platform: people decide, and see runs go on. */
import { expect } from '@jest/globals';
import type { Page } from 'playwright-core';

import { createClient, type Client, type TestUser } from '../../support/app.ts';
import { accessibilityProblems, keepPicture, phone, sidewaysScroll, wide } from '../../support/chromium.ts';
import { sessionCookie } from '../../support/browser.ts';
import { consoleTests, expectFits, expectScreensFit, type Screen } from '../../support/console.ts';
import { startRun, until, type TestPlatform } from '../../support/platform.ts';
import { foldRun } from '../../../web/src/screens/run/fold-run.ts';

const password = 'correct horse battery staple';
let platform: TestPlatform;
let builder: Client;
let ada: TestUser;
let grace: TestUser;

const { inBrowser, visit } = consoleTests(async (started) => {
  platform = started;
  builder = await platform.as('builder');
  ada = await platform.createUser({ username: 'ada', roles: ['builder'] });
  grace = await platform.createUser({ username: 'grace', roles: ['approver'] });
});

const form = {
  type: 'object',
  required: ['amount'],
  properties: {
    amount: { type: 'number', title: 'Amount to refund', minimum: 1, description: 'In euro.' },
    reason: { enum: ['lost', 'broken'], title: 'Reason' },
    tell: { type: 'boolean', title: 'Tell the customer', default: true },
  },
};
const refund = {
  do: [
    { check: { set: { order: '${ .order }', risk: 'low' } } },
    {
      review: {
        call: 'human',
        with: {
          title: 'Refund ${ .order }?',
          description: 'The parcel **never arrived**.',
          subject: '${ . }',
          candidates: { users: ['ada', 'grace'] },
        },
      },
    },
    { settle: { set: { done: true } } },
  ],
};
const withForm = {
  do: [
    { check: { set: { order: '${ .order }', risk: 'low' } } },
    {
      review: {
        call: 'human',
        with: {
          title: 'How much for ${ .order }?',
          form,
          candidates: { users: ['ada', 'grace'] },
          context: ['check', { urgency: 'high' }],
        },
      },
    },
  ],
};

const start = async (definition: unknown, order: string): Promise<string> =>
  (await startRun(builder, definition, { order }))['id'];
const status = async (run: string): Promise<string> => (await builder.get(`/runs/${run}`)).body.status;
const isWaiting = (run: string) =>
  until(
    () => status(run),
    (now) => now === 'waiting',
  );
const isOver = (run: string) =>
  until(
    () => status(run),
    (now) => ['completed', 'faulted', 'cancelled'].includes(now),
  );
const row = (page: Page, title: string) => page.getByRole('option', { name: title });
const heading = (page: Page, title: string) => page.getByRole('heading', { name: title, exact: true });

inBrowser('somebody logs in, decides the waiting task, and sees the run end', async () => {
  const admin = await platform.as('admin');
  const created = await admin.post('/users', {
    username: 'tess',
    email: 'tess@example.com',
    password,
    roles: ['admin'],
  });
  expect(created.status).toBe(201);
  const run = await start(refund, 'A-1');
  await isWaiting(run);
  const { page, complaints, open } = await visit(null);
  await open('/');
  await page.getByLabel('Username').fill('tess');
  await page.getByLabel('Password').fill('wrong');
  await page.getByRole('button', { name: 'Log in' }).click();
  await page.getByRole('alert').getByText(/\w/).waitFor();
  // The browser itself notes refused requests.
  expect(complaints.splice(0)).toEqual([expect.stringContaining('401')]);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Log in' }).click();
  await page.getByLabel('Which tasks').selectOption('all');
  await row(page, 'Refund A-1?').click();
  await heading(page, 'Refund A-1?').waitFor();
  expect(await page.locator('article strong').innerText()).toBe('never arrived');
  await page.getByRole('link', { name: 'test' }).click();
  await page.getByRole('link', { name: 'decision in review' }).click();
  await page.getByRole('button', { name: 'Approve' }).click();
  await page.getByText('Decided “Approve” for “Refund A-1?”.').waitFor();
  // The note leads to what came of it.
  await page.getByRole('link', { name: 'See the run' }).first().click();
  await page.getByText('Result {"done":true}').waitFor();
  await page.keyboard.press('u');
  await page.getByRole('row', { name: /completed.*A-1/ }).waitFor();
  expect(await isOver(run)).toBe('completed');
  await page.setViewportSize(phone);
  await page.getByRole('row', { name: /completed.*A-1/ }).waitFor();
  await page.setViewportSize(wide);
  await page.getByRole('button', { name: 'tess' }).click();
  await page.getByRole('button', { name: 'Log out' }).click();
  await page.getByRole('heading', { name: 'Log in to Cadenza' }).waitFor();
  expect(complaints).toEqual([]);
});

inBrowser('the tour works by keyboard alone on a phone', async () => {
  const thomas = { username: 'thomas', email: 'thomas@example.com', password, roles: ['approver'] };
  expect((await (await platform.as('admin')).post('/users', thomas)).status).toBe(201);
  const definition: any = structuredClone(refund);
  definition.do[1].review.with.candidates.users = ['thomas'];
  const run = await start(definition, 'P-1');
  await isWaiting(run);
  const { page, complaints, open } = await visit(null, { viewport: phone });
  await open('/');
  await page.getByLabel('Username').focus();
  await page.keyboard.type('thomas');
  await page.keyboard.press('Tab');
  await page.keyboard.type(password);
  await page.keyboard.press('Enter');
  await row(page, 'Refund P-1?').waitFor();
  await page.keyboard.press('j');
  await page.keyboard.press('Enter');
  await heading(page, 'Refund P-1?').waitFor();
  await page.keyboard.press('a');
  await page.getByText('Press Enter to send “Approve”, or Esc to leave it.').waitFor();
  await expectFits(page, 'task-prepared');
  await page.keyboard.press('Escape');
  await page.getByText('Press Enter').waitFor({ state: 'detached' });
  await page.keyboard.press('a');
  await page.keyboard.press('Enter');
  await page.getByText('Decided “Approve” for “Refund P-1?”.').waitFor();
  expect(await isOver(run)).toBe('completed');
  // Whoever may not see the run sees their task, now decided.
  await page.getByText('Your last decision: “Approve” for “Refund P-1?”.').waitFor();
  await page.keyboard.press('o');
  await page.getByText('Decided: “Approve”, by thomas.').waitFor();
  expect(complaints).toEqual([]);
});

inBrowser('the inbox works by keyboard alone, and new tasks come by themselves', async () => {
  const runs = [await start(refund, 'K-1'), await start(refund, 'K-2')];
  for (const run of runs) await isWaiting(run);
  const { page, complaints, open } = await visit(ada);
  await open('/inbox?q=K-');
  await row(page, 'Refund K-2?').waitFor();
  await heading(page, 'Refund K-1?').waitFor();
  await page.keyboard.press('j');
  await heading(page, 'Refund K-2?').waitFor();
  await page.keyboard.press('k');
  await heading(page, 'Refund K-1?').waitFor();
  // One key prepares, one sends; typed without a pause.
  await page.keyboard.press('a');
  await page.keyboard.press('Enter');
  await heading(page, 'Refund K-2?').waitFor();
  expect(await isOver(runs[0] ?? '')).toBe('completed');
  await page.keyboard.press('r');
  await page.keyboard.press('Enter');
  expect(await isOver(runs[1] ?? '')).not.toBe('waiting');
  const decisions = await Promise.all(
    runs.map(async (run) => (await builder.get(`/runs/${run}`)).body.logs.map((entry: any) => entry.message)),
  );
  expect(decisions.map((messages) => messages.join('\n'))).toEqual([
    expect.stringContaining('ada decided approve'),
    expect.stringContaining('ada decided reject'),
  ]);
  await page.goto(`${platform.url}/console/inbox`);
  const late = await start(refund, 'K-3');
  await row(page, 'Refund K-3?').waitFor();
  await page.keyboard.press('Escape');
  await page.keyboard.press('x');
  await page.getByRole('toolbar', { name: '1 selected' }).waitFor();
  await page.keyboard.press('a');
  expect(await isOver(late)).toBe('completed');
  expect(complaints).toEqual([]);
});

inBrowser('one key decides for those who want that, and can be taken back until it is sent', async () => {
  const kim = await platform.createUser({ username: 'kim', roles: ['approver'] });
  const preferences = { console: { decides: 'one_key' } };
  const chosen = await (await platform.as(kim)).put('/users/me/preferences', preferences);
  expect(chosen.status).toBe(200);
  const definition: any = structuredClone(refund);
  definition.do[1].review.with.candidates.users = ['kim'];
  const run = await start(definition, 'Z-1');
  await isWaiting(run);
  const { page, complaints, open } = await visit(kim);
  await open('/inbox');
  await heading(page, 'Refund Z-1?').waitFor();
  await page.keyboard.press('r');
  await page.getByText('Nothing waits for you.').waitFor();
  await page.keyboard.press('z');
  await heading(page, 'Refund Z-1?').waitFor();
  await page.keyboard.press('a');
  await page.getByRole('button', { name: 'Take it back' }).waitFor();
  expect(await accessibilityProblems(page)).toEqual([]);
  expect(await status(run)).toBe('waiting');
  // Whoever leaves has decided.
  await page.getByRole('button', { name: 'kim' }).click();
  await page.getByRole('button', { name: 'Log out' }).click();
  await page.getByRole('heading', { name: 'Log in to Cadenza' }).waitFor();
  expect(await isOver(run)).toBe('completed');
  const { body } = await builder.get(`/runs/${run}`);
  expect(body.output).toEqual({ done: true });
  expect(body.logs.filter((entry: any) => entry.message.includes('decided'))).toHaveLength(1);
  expect(complaints).toEqual([]);
});

inBrowser('of several decisions that are held, none waits for another when the page is left', async () => {
  const uma = await platform.createUser({ username: 'uma', roles: ['approver'] });
  await (await platform.as(uma)).put('/users/me/preferences', { console: { decides: 'one_key' } });
  const definition: any = structuredClone(refund);
  definition.do[1].review.with.candidates.users = ['uma'];
  const orders = ['H-1', 'H-2', 'H-3'];
  const runs: string[] = [];
  for (const order of orders) {
    runs.push(await start(definition, order));
    await isWaiting(runs.at(-1) ?? '');
  }
  const { page, open } = await visit(uma);
  const mayAnswer = Promise.withResolvers<void>();
  const asked: string[] = [];
  await page.route('**/decision', async (route) => {
    asked.push(route.request().url());
    if (asked.length === 1) await mayAnswer.promise;
    await route.continue();
  });
  await open('/inbox?sort=created');
  for (const order of orders) {
    await heading(page, `Refund ${order}?`).waitFor();
    await page.keyboard.press('a');
  }
  await page.getByText('Nothing waits for you.').waitFor();
  await page.evaluate(`
    Object.defineProperty(document, 'hidden', { get: () => true });
    document.dispatchEvent(new Event('visibilitychange'));`);
  // The first is not answered yet.
  await until(
    async () => new Set(asked).size,
    (count) => count === orders.length,
  );
  mayAnswer.resolve();
  for (const run of runs) {
    expect(await isOver(run)).toBe('completed');
    const { logs } = (await builder.get(`/runs/${run}`)).body;
    expect(logs.filter((entry: any) => entry.message.includes('decided'))).toHaveLength(1);
  }
});

inBrowser(
  'a tap on a phone can be taken back until it is sent, and is sent when the page is left',
  async () => {
    const definition: any = structuredClone(refund);
    definition.do[1].review.with.candidates.users = ['tina'];
    const run = await start(definition, 'T-1');
    await isWaiting(run);
    const tina = await platform.createUser({ username: 'tina', roles: ['approver'] });
    const { page, complaints, open } = await visit(tina, { viewport: phone, touch: true });
    await open('/inbox');
    await row(page, 'Refund T-1?').tap();
    await expectFits(page, 'task-touched');
    expect(await page.locator('kbd').filter({ visible: true }).count()).toBe(0);
    // For the page the 5 s never end, however long the machine takes. Its timers go on.
    await page.clock.setFixedTime(new Date());
    await page.getByRole('button', { name: 'Reject' }).tap();
    await page.getByText('“Reject” for “Refund T-1?” is sent in 5 s.').waitFor();
    await keepPicture(page, 'task-held');
    await page.getByRole('button', { name: 'Take it back' }).tap();
    await heading(page, 'Refund T-1?').waitFor();
    await page.getByRole('button', { name: 'Approve' }).tap();
    await page.getByRole('button', { name: 'Take it back' }).waitFor();
    expect(await status(run)).toBe('waiting');
    await page.goto('about:blank');
    expect(await isOver(run)).toBe('completed');
    const { body } = await builder.get(`/runs/${run}`);
    expect(body.logs.filter((entry: any) => entry.message.includes('decided'))).toHaveLength(1);
    expect(complaints).toEqual([]);
  },
);

inBrowser('nothing is sent for a user after another tab has logged in somebody else', async () => {
  const run = await start(refund, 'U-1');
  await isWaiting(run);
  const { page, open } = await visit(ada);
  await open('/inbox?q=U-1');
  await heading(page, 'Refund U-1?').waitFor();
  await page.getByLabel('Comment').fill('As Ada');
  // As another tab would, without a word to this one.
  const [name = '', value = ''] = (await sessionCookie(platform, grace)).split('=');
  await page.context().addCookies([{ name, value, url: platform.url, sameSite: 'Strict', httpOnly: true }]);
  const refused = page.waitForResponse((response) => response.url().endsWith('/decision'));
  await page.getByRole('button', { name: 'Approve' }).click();
  expect((await refused).status()).toBe(401);
  await page.getByText('grace has logged in to this browser.').waitFor();
  await heading(page, 'Refund U-1?').waitFor();
  expect(await page.getByLabel('Comment').inputValue()).toBe('');
  expect(await status(run)).toBe('waiting');
  // From now on it is hers.
  await page.getByRole('button', { name: 'Approve' }).click();
  expect(await isOver(run)).toBe('completed');
  const { body } = await builder.get(`/runs/${run}`);
  expect(body.logs.filter((entry: any) => entry.message.includes('decided'))).toEqual([
    expect.objectContaining({ message: expect.stringContaining('grace decided approve') }),
  ]);
});

inBrowser('people have names, and a task is delegated to one of them', async () => {
  const admin = await platform.as('admin');
  await admin.patch(`/users/${grace.id}`, { display_name: 'Grace Hopper' });
  const run = await start(refund, 'D-1');
  await isWaiting(run);
  const { page, complaints, open } = await visit(ada);
  await open('/inbox?scope=candidate&q=D-1');
  await heading(page, 'Refund D-1?').waitFor();
  await page.getByRole('link', { name: /^Inbox \d+ to decide$/ }).waitFor();
  await page.keyboard.press('m');
  await page.getByRole('dialog').getByLabel('Comment').fill('Is it insured?');
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByText(/^ada · /).waitFor();
  await page.keyboard.press('d');
  const field = page.getByRole('dialog').getByRole('combobox', { name: 'Person who should decide' });
  await page.keyboard.type('hopp');
  await page.getByRole('option', { name: 'Grace Hopper grace', selected: true }).waitFor();
  expect(await accessibilityProblems(page)).toEqual([]);
  await keepPicture(page, 'delegate');
  // Escape closes the list, and the dialog stays.
  await page.keyboard.press('Escape');
  expect(await field.getAttribute('aria-expanded')).toBe('false');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  expect(await field.inputValue()).toBe('grace');
  await page.keyboard.press('Enter');
  await page.getByText('Delegated to Grace Hopper.').waitFor();
  await page.getByText('Grace Hopper decides in place of ada').waitFor();
  const { body } = await (await platform.as(grace)).get(`/hitl/tasks?run_id=${run}`);
  expect(body[0].can).toContain('decide');
  await admin.patch(`/users/${grace.id}`, { display_name: null });
  expect(complaints).toEqual([]);
});

inBrowser('a form is checked in the words of the server before it is sent', async () => {
  const run = await start(withForm, 'F-1');
  await isWaiting(run);
  const { page, complaints, open } = await visit(ada);
  await open('/inbox?q=F-1');
  await heading(page, 'How much for F-1?').waitFor();
  const led = page.getByRole('region', { name: 'What led here' });
  await led.getByText('check').click();
  await led.getByRole('definition').getByText('low').waitFor();
  expect(await led.getByText('high').isVisible()).toBe(false);
  await page.getByRole('button', { name: 'Approve' }).click();
  await page.getByText('Amount to refund is missing').waitFor();
  expect(await page.getByLabel('Amount to refund').getAttribute('aria-invalid')).toBe('true');
  await page.getByLabel('Amount to refund').fill('0');
  await page.getByRole('button', { name: 'Approve' }).click();
  await page.getByText('Amount to refund must be at least 1').waitFor();
  await keepPicture(page, 'inbox-form-problem');
  expect(await accessibilityProblems(page)).toEqual([]);
  await page.getByLabel('Amount to refund').fill('560');
  await page.getByLabel('Reason').selectOption('Lost');
  await page.keyboard.press('Control+Enter');
  expect(await isOver(run)).toBe('completed');
  const { body } = await builder.get(`/runs/${run}`);
  expect(body.output).toMatchObject({ payload: { amount: 560, reason: 'lost', tell: true } });
  expect(complaints).toEqual([]);
});

inBrowser('of two people who decide at once one wins, and the other is told', async () => {
  const run = await start(refund, 'R-1');
  await isWaiting(run);
  const [first, second] = [await visit(ada), await visit(grace)];
  for (const { page, open } of [first, second]) {
    await open('/inbox?q=R-1');
    await heading(page, 'Refund R-1?').waitFor();
  }
  await first.page.route('**/decision', async (route) => {
    await second.page.keyboard.press('r');
    await second.page.keyboard.press('Enter');
    await isOver(run);
    await route.continue();
  });
  await first.page.keyboard.press('a');
  await first.page.keyboard.press('Enter');
  await first.page.getByText('grace decided reject').waitFor();
  const { body } = await builder.get(`/runs/${run}`);
  expect(body.logs.filter((entry: any) => entry.message.includes('decided'))).toHaveLength(1);
});

inBrowser('a vote of two is seen by the other person, and the second one decides', async () => {
  const vote = { title: 'Two for ${ .order }?', candidates: { users: ['ada', 'grace'] } };
  const definition = { do: [{ review: { call: 'human', with: { ...vote, quorum: { approvals: 2 } } } }] };
  const run = await start(definition, 'Q-1');
  await isWaiting(run);
  const [first, second] = [await visit(ada), await visit(grace)];
  for (const { page, open } of [first, second]) {
    await open('/inbox?q=Q-1');
    await heading(page, 'Two for Q-1?').waitFor();
    await page.getByText('No votes yet.').waitFor();
  }
  await first.page.keyboard.press('a');
  await first.page.keyboard.press('Enter');
  await second.page.getByText('So far: 1 approve.').waitFor();
  expect(await status(run)).toBe('waiting');
  await second.page.keyboard.press('a');
  await second.page.keyboard.press('Enter');
  expect(await isOver(run)).toBe('completed');
  const { body } = await builder.get(`/runs/${run}`);
  expect(body.output.votes.map((one: any) => one.decided_by)).toEqual([ada.id, grace.id]);
  expect([...first.complaints, ...second.complaints]).toEqual([]);
});

inBrowser('a decision that is made while the server is away is kept, and counts once', async () => {
  const run = await start(refund, 'O-1');
  await isWaiting(run);
  const { page, open } = await visit(ada);
  await open('/inbox?q=O-1');
  await heading(page, 'Refund O-1?').waitFor();
  const keys: (string | undefined)[] = [];
  let isAway = true;
  await page.route('**/decision', async (route) => {
    keys.push(route.request().headers()['idempotency-key']);
    // The first request gets through, but its answer is lost.
    if (keys.length === 1) await route.fetch().catch(() => undefined);
    await (isAway ? route.abort() : route.continue());
  });
  await page.keyboard.press('a');
  await page.keyboard.press('Enter');
  await page.getByText('Decisions are kept').waitFor();
  await until(
    async () => keys.length,
    (count) => count >= 2,
  );
  isAway = false;
  await page.getByText('Decided “Approve” for “Refund O-1?”.').waitFor();
  expect(new Set(keys).size).toBe(1);
  expect(await isOver(run)).toBe('completed');
});

inBrowser('a session that ends while somebody types leaves what was typed', async () => {
  const admin = await platform.as('admin');
  await admin.post('/users', {
    username: 'sam',
    email: 'sam@example.com',
    password,
    roles: ['admin'],
  });
  const run = await start(refund, 'S-1');
  await isWaiting(run);
  const { page, open } = await visit(null);
  await open('/inbox?scope=all&q=S-1');
  await page.getByLabel('Username').fill('sam');
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Log in' }).click();
  await heading(page, 'Refund S-1?').waitFor();
  await page.context().clearCookies();
  await page.getByLabel('Search').fill('S-');
  await page.getByRole('dialog').getByText('Your session is over').waitFor();
  await page.getByRole('dialog').getByLabel('Password').fill(password);
  await page.getByRole('dialog').getByRole('button', { name: 'Log in', exact: true }).click();
  await heading(page, 'Refund S-1?').waitFor();
  expect(await page.getByLabel('Search').inputValue()).toBe('S-');
});

inBrowser('the screen of a run follows it to its end', async () => {
  const admin = await platform.user('admin');
  const run = await start(refund, 'L-1');
  await isWaiting(run);
  const { page, complaints, open } = await visit(admin);
  await open(`/runs/${run}`);
  await page.getByRole('treeitem', { name: /check/ }).click();
  const inspector = page.getByRole('complementary');
  await inspector.getByText('risk').waitFor();
  await keepPicture(page, 'run');
  // Without a chosen step, the log is that of the run.
  await page.keyboard.press('Escape');
  await page.keyboard.press('3');
  await page.getByText('waits for a person: Refund L-1?').waitFor();
  await page.keyboard.press('1');
  const asAda = await platform.as(ada);
  const [task] = (await asAda.get(`/hitl/tasks?run_id=${run}`)).body;
  await asAda.post(`/hitl/tasks/${task.id}/decision`, { decision: 'approve' });
  await page.getByRole('treeitem', { name: /completed settle/ }).waitFor();
  await page.locator('h1 ~ p').getByText('completed').waitFor();
  expect(complaints).toEqual([]);
  // What the page folds out of the log is what the database has written beside it.
  const { body: record } = await builder.get(`/runs/${run}`);
  const fields = ({ reference, visit, name, type, status, attempt }: any) => ({
    reference,
    visit,
    name,
    type,
    status,
    attempt,
  });
  const { steps } = foldRun(record.logs);
  expect(steps.map(fields)).toEqual(record.tasks.map(fields));
  expect(steps.map(({ humanTaskId }) => humanTaskId)).toEqual([null, task.id, null]);
});

inBrowser('a program without a browser logs in by a code that its user approves', async () => {
  const form = { headers: { 'content-type': 'application/x-www-form-urlencoded' } };
  const program = createClient(platform.url);
  const { body: codes } = await program.post('/auth/device', '', form);
  const asksForToken = () =>
    program.post(
      '/auth/token',
      new URLSearchParams({
        grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
        device_code: codes.device_code,
      }).toString(),
      form,
    );
  const { page, complaints, open } = await visit(ada);
  await open('/device');
  await page.getByLabel('Code').fill('WRNG-CODE');
  await page.getByRole('button', { name: 'Look it up' }).click();
  await page.getByRole('alert').getByText('This code is not valid').waitFor();
  expect(complaints.splice(0)).toEqual([expect.stringContaining('404')]);
  // What the program shows leads here.
  await open(new URL(codes.verification_uri_complete).href.split('/console')[1] ?? '');
  await page.getByText(codes.user_code).waitFor();
  await page.getByRole('button', { name: 'Approve' }).click();
  await page.getByText('The program is logged in.').waitFor();
  const granted = await asksForToken();
  expect(granted.status).toBe(200);
  const me = await createClient(platform.url, granted.body.access_token).get('/users/me');
  expect(me.body.username).toBe('ada');
  expect(complaints).toEqual([]);
});

inBrowser('every screen is accessible and fits, on a desk and on a phone, light and dark', async () => {
  const runs = [await start(withForm, 'V-1'), await start(refund, 'V-2')];
  for (const run of runs) await isWaiting(run);
  const admin = await platform.user('admin');
  const asAda = await platform.as(ada);
  const [task] = (await asAda.get(`/hitl/tasks?run_id=${runs[0]}`)).body;
  // The browser itself notes that one of the screens asks for a run that does not exist.
  await expectScreensFit((viewport) => visit(admin, { viewport }), screensOf(runs, task.id), '404');
});

inBrowser('a control without a name would be found', async () => {
  const { page } = await visit(null);
  await page.setContent(
    '<html lang="en"><title>x</title><main><h1>x</h1><input type="text" title="named"><summary></summary>' +
      '<svg role="button" tabindex="0"></svg></main>',
  );
  expect(await accessibilityProblems(page)).toContainEqual(expect.stringMatching(/^no name: button/));
  expect(await accessibilityProblems(page)).not.toContainEqual(expect.stringMatching(/^no name: textbox/));
});

inBrowser('the log-in is accessible and fits, on a desk and on a phone, light and dark', async () => {
  for (const viewport of [wide, phone])
    for (const dark of [false, true]) {
      const { page, open } = await visit(null, { viewport, dark });
      await open('/');
      await page.getByLabel('Password').waitFor();
      await keepPicture(page, `login-${viewport.width}${dark ? '-dark' : ''}`);
      expect([await accessibilityProblems(page), await sidewaysScroll(page)]).toEqual([[], 0]);
    }
});

function screensOf([withForm = '', run = '']: string[], taskId: string): Screen[] {
  return [
    ['inbox', '/inbox?scope=all', 'How much for V-1?'],
    ['task', `/inbox?scope=all&task=${taskId}`, 'Amount to refund'],
    ['inbox-empty', '/inbox?scope=all&q=nothing-like-this', 'No task matches.'],
    ['runs', '/runs', 'Last 24 hours'],
    ['run', `/runs/${run}`, 'Waits for'],
    ['run-log', `/runs/${withForm}?view=log`, 'waits for a person: How much for V-1?'],
    ['run-data', `/runs/${run}?view=data`, 'V-2'],
    ['device', '/device', 'A program that has no browser'],
    ['unknown', '/nothing', 'There is no such page'],
    ['not-found', '/runs/0197a1b2-0000-7000-8000-000000000001', 'There is no such run'],
  ];
}
