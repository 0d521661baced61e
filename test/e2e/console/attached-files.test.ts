/** Files that people without the role builder attach to a decision and to a start, in a real browser. */
import { expect } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';

import type { Client, TestApp } from '../../support/app.ts';
import { phone, wide } from '../../support/chromium.ts';
import { consoleTestsWithoutTemporal, expectFits } from '../../support/console.ts';
import { insertRun, insertTask } from '../../support/human-tasks.ts';
import { until } from '../../support/platform.ts';

let app: TestApp;
let asOlga: Client;

const { inBrowser, visit } = consoleTestsWithoutTemporal(async (started) => {
  app = started;
  asOlga = await app.as(await app.createUser({ username: 'olga', roles: ['builder'] }));
});

const receipt = {
  type: 'object',
  title: 'Receipt',
  description: 'A PDF.',
  required: ['file_id'],
  additionalProperties: false,
  properties: {
    file_id: { type: 'string' },
    name: { type: 'string' },
    media_type: { enum: ['application/pdf'] },
  },
};
const form = {
  type: 'object',
  required: ['receipt'],
  properties: { receipt, note: { type: 'string', title: 'Note' } },
};
const pdf = (name: string, bytes = 3) => ({
  name,
  mimeType: 'application/pdf',
  buffer: Buffer.alloc(bytes, 'x'),
});
const isFocused = (page: Page, control: Locator) => control.and(page.locator(':focus')).waitFor();

/** Holds the next upload until it is let go. */
async function heldUpload(page: Page): Promise<() => void> {
  const { promise: mayGo, resolve } = Promise.withResolvers<void>();
  await page.route('**/files?*', async (route) => {
    await mayGo;
    // One whose form is gone was aborted meanwhile.
    await route.continue().catch(() => undefined);
  });
  return resolve;
}

inBrowser('a file goes with a decision, by keyboard, and what is wrong with it is at its field', async () => {
  const ann = await app.createUser({ username: 'ann', roles: ['approver'] });
  const owner = (await app.user('builder')).id;
  const asked = async (title: string) => {
    const candidates = { users: ['ann'], roles: [], groups: [] };
    return insertTask(app.orm, await insertRun(app.orm, { owner }), { title, candidates, form_schema: form });
  };
  const [task, next] = [await asked('First'), await asked('Second')];
  const { page, complaints, open } = await visit(ann);
  await open(`/inbox?task=${task}`);
  const input = page.getByLabel('Receipt');
  const approve = page.getByRole('button', { name: /^Approve/ });
  await input.waitFor();
  expect([await input.getAttribute('type'), await input.getAttribute('accept')]).toEqual([
    'file',
    'application/pdf',
  ]);
  const described = async () => {
    const ids = (await input.getAttribute('aria-describedby')) ?? '';
    return page.evaluate(
      `${JSON.stringify(ids)}.split(' ').map((id) => document.getElementById(id).textContent).join(' ')`,
    );
  };
  await approve.click();
  await page.getByText('Receipt is missing').waitFor();
  await isFocused(page, input);

  await input.setInputFiles({ ...pdf('note.txt'), mimeType: 'text/plain' });
  await page.getByText(/Media type .*application\/pdf/).waitFor();
  expect(await described()).toMatch(/^A PDF\. Media type/);
  await input.setInputFiles(pdf('large.pdf', 25 * 1024 * 1024 + 1));
  await page.getByText('The file is larger than 25 MiB.').waitFor();
  expect(await input.getAttribute('aria-invalid')).toBe('true');
  await expectFits(page, 'decision-file-refused');

  const options = page.locator('[role=option]');
  const goTo = async (number: number, id: string) => {
    await options.nth(number).click();
    await page.waitForURL((url) => url.search.includes(id));
    await page.getByRole('heading', { name: number === 0 ? 'First' : 'Second' }).waitFor();
  };
  const letGo = await heldUpload(page);
  // An upload ends with its form, and its file gets into no other.
  await input.setInputFiles(pdf('early.pdf'));
  const early = page.getByText('early.pdf');
  await early.waitFor();
  const aborted = page.waitForEvent('requestfailed', (request) => request.url().includes('early.pdf'));
  await goTo(1, next);
  await aborted;
  await early.waitFor({ state: 'detached' });
  await goTo(0, task);
  expect(await early.count()).toBe(0);
  await input.focus();
  await input.setInputFiles(pdf('receipt.pdf'));
  await page.getByRole('status').filter({ hasText: 'Uploading receipt.pdf' }).waitFor();
  await approve.click();
  await page.getByText('is still being uploaded').waitFor();
  await isFocused(page, input);
  await page.getByLabel('Note').fill('For May');
  await input.focus();
  letGo();
  const remove = page.getByRole('button', { name: 'Remove receipt.pdf' });
  await isFocused(page, remove);
  expect(await page.getByText('is still being uploaded').count()).toBe(0);
  expect(await page.getByRole('status', { name: 'Receipt' }).textContent()).toBe('receipt.pdf');
  expect(await page.getByLabel('Note').inputValue()).toBe('For May');
  await expectFits(page, 'decision-file');
  await page.keyboard.press('Enter');
  await isFocused(page, input);
  await input.setInputFiles(pdf('other.pdf'));
  await page.getByRole('button', { name: 'Remove other.pdf' }).waitFor();

  // What is entered for a task stays with it, and goes to no other.
  await goTo(1, next);
  await input.waitFor();
  expect(await page.getByText('other.pdf').count()).toBe(0);
  await goTo(0, task);
  await page.getByRole('button', { name: 'Remove other.pdf' }).waitFor();
  await approve.click();
  const asAnn = await app.as(ann);
  const { decision } = await until(
    async () => (await asAnn.get(`/hitl/tasks/${task}`)).body,
    ({ status }) => status === 'decided',
  );
  const file = decision.payload.receipt.file_id;
  expect(decision.payload).toEqual({
    receipt: { file_id: file, name: 'other.pdf', media_type: 'application/pdf' },
    note: 'For May',
  });
  expect((await (await app.as('builder')).get(`/files/${file}`)).status).toBe(200);
  expect(complaints.filter((text) => !text.includes('413'))).toEqual([]);
});

inBrowser('what somebody may start is a list, in which each name is easily met', async () => {
  const rosa = await app.createUser({ username: 'rosa', roles: ['viewer'] });
  for (const name of ['Leave of absence', 'Travel'])
    await asOlga.post('/workflows', {
      name,
      definition: { do: [{ first: { set: { a: 1 } } }] },
      runners: { users: ['rosa'] },
    });
  const { page, complaints, open } = await visit(rosa, { viewport: phone });
  await open('/start');
  await page.getByRole('link', { name: 'Travel' }).waitFor();
  await expectFits(page, 'startable');
  await page.getByRole('link', { name: 'Leave of absence' }).click();
  await page.getByRole('button', { name: 'Start', exact: true }).waitFor();
  expect(complaints).toEqual([]);
});

inBrowser('a runner starts a workflow with a file, and a builder too', async () => {
  const rita = await app.createUser({ username: 'rita', roles: ['viewer'] });
  const definition = {
    input: { schema: { format: 'json', document: form } },
    do: [{ first: { set: { a: 1 } } }],
  };
  const made = await asOlga.post('/workflows', {
    name: 'expense',
    definition,
    visibility: 'public',
    runners: { users: ['rita'] },
  });
  expect(made.status).toBe(201);
  const builder = await app.user('builder');
  for (const [user, path, viewport] of [
    [rita, `/start?workflow=${made.body.id}`, phone],
    [builder, `/workflows/${made.body.id}`, wide],
  ] as const) {
    const { page, complaints, open } = await visit(user, { viewport });
    await open(path);
    const input = page.getByLabel('Receipt');
    await input.waitFor();
    await expectFits(page, `start-file-${viewport.width}`);
    await input.setInputFiles(pdf('receipt.pdf'));
    await page.getByRole('button', { name: 'Remove receipt.pdf' }).waitFor();
    await expectFits(page, `start-with-file-${viewport.width}`);
    await page.getByRole('button', { name: 'Start', exact: true }).click();
    const client = await app.as(user);
    const [run] = await until(
      async () => (await client.get(`/runs?workflow_id=${made.body.id}&owner_id=me`)).body,
      (runs) => runs.length === 1,
    );
    const { input_params: given } = (await client.get(`/runs/${run.id}`)).body;
    const [file] = (await client.get(`/files?run_id=${run.id}`)).body;
    expect([given.receipt.file_id, file.workflow_id, file.expires_at]).toEqual([file.id, made.body.id, null]);
    expect(complaints).toEqual([]);
  }
});

inBrowser('several files go with a decision, and each can be taken away again', async () => {
  const mia = await app.createUser({ username: 'mia', roles: ['approver'] });
  const item = {
    ...receipt,
    properties: { ...receipt.properties, size: { type: 'integer', maximum: 1_000 } },
  };
  const several = { type: 'array', title: 'Receipts', items: item, minItems: 2, maxItems: 3 };
  const task = await insertTask(
    app.orm,
    await insertRun(app.orm, { owner: (await app.user('builder')).id }),
    {
      candidates: { users: ['mia'], roles: [], groups: [] },
      form_schema: { type: 'object', required: ['receipts'], properties: { receipts: several } },
    },
  );
  for (const viewport of [phone, wide]) {
    const { page, complaints, open } = await visit(mia, { viewport });
    await open(`/inbox?task=${task}`);
    const input = page.getByLabel('Receipts *', { exact: true });
    await input.waitFor();
    await page.getByText('At most 3 files.').waitFor();
    expect([await input.getAttribute('multiple'), await input.getAttribute('accept')]).toEqual([
      '',
      'application/pdf',
    ]);
    await expectFits(page, `several-files-none-${viewport.width}`);
    const chosen = page.getByRole('list', { name: 'Receipts: chosen files' });
    const names = () => chosen.getByRole('listitem').locator('span').allTextContents();
    const remove = (name: string) => page.getByRole('button', { name: `Remove ${name}`, exact: true });

    // What does not fit is refused by name, and the others are taken.
    await input.setInputFiles([pdf('large.pdf', 1_001), pdf('a.pdf')]);
    await page.getByText(/large\.pdf: .*1000/).waitFor();
    await chosen.getByText('a.pdf', { exact: true }).waitFor();
    expect(await input.getAttribute('aria-invalid')).toBe('true');
    const long = `${'long-name-'.repeat(20)}.pdf`;
    const letGo = await heldUpload(page);
    await input.setInputFiles([pdf('b.pdf'), pdf(long)]);
    await page.getByRole('listitem').filter({ hasText: 'Uploading b.pdf' }).waitFor();
    await page
      .getByRole('status')
      .filter({ hasText: '1 file, Uploading b.pdf' })
      .waitFor({ state: 'attached' });
    expect(await page.getByText(/large\.pdf/).count()).toBe(0);
    await page.getByRole('button', { name: /^Approve/ }).click();
    await page.getByText('is still being uploaded').waitFor();
    await isFocused(page, input);
    // One that is on its way can be taken away, too.
    await remove('b.pdf').press('Enter');
    await isFocused(page, input);
    letGo();
    await page
      .getByText(/^Uploading/)
      .first()
      .waitFor({ state: 'detached' });
    expect(await names()).toEqual(['a.pdf', long]);
    await expectFits(page, `several-files-${viewport.width}`);
    await input.setInputFiles([pdf('c.pdf'), pdf('d.pdf')]);
    await page.getByText('At most 3 files can be chosen, and there are 2.').waitFor();
    await remove(long).press('Enter');
    await isFocused(page, input);
    expect(await names()).toEqual(['a.pdf']);
    await page.getByRole('button', { name: /^Approve/ }).click();
    await page.getByText(/Receipts must have at least 2 entries/).waitFor();
    await input.setInputFiles([pdf('c.pdf')]);
    await chosen.getByText('c.pdf', { exact: true }).waitFor();
    expect(complaints).toEqual([]);
    if (viewport === wide) await page.getByRole('button', { name: /^Approve/ }).click();
  }
  const { decision } = await until(
    async () => (await (await app.as(mia)).get(`/hitl/tasks/${task}`)).body,
    ({ status }) => status === 'decided',
  );
  const members = { file_id: expect.any(String), media_type: 'application/pdf', size: 3 };
  expect(decision.payload).toEqual({
    receipts: [
      { ...members, name: 'a.pdf' },
      { ...members, name: 'c.pdf' },
    ],
  });
});
