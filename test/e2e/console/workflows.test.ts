/** Workflows in a real browser: find, start, compare, write. */
import { expect } from '@jest/globals';
import type { Page } from 'playwright-core';

import type { Client, TestUser } from '../../support/app.ts';
import { accessibilityProblems, keepPicture, phone, wide } from '../../support/chromium.ts';
import { consoleTests, expectFits, expectScreensFit } from '../../support/console.ts';
import { until } from '../../support/platform.ts';

let ada: TestUser;
let asAda: Client;

const { inBrowser, visit } = consoleTests(async (platform) => {
  ada = await platform.createUser({ username: 'ada', roles: ['builder'] });
  asAda = await platform.as(ada);
});

const refund = {
  input: {
    schema: {
      format: 'json',
      document: {
        type: 'object',
        required: ['order', 'amount'],
        properties: {
          order: { type: 'string', title: 'Order', minLength: 3 },
          amount: { type: 'number', title: 'Amount', minimum: 1 },
        },
      },
    },
  },
  do: [{ settle: { set: { done: true } } }],
};

async function create(name: string, definition: unknown, more = {}): Promise<any> {
  const { status, body } = await asAda.post('/workflows', { name, definition, ...more });
  expect(status).toBe(201);
  return body;
}

inBrowser('somebody finds a workflow, is told what is wrong with the input, and starts a run', async () => {
  const workflow = await create('Refund', refund, { description: 'Gives money back.' });
  await create('Another', { do: [{ wrong: { set: 1, sot: 2 } }] });
  const { page, complaints, open } = await visit(ada);
  await open('/inbox');
  await page.getByRole('heading', { name: 'Inbox' }).waitFor();
  // By keyboard alone.
  await page.keyboard.press('g');
  await page.keyboard.press('w');
  await page.getByRole('link', { name: 'Another' }).waitFor();
  await page.getByRole('row', { name: /Another.*draft/ }).waitFor();
  await page.keyboard.press('/');
  await page.keyboard.type('refund');
  await page.getByRole('link', { name: 'Another' }).waitFor({ state: 'detached' });
  await page.getByRole('row', { name: /Refund.*ready.*never ran/ }).waitFor();
  await page.getByLabel('Search').press('Escape');
  await page.getByRole('link', { name: 'Refund' }).focus();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Refund', exact: true }).waitFor();
  await page.keyboard.press('s');
  await page.keyboard.type('A');
  await page.keyboard.press('Control+Enter');
  await page.getByText('Amount is missing').waitFor();
  expect(await page.getByLabel('Order').getAttribute('aria-invalid')).toBe('true');
  await keepPicture(page, 'workflow-form-problem');
  expect(await accessibilityProblems(page)).toEqual([]);
  await page.keyboard.type('-77');
  await page.getByLabel('Amount').fill('560');
  await page.getByText('Key, tags and labels').click();
  await page.getByLabel('Labels').fill('-team=sales');
  await page.keyboard.press('Control+Enter');
  await page.getByText(/^Labels: /).waitFor();
  expect(complaints.splice(0)).toEqual([expect.stringContaining('422')]);
  await page.getByLabel('Labels').fill('team=sales');
  await page.keyboard.press('Control+Enter');
  await page.getByText('Refund has started.').waitFor();
  expect(page.url()).toContain('/console/runs/');
  await page.getByText('team=sales').waitFor();
  // It ends, and its event comes, while the screen that counts it is not there to be told.
  const [run] = (await asAda.get(`/runs?workflow_id=${workflow.id}`)).body;
  await until(
    async () => (await asAda.get(`/runs/${run.id}`)).body,
    ({ status }) => status === 'completed',
  );
  await page.waitForTimeout(2_000);
  await page.goBack();
  await page.getByRole('link', { name: 'A-77 · 560' }).waitFor();
  await page.getByRole('row', { name: /completed A-77/ }).waitFor();
  const health = page.getByRole('img', {
    name: /^Last 14 days: 1 started, 1 completed\. \w.*: 1 started, 1/,
  });
  await health.waitFor();
  await page.keyboard.press('u');
  await page
    .getByRole('row', { name: /Refund.*Last 14 days: 1 started, 1 completed.*completed now/ })
    .waitFor();
  await page.keyboard.press('g');
  await page.keyboard.press('r');
  await page.getByRole('img', { name: /^Last 24 hours: 1 started, 1 completed\./ }).waitFor();
  expect(complaints).toEqual([]);
});

inBrowser(
  'a form of objects has a label for each field, and the focus moves to an object that is wrong',
  async () => {
    const text = { type: 'string' };
    const document = {
      type: 'object',
      required: ['a'],
      properties: {
        a: {
          type: 'object',
          title: 'Window',
          minProperties: 1,
          properties: { b: { ...text, title: 'Inner' } },
        },
        'a-b': { ...text, title: 'Outer', default: 'x' },
      },
    };
    const input = { schema: { format: 'json', document } };
    const workflow = await create('Windows', { input, do: [{ note: { set: { done: true } } }] });
    const { page, complaints, open } = await visit(ada);
    await open(`/workflows/${workflow.id}`);
    await page.getByRole('heading', { name: 'Windows', exact: true }).waitFor();
    await page.keyboard.press('s');
    const outer = page.getByLabel('Outer');
    await outer.waitFor();
    expect(await outer.inputValue()).toBe('x');
    await page.keyboard.press('Control+Enter');
    const window = page.getByRole('group', { name: 'Window' });
    await window.and(page.locator(':focus')).waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    await page.getByLabel('Inner').fill('y');
    expect(await outer.inputValue()).toBe('x');
    await page.keyboard.press('Control+Enter');
    await page.getByText('Windows has started.').waitFor();
    const [run] = (await asAda.get(`/runs?workflow_id=${workflow.id}`)).body;
    expect((await asAda.get(`/runs/${run.id}`)).body.input_params).toEqual({ a: { b: 'y' }, 'a-b': 'x' });
    expect(complaints).toEqual([]);
  },
);

inBrowser('a schedule is seen, paused, resumed, and starts a run by hand', async () => {
  const workflow = await create('By the clock', {
    schedule: { cron: 'CRON_TZ=Europe/Berlin 0 9 * * *' },
    do: [{ note: { set: { done: true } } }],
  });
  const { page, complaints, open } = await visit(ada);
  await open(`/workflows/${workflow.id}`);
  const card = page.getByRole('heading', { name: 'Schedule' }).locator('..');
  await card.getByText('CRON_TZ=Europe/Berlin 0 9 * * * · active').waitFor();
  await card.getByRole('heading', { name: 'Next times, in your time zone' }).waitFor();
  await card.getByLabel('If an earlier run has not ended').selectOption('start after it');
  await card.getByRole('button', { name: 'Pause' }).click();
  await card.getByText('· paused').waitFor();
  expect((await asAda.get(`/workflows/${workflow.id}/schedule`)).body).toMatchObject({
    overlap: 'buffer_one',
    state: 'paused',
    paused_by: ada.id,
  });
  expect(await accessibilityProblems(page)).toEqual([]);
  await card.getByRole('button', { name: 'Start now' }).click();
  await page.getByText('By the clock has started.').waitFor();
  await page.goBack();
  await card.getByRole('link', { name: 'started' }).waitFor();
  await card.getByRole('button', { name: 'Resume' }).click();
  await card.getByText('· active').waitFor();
  const dialog = page.getByRole('dialog').filter({ visible: true });
  await card.getByRole('button', { name: 'Change' }).click();
  await dialog.getByLabel('Most seconds of delay').fill('30');
  await dialog.getByLabel('Seconds that a run may be late').fill('');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await dialog.getByText('Seconds that a run may be late is missing').waitFor();
  await dialog.getByLabel('Seconds that a run may be late').fill('600');
  await dialog.getByLabel('Note').fill('While the shop is open');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await card.getByText('While the shop is open').waitFor();
  expect((await asAda.get(`/workflows/${workflow.id}/schedule`)).body).toMatchObject({
    catch_up_seconds: 600,
    jitter_seconds: 30,
    overlap: 'buffer_one',
    state: 'active',
  });
  await card.getByRole('button', { name: 'Past times…' }).click();
  const local = (ms: number) => new Date(ms).toLocaleString('sv').slice(0, 16).replace(' ', 'T');
  await dialog.getByLabel('From').fill(local(Date.now() - 3 * 86_400_000));
  await dialog.getByLabel('To').fill(local(Date.now() - 60_000));
  await dialog.getByRole('button', { name: 'Start them' }).click();
  await page.getByText('3 past times have their runs.').waitFor();
  await keepPicture(page, 'workflow-schedule');
  expect(complaints).toEqual([]);
});

inBrowser('a workflow shows its revisions and what changed between two of them', async () => {
  const workflow = await create('Grows', { do: [{ first: { set: { step: 1 } } }] });
  for (const step of [2, 3])
    await asAda.patch(`/workflows/${workflow.id}`, { definition: { do: [{ first: { set: { step } } }] } });
  const { page, complaints, open } = await visit(ada);
  await open(`/workflows/${workflow.id}`);
  await page.getByRole('heading', { name: 'Grows', exact: true }).waitFor();
  await page.keyboard.press('2');
  const difference = page.getByRole('region', { name: 'From revision 2 to revision 3' });
  await difference.getByText('removed: step: 2').waitFor();
  await difference.getByText('added: step: 3').waitFor();
  await page.getByLabel('Compare from revision 1').check();
  await page.getByRole('region', { name: 'From revision 1 to revision 3' }).getByText('step: 1').waitFor();
  await keepPicture(page, 'workflow-revisions');
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await page.getByText('Grows is deleted.').waitFor();
  expect((await asAda.get(`/workflows/${workflow.id}`)).status).toBe(404);
  expect(complaints).toEqual([]);
});

/** The text of the editor. */
const textOf = (page: Page) => page.getByRole('textbox', { name: /^Definition/ });
/** Replaces the text, by keyboard. */
async function write(page: Page, text: string): Promise<void> {
  await textOf(page).focus();
  await page.keyboard.press('Control+a');
  await page.keyboard.press('Backspace');
  await page.keyboard.insertText(text);
}
const problemsOf = (page: Page) => page.getByRole('region', { name: 'Problems' });
const pretty = (value: unknown) => JSON.stringify(value, null, 2);
const definitionOf = async (id: string) => (await asAda.get(`/workflows/${id}`)).body.definition;

inBrowser('somebody writes a workflow, mends its problem, saves it, and runs it, by keyboard', async () => {
  const { page, complaints, open } = await visit(ada);
  await open('/workflows');
  await page.getByRole('heading', { name: 'Workflows' }).waitFor();
  // The first check waits until somebody has read that it is under way.
  await page.route('**/check-worker-*', async (route) => {
    await page.getByText('The text is being checked').waitFor();
    await route.continue();
  });
  await page.keyboard.press('n');
  await textOf(page).waitFor();
  await page.getByLabel('Name').fill('Written here');
  await write(page, pretty({ ...refund, do: [{ settle: { sett: { done: true } } }] }));
  await problemsOf(page).getByText('did you mean "set"?').waitFor();
  // The picture shows where.
  await page.getByRole('button', { name: /settle.*did you mean/ }).waitFor();
  await keepPicture(page, 'editor-problem');
  expect(await accessibilityProblems(page)).toEqual([]);
  await page.keyboard.press('Control+Home');
  await page.keyboard.press('F8');
  for (const key of ['ArrowRight', 'ArrowRight', 'ArrowRight', 'ArrowRight', 'Delete'])
    await page.keyboard.press(key);
  await page.getByText('No problems ·').waitFor();
  await page.keyboard.press('Control+s');
  await page.getByText('Written here is saved as revision 1.').waitFor();
  const id = /workflows\/([-\w]+)\/edit/.exec(page.url())?.[1] ?? '';
  expect(await definitionOf(id)).toMatchObject(refund);
  await page.keyboard.press('Control+Enter');
  await page.getByRole('textbox', { name: 'Order' }).and(page.locator(':focus')).waitFor();
  await page.keyboard.press('Control+Enter');
  await page.getByText('Order is missing').waitFor();
  await page.keyboard.type('A-99');
  await page.getByLabel('Amount').fill('9');
  await page.keyboard.press('Control+Enter');
  await page.getByText('Written here has started.').waitFor();
  expect(page.url()).toContain('/console/runs/');
  expect(complaints).toEqual([]);
});

inBrowser('a definition is written in YAML too, and a broken text keeps the last good picture', async () => {
  const { id } = await create('In YAML', refund);
  const { page, complaints, open } = await visit(ada);
  await open(`/workflows/${id}/edit`);
  await page.getByLabel('Language of the text').selectOption('YAML');
  await page.locator('.cm-content').getByText('order:').waitFor();
  await page.getByText('saved as it is written').waitFor();
  const written = 'do:\n- settle:\n    set:\n      done: yes-in-yaml # a comment\n';
  await page.getByLabel('Language of the text').selectOption('JSON');
  await page.locator('.cm-content').getByText('"order"').first().waitFor();
  // Pasted where JSON is expected.
  await write(page, written);
  await page.getByText('This text is YAML, and not JSON.').waitFor();
  expect(await accessibilityProblems(page)).toEqual([]);
  await page.getByRole('button', { name: 'Edit it as YAML' }).click();
  await page.getByText('No problems ·').waitFor();
  await page.getByRole('button', { name: /^settle/ }).waitFor();
  await write(page, `${written}broken: [1,\n`);
  await page.getByText('The picture shows the last text that could be read.').waitFor();
  await page.getByRole('button', { name: /^settle/ }).waitFor();
  await page.keyboard.press('Control+s');
  await page.getByText('cannot be saved while it cannot be read').waitFor();
  await write(page, written);
  await page.getByText('No problems ·').waitFor();
  await page.getByRole('button', { name: /^Format/ }).click();
  await page.keyboard.press('Control+s');
  await page.getByText('In YAML is saved as revision 2.').waitFor();
  const saved = await definitionOf(id);
  expect(saved.do).toEqual([{ settle: { set: { done: 'yes-in-yaml' } } }]);
  // What the text no longer has is gone.
  expect(saved).not.toHaveProperty('input');
  expect(await page.locator('.cm-content').innerText()).toContain('# a comment');
  expect(complaints).toEqual([]);
});

inBrowser('comments of YAML are kept, and whoever switches to JSON is told that they go', async () => {
  const text = '# Greets.\ndo:\n  - greet: # the only step\n      set: { text: hello }\n';
  const { id } = await create('Commented', text);
  const kept = async () => (await asAda.get(`/workflows/${id}/definition`)).body;
  const { page, complaints, open } = await visit(ada);
  await open(`/workflows/${id}/edit?view=changes`);
  const language = page.getByLabel('Language of the text');
  const code = page.locator('.cm-content');
  // Nobody has chosen a language: the text is shown as it was written.
  await code.getByText('# the only step').waitFor();
  expect(await language.inputValue()).toBe('yaml');
  await page.getByText('There is no difference').waitFor();
  const changed = text.replace('the only step', 'says hello');
  await write(page, changed);
  const difference = page.getByRole('region', { name: 'From revision 1 to this text' });
  await difference.getByText('removed: - greet: # the only step').waitFor();
  await difference.getByText('added: - greet: # says hello').waitFor();
  await page.keyboard.press('Control+s');
  await page.getByText('Commented is saved as revision 2.').waitFor();
  expect(await kept()).toBe(changed);
  await page.keyboard.press('Control+s');
  await page.getByText('Nothing has changed.').waitFor();

  await language.selectOption('JSON');
  const dialog = page.getByRole('dialog').filter({ visible: true });
  await dialog.getByText('JSON has no comments.').waitFor();
  expect(await accessibilityProblems(page)).toEqual([]);
  await dialog.getByRole('button', { name: 'Stay with YAML' }).click();
  await dialog.waitFor({ state: 'detached' });
  expect(await language.inputValue()).toBe('yaml');
  await language.selectOption('JSON');
  await dialog.getByRole('button', { name: 'Switch to JSON' }).click();
  await code.getByText('"greet"').waitFor();
  expect(await language.inputValue()).toBe('json');
  // Nothing was saved as JSON, so the text comes back.
  await page.reload();
  await code.getByText('# says hello').waitFor();
  await asAda.patch(`/workflows/${id}`, { definition: `${changed}# theirs\n` });
  await write(page, `${changed}# mine\n`);
  await page.keyboard.press('Control+s');
  await dialog.getByText('removed: # theirs').waitFor();
  await dialog.getByText('added: # mine').waitFor();
  await dialog.getByRole('button', { name: 'Take theirs' }).click();
  await code.getByText('# theirs').waitFor();
  // The browser itself notes the refusal.
  expect(complaints).toEqual([expect.stringContaining('412')]);
});

inBrowser('of two people who save one workflow, the second sees what the first has changed', async () => {
  const { id } = await create('Contested', { do: [{ first: { set: { by: 'nobody' } } }] });
  const { page, complaints, open } = await visit(ada);
  await open(`/workflows/${id}/edit`);
  await page.getByRole('button', { name: /^first/ }).waitFor();
  await asAda.patch(`/workflows/${id}`, { definition: { do: [{ first: { set: { by: 'them' } } }] } });
  const mine = { do: [{ first: { set: { by: 'me' } } }] };
  await write(page, pretty(mine));
  await page.keyboard.press('Control+s');
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('heading', { name: 'Somebody saved revision 2 meanwhile' }).waitFor();
  await dialog.getByText('removed: "by": "them"').waitFor();
  await dialog.getByText('added: "by": "me"').waitFor();
  await keepPicture(page, 'editor-conflict');
  expect(await accessibilityProblems(page)).toEqual([]);
  expect((await definitionOf(id)).do).toEqual([{ first: { set: { by: 'them' } } }]);
  await dialog.getByRole('button', { name: 'Save mine over it' }).click();
  await page.getByText('Contested is saved as revision 3.').waitFor();
  expect((await definitionOf(id)).do).toEqual(mine.do);
  // The browser itself notes the refusal.
  expect(complaints).toEqual([expect.stringContaining('412')]);
});

inBrowser('completion offers what the language and the registry know', async () => {
  const agent = await asAda.post('/agents', {
    name: 'researcher',
    type: 'api',
    version: '1.0.0',
    visibility: 'private',
  });
  expect(agent.status).toBe(201);
  await asAda.put('/secrets/SHOP_KEY', { value: 'a secret value' });
  const { page, complaints, open } = await visit(ada);
  const hasNames = page.waitForResponse((response) => response.url().includes('/users/directory'));
  await open('/workflows/new');
  await hasNames;
  await write(page, '{"use": {"secrets": []}, "do": [{"ask": {"call": "agent", "with": {"agent": ""}}}]}');
  const text = page.locator('.cm-content');
  const offer = (name: string) => page.getByRole('option', { name });
  await page.keyboard.press('Control+End');
  for (let step = 0; step < 7; step += 1) await page.keyboard.press('ArrowLeft');
  await page.keyboard.press('Control+Space');
  await offer('researcher').waitFor();
  await keepPicture(page, 'editor-completion');
  await offer('researcher').click();
  await text.getByText('"agent": "researcher"').waitFor();
  await page.keyboard.press('Control+Home');
  for (let step = 0; step < 21; step += 1) await page.keyboard.press('ArrowRight');
  await page.keyboard.press('Control+Space');
  await offer('SHOP_KEY').click();
  await text.getByText('"secrets": ["SHOP_KEY"]').waitFor();
  expect(complaints).toEqual([]);
});

inBrowser('an unsaved text comes back, the keyboard leaves the text, and a log-out forgets it', async () => {
  const { id } = await create('Kept', { do: [{ first: { set: { step: 1 } } }] });
  const { page, open } = await visit(ada);
  await open(`/workflows/${id}/edit`);
  await page.getByRole('button', { name: /^first/ }).waitFor();
  await write(page, pretty({ do: [{ unsaved: { set: { step: 2 } } }] }));
  await page.getByRole('button', { name: /^unsaved/ }).waitFor();
  await page.keyboard.press('Escape');
  await page.keyboard.press('Tab');
  expect(await page.evaluate('document.activeElement.shadowRoot === null')).toBe(true);
  const kept = () =>
    page.evaluate('Object.keys(sessionStorage).filter((key) => key.includes("text")).length');
  await until(kept, (count) => count === 1);
  await page.reload();
  await page.getByText(/Your unsaved text of .* is back/).waitFor();
  await page.getByRole('button', { name: /^unsaved/ }).waitFor();
  await page.getByRole('button', { name: 'ada' }).click();
  await page.getByRole('button', { name: 'Log out' }).click();
  await page.getByRole('heading', { name: 'Log in to Cadenza' }).waitFor();
  expect(await kept()).toBe(0);
});

inBrowser('expressions are tried on the data of the last run', async () => {
  const { id } = await create('Tried', refund);
  const started = await asAda.post(`/workflows/${id}/run`, { input_params: { order: 'A-5', amount: 7 } });
  await until(
    async () => (await asAda.get(`/runs/${started.body.id}`)).body,
    ({ status }) => status === 'completed',
  );
  const { page, complaints, open } = await visit(ada);
  await open(`/workflows/${id}/edit?view=try`);
  const result = page.getByRole('status', { name: 'Result' });
  await page.getByLabel('Expression in jq').fill('.amount * 2');
  await result.getByText('14').waitFor();
  await page.getByLabel('Expression in jq').fill('.amount | ascii_downcase');
  await result.getByText('explode input must be a string').waitFor();
  await page.getByLabel('Data', { exact: true }).selectOption('Output of settle');
  await page.getByLabel('Expression in jq').fill('"done: ${ .done }"');
  await result.getByText('done: true').waitFor();
  expect(complaints).toEqual([]);
});

inBrowser('the picture tells a warning from an error, by colour and by word', async () => {
  const ask = { call: 'human', with: { title: 'Pay?', assignee: 'nosuchuser' } };
  const { id } = await create('Marked', { do: [{ ask }, { wrong: { set: 1, sot: 2 } }] });
  const { page, complaints, open } = await visit(ada);
  await open(`/workflows/${id}`);
  const picture = page.getByRole('group', { name: 'Diagram of the workflow' });
  await picture.getByRole('button', { name: /ask.* warning.*nosuchuser/ }).waitFor();
  await picture.getByRole('button', { name: /wrong.* error/ }).waitFor();
  const borderOf = (severity: string) =>
    page.evaluate(`getComputedStyle(document.querySelector('[data-problem=${severity}]')).border`);
  expect([await borderOf('warning'), await borderOf('error')]).toEqual([
    '2px dotted rgb(138, 83, 0)',
    '2px dashed rgb(180, 35, 24)',
  ]);
  await expectFits(page, 'picture-severities');
  expect(complaints).toEqual([]);
});

inBrowser('a workflow shows its warnings, also once it is saved, on a desk and on a phone', async () => {
  for (const viewport of [wide, phone]) {
    const name = `Twin of ${viewport.width}`;
    await create(name, refund);
    const { id } = await create(`Own name ${viewport.width}`, refund);
    const { page, complaints, open } = await visit(ada, { viewport });
    const warnings = page.getByRole('status').getByRole('list', { name: 'Warnings' }).getByRole('listitem');
    await open(`/workflows/${id}/edit`);
    await page.getByLabel('Name').fill(name);
    expect(await warnings.count()).toBe(0);
    await page.getByRole('button', { name: /^Save/ }).click();
    await warnings.getByText('Warning: another workflow of the same owner has this name').waitFor();
    await expectFits(page, `editor-warnings-${viewport.width}`);

    await open(`/workflows/${id}`);
    await warnings.getByText('another workflow of the same owner').waitFor();
    expect(await warnings.getByText('/name').count()).toBe(1);
    await page.getByRole('button', { name: 'Details' }).click();
    const dialog = page.getByRole('dialog').filter({ visible: true });
    await dialog.getByLabel('Groups that may start it').fill('nobody-in-here');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await warnings.getByText('nobody is in the group "nobody-in-here" now').waitFor();
    expect(await warnings.count()).toBe(2);
    await expectFits(page, `workflow-warnings-${viewport.width}`);

    await open(`/workflows?q=${encodeURIComponent(name)}`);
    await page.getByRole('row').getByText('2 warnings').waitFor();
    await expectFits(page, `workflows-warnings-${viewport.width}`);
    expect(complaints).toEqual([]);
  }
});

inBrowser(
  'the screens of workflows are accessible and fit, on a desk and on a phone, light and dark',
  async () => {
    const workflow = await create('Fits', refund);
    const broken = await create('Draft', { do: [{ wrong: { call: 'agent', with: {}, sot: 2 } }] });
    await asAda.patch(`/workflows/${workflow.id}`, {
      definition: { do: [{ settle: { set: { done: false } } }] },
    });
    await asAda.post(`/workflows/${workflow.id}/run`, { input_params: { order: 'A-1', amount: 2 } });
    await expectScreensFit(
      (viewport) => visit(ada, { viewport }),
      [
        ['workflows', '/workflows', 'Fits'],
        ['workflows-empty', '/workflows?q=nothing-like-this', 'Nothing matches'],
        ['workflow', `/workflows/${workflow.id}`, 'Start a run'],
        ['workflow-draft', `/workflows/${broken.id}`, 'This revision cannot run'],
        ['workflow-diff', `/workflows/${workflow.id}?view=revisions`, 'From revision 1 to revision 2'],
        ['editor-new', '/workflows/new', 'not saved yet'],
        ['editor', `/workflows/${workflow.id}/edit`, 'No problems'],
        ['editor-draft', `/workflows/${broken.id}/edit?view=problems`, 'problems'],
        ['editor-picture', `/workflows/${workflow.id}/edit?view=picture`, 'settle'],
        ['editor-start', `/workflows/${workflow.id}/edit?view=start`, 'Amount'],
        ['editor-try', `/workflows/${workflow.id}/edit?view=try`, 'Data as JSON'],
        ['editor-changes', `/workflows/${workflow.id}/edit?view=changes`, 'There is no difference'],
        ['workflow-definition', `/workflows/${workflow.id}?view=definition`, 'settle:'],
        ['workflow-json', `/workflows/${workflow.id}?view=definition&as=json`, '"settle":'],
      ],
    );
  },
);
