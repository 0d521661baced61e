/** The marketplace in a real browser: share, review, install, rate; and the details of a workflow. */
import { expect } from '@jest/globals';
import type { Page } from 'playwright-core';

import type { Client, TestApp, TestUser } from '../../support/app.ts';
import { keepPicture } from '../../support/chromium.ts';
import { consoleTestsWithoutTemporal, expectScreensFit, type Screen } from '../../support/console.ts';
import { agentTask } from '../../support/definitions.ts';
import {
  approve,
  approvedItem,
  createdWorkflow,
  installed,
  publishedAgent,
  submitted,
} from '../../support/marketplace.ts';

let app: TestApp;
let ada: TestUser;
let bob: TestUser;
let admin: TestUser;
let asAda: Client;
let asBob: Client;
let asAdmin: Client;

const { inBrowser, visit } = consoleTestsWithoutTemporal(async (started) => {
  app = started;
  ada = await app.createUser({ username: 'ada', roles: ['builder'] });
  bob = await app.createUser({ username: 'bob', roles: ['builder'] });
  admin = await app.user('admin');
  [asAda, asBob, asAdmin] = await Promise.all([app.as(ada), app.as(bob), app.as(admin)]);
});

const heading = (page: Page, title: string) => page.getByRole('heading', { name: title, exact: true });
const click = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click();
const openDialog = (page: Page) => page.getByRole('dialog').filter({ visible: true });
const configuration = { endpoint: 'https://a.example', headers: { 'X-Key': '<API_KEY>' } };

inBrowser('a publisher shares an agent, an admin approves it, a builder installs it', async () => {
  const agent = await publishedAgent(asAda, { name: 'digester', configuration });
  const own = await visit(ada);
  await own.open(`/agents/${agent.id}`);
  await click(own.page, 'Share in the marketplace');
  const form = openDialog(own.page);
  await form.getByLabel('Summary').fill('Digests texts.');
  await form.getByLabel('Tags').fill('text\nshort');
  await form.getByRole('button', { name: 'Submit' }).click();
  await own.page.getByText('digester is submitted. An admin reviews it.').waitFor();
  await heading(own.page, 'digester').waitFor();
  await own.page.getByText('waits for a review').first().waitFor();
  const id = own.page.url().split('/').at(-1) ?? '';

  // The admin, by keyboard alone.
  const review = await visit(admin);
  await review.open('/inbox');
  await heading(review.page, 'Inbox').waitFor();
  await review.page.keyboard.press('g');
  await review.page.keyboard.press('m');
  await review.page.getByRole('link', { name: 'Reviews' }).press('Enter');
  await heading(review.page, 'digester').waitFor();
  const { body: item } = await asAda.get(`/marketplace/items/${id}`);
  await review.page.getByText(item.digest).waitFor();
  await review.page.getByText('"X-Key": "<API_KEY>"').waitFor();
  await review.page.keyboard.press('a');
  await openDialog(review.page).waitFor();
  await review.page.keyboard.press('Enter');
  await review.page.getByText('Version 1.0.0 of digester is approved.').waitFor();
  await review.page.getByText('Nothing waits for a review.').waitFor();

  // The builder, by keyboard alone.
  await asBob.put('/secrets/MINE', { value: 'not-to-be-shown' });
  const { page, complaints, open } = await visit(bob);
  await open('/marketplace');
  await page.getByRole('link', { name: 'digester' }).waitFor();
  await page.keyboard.press('/');
  await page.keyboard.type('digests texts');
  await page.waitForURL(/q=digests\+texts/);
  await page.getByRole('link', { name: 'digester' }).waitFor();
  await page.getByLabel('Search the marketplace').press('Tab');
  await page.getByLabel('Kind').press('Tab');
  await page.getByLabel('Whose').press('Tab');
  await page.getByLabel('Order').press('Tab');
  await page.keyboard.press('j');
  await page.getByRole('link', { name: 'digester' }).and(page.locator(':focus')).waitFor();
  await page.keyboard.press('Enter');
  await heading(page, 'What it needs').waitFor();
  await page.keyboard.press('i');
  await openDialog(page).getByLabel('API_KEY').and(page.locator(':focus')).waitFor();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await heading(page, 'digester is installed.').waitFor();
  await page.getByRole('link', { name: 'Open digester' }).and(page.locator(':focus')).waitFor();
  await page.keyboard.press('Enter');
  await page.getByText('X-Key').waitFor();
  await page.getByRole('link', { name: 'installed from ada, version 1.0.0' }).press('Enter');
  await heading(page, 'What it needs').waitFor();
  const [copy] = (await asBob.get('/agents?q=digester')).body;
  const { body: record } = await asBob.get(`/agents/${copy.id}`);
  expect(record).toMatchObject({
    configuration: { headers: { 'X-Key': '<MINE>' } },
    provenance: { item_id: id, digest: item.digest },
  });

  await page.keyboard.press('3');
  await page.getByRole('combobox', { name: 'Rating' }).selectOption('4: good');
  await page.getByLabel('What you think of it').fill('Short.');
  await click(page, 'Send');
  await page.getByText('Your rating is saved.').waitFor();
  await page.getByRole('img', { name: 'rated 4 of 5 by 1 person' }).waitFor();
  await page.getByRole('button', { name: 'Change it' }).waitFor();
  await page.getByRole('combobox', { name: 'Rating' }).selectOption('2: weak');
  await click(page, 'Change it');
  await page.getByRole('img', { name: 'rated 2 of 5 by 1 person' }).waitFor();
  // The same content is not installed a second time.
  await page.keyboard.press('i');
  await openDialog(page).getByText('You have a copy of this content already:').waitFor();
  expect(await page.content()).not.toContain('not-to-be-shown');
  expect([own.complaints, review.complaints, complaints]).toEqual([[], [], []]);
});

inBrowser('a rejection has a reason, and a new version is compared with the approved one', async () => {
  const agent = await publishedAgent(asAda, { name: 'mender', configuration });
  const item = await submitted(asAda, agent);
  const { page, complaints, open } = await visit(admin);
  await open('/marketplace/reviews');
  await heading(page, 'mender').waitFor();
  await page.keyboard.press('r');
  const dialog = openDialog(page);
  await dialog.getByRole('button', { name: 'Reject' }).click();
  await dialog.getByText('Reason is missing').waitFor();
  await page.keyboard.type('It does not say what it does.');
  await dialog.getByRole('button', { name: 'Reject' }).click();
  await page.getByText('Version 1.0.0 of mender is rejected.').waitFor();

  const own = await visit(ada);
  await own.open(`/marketplace/${item.id}`);
  await own.page.getByText('Reason: It does not say what it does.').waitFor();
  await click(own.page, 'Submit a new version');
  await openDialog(own.page).getByText('1.0.0 rejected').waitFor();
  await openDialog(own.page).getByLabel('Description').fill('It mends.');
  await openDialog(own.page).getByRole('button', { name: 'Submit' }).click();
  await own.page.getByText('It mends.').waitFor();
  await approve(asAdmin, item.id);

  await asAda.patch(`/agents/${agent.id}`, {
    version: '2.0.0',
    configuration: { endpoint: 'https://b.example' },
  });
  await asAda.post(`/agents/${agent.id}/versions/2.0.0/publish`);
  await submitted(asAda, { id: agent.id, version: '2.0.0' });
  const other = await submitted(asAda, await publishedAgent(asAda, { name: 'next one' }));
  await open('/marketplace/reviews');
  const row = page.getByRole('link', { name: /mender.*new version.*version 2\.0\.0/ });
  await row.click();
  await heading(page, 'Changes since version 1.0.0, which is approved').waitFor();
  await page.getByText('"endpoint": "https://b.example"').first().waitFor();
  await keepPicture(page, 'market-review');
  await click(page, 'Approve a');
  await openDialog(page).getByRole('button', { name: 'Approve' }).click();
  await page.getByText('Version 2.0.0 of mender is approved.').waitFor();
  // The next one is shown, and has the focus in the list.
  await heading(page, 'next one').waitFor();
  await page
    .getByRole('link', { name: /next one/ })
    .and(page.locator(':focus'))
    .waitFor();

  // What is published again between the look and the decision is not approved unseen.
  await asAda.delete(`/marketplace/items/${other.id}`);
  await asAda.post(`/agents/${other.ref_id}/skills`, { name: 'A skill that nobody has read' });
  await submitted(asAda, { id: other.ref_id, version: '1.0.0' });
  await page.keyboard.press('a');
  await openDialog(page).getByRole('button', { name: 'Approve' }).click();
  await openDialog(page).getByText('was submitted again with other content').waitFor();
  await openDialog(page).getByRole('button', { name: 'Cancel' }).click();
  await page.getByText('A skill that nobody has read').waitFor();
  expect(complaints.splice(0)).toEqual([expect.stringContaining('409')]);

  // An approved version is taken down, and the item withdrawn.
  await open(`/marketplace/${item.id}?view=versions`);
  await page
    .getByRole('row', { name: /2\.0\.0/ })
    .getByRole('link', { name: 'Review' })
    .click();
  await click(page, 'Take down r');
  await openDialog(page).getByLabel('Reason').fill('It is broken.');
  await openDialog(page).getByRole('button', { name: 'Take down' }).click();
  await page.getByText('Version 2.0.0 of mender is rejected.').waitFor();
  await own.open(`/marketplace/${item.id}`);
  await own.page.getByText('version 1.0.0').first().waitFor();
  await click(own.page, 'Withdraw');
  await openDialog(own.page).getByRole('button', { name: 'Withdraw' }).click();
  await own.page.getByText('It was withdrawn.').waitFor();
  expect((await asAda.get(`/marketplace/items/${item.id}`)).body.status).toBe('withdrawn');
  await asAda.delete(`/marketplace/items/${other.id}`);
  expect([complaints, own.complaints]).toEqual([[], []]);
});

inBrowser('a workflow is shared with its agents, and installed with secrets for them', async () => {
  const helper = await publishedAgent(asAda, { name: 'helper', configuration });
  const workflow = await createdWorkflow(
    asAda,
    { use: { secrets: ['TOKEN'] }, do: [{ ask: agentTask('helper', {}) }] },
    { name: 'Ask the helper' },
  );
  const own = await visit(ada);
  await own.open(`/workflows/${workflow.id}`);
  await click(own.page, 'Share in the marketplace');
  await openDialog(own.page).getByLabel('Also submit my own private agents').check();
  await openDialog(own.page).getByRole('button', { name: 'Submit' }).click();
  await own.page.getByText('Ask the helper is submitted, with helper.').waitFor();
  for (const { id } of (await asAdmin.get('/marketplace/items?waiting=true')).body)
    await approve(asAdmin, id);

  await asBob.put('/secrets/HELPER_KEY', { value: 'x' });
  await asBob.put('/secrets/my-token', { value: 'x' });
  const { page, complaints, open } = await visit(bob);
  await open('/marketplace?kind=workflow');
  await page.getByRole('link', { name: 'Ask the helper' }).click();
  await click(page, 'Install i');
  const dialog = openDialog(page);
  await dialog.getByText('is installed with it').waitFor();
  await dialog.getByLabel('TOKEN').selectOption('my-token');
  // The configuration of an agent cannot name this secret, so it is not offered.
  expect(await dialog.getByLabel('API_KEY of helper').getByRole('option', { name: 'my-token' }).count()).toBe(
    0,
  );
  await dialog.getByLabel('API_KEY of helper').selectOption('HELPER_KEY');
  await keepPicture(page, 'market-install');
  await dialog.getByRole('button', { name: 'Install', exact: true }).click();
  await heading(page, 'Ask the helper is installed.').waitFor();
  expect(await dialog.getByText('What it still needs').count()).toBe(0);
  await dialog.getByRole('link', { name: 'helper', exact: true }).waitFor();
  await dialog.getByRole('link', { name: 'Open Ask the helper' }).click();
  await page.getByText('installed from ada, revision 1').waitFor();
  const [agent] = (await asBob.get('/agents?q=helper')).body;
  expect((await asBob.get(`/agents/${agent.id}`)).body).toMatchObject({
    configuration: { headers: { 'X-Key': '<HELPER_KEY>' } },
    provenance: { publisher: { username: 'ada' } },
  });
  expect(agent.id).not.toBe(helper.id);
  expect([own.complaints, complaints]).toEqual([[], []]);
});

inBrowser('a viewer reads what is approved, and may neither install nor review', async () => {
  const approved = await approvedItem(asAda, asAdmin, await publishedAgent(asAda, { name: 'open one' }));
  const hidden = await submitted(asAda, await publishedAgent(asAda, { name: 'hidden one' }));
  const { page, complaints, open } = await visit(await app.user('viewer'));
  await open('/marketplace');
  await page.getByRole('link', { name: 'open one' }).waitFor();
  expect(await page.getByText('hidden one').count()).toBe(0);
  expect(await page.getByRole('link', { name: 'Reviews' }).count()).toBe(0);
  await open(`/marketplace/${approved.id}`);
  await page.getByText('Items are installed by people with the role builder.').waitFor();
  await page.keyboard.press('i');
  for (const name of ['Install', 'Withdraw', 'Submit a new version'])
    expect([name, await page.getByRole('button', { name }).count()]).toEqual([name, 0]);
  expect(await openDialog(page).count()).toBe(0);
  await open('/marketplace/reviews');
  await page.getByText('This needs the role admin.').waitFor();
  expect(complaints.splice(0)).toEqual([]);
  await open(`/marketplace/${hidden.id}`);
  await page.getByText('There is no such item. Or it is not yours to see').waitFor();
  expect(complaints).toEqual([expect.stringContaining('404')]);
  await asAda.delete(`/marketplace/items/${hidden.id}`);
});

inBrowser('items come page by page, and the filters are in the address', async () => {
  const tag = 'many';
  for (let index = 0; index < 26; index += 1)
    await approvedItem(asAda, asAdmin, await publishedAgent(asAda, { name: `many ${index}` }), {
      tags: [tag],
    });
  const { page, complaints, open } = await visit(bob);
  const cards = page.getByRole('list', { name: 'Items' }).getByRole('listitem');
  await open(`/marketplace?tag=${tag}`);
  await page.getByRole('link', { name: 'many 25' }).waitFor();
  expect(await cards.count()).toBe(24);
  await click(page, 'Show more');
  await page.getByRole('link', { name: 'many 0' }).waitFor();
  expect(await cards.count()).toBe(26);
  await page.keyboard.press('j');
  await page.keyboard.press('j');
  await page.getByRole('link', { name: 'many 24' }).and(page.locator(':focus')).waitFor();
  await page.getByLabel('Kind').selectOption('Workflows');
  await page.getByText('Nothing matches workflow, tag many.').waitFor();
  expect(page.url()).toContain('kind=workflow');
  await click(page, 'Clear filters');
  await page.getByRole('link', { name: 'many 25' }).waitFor();
  expect(page.url()).toMatch(/\/console\/marketplace$/);
  expect(complaints).toEqual([]);
});

inBrowser('the details of a workflow are changed, and no change of others is lost', async () => {
  const workflow = await createdWorkflow(asAda, { do: [{ a: { set: { b: 1 } } }] }, { name: 'Detailed' });
  const { page, complaints, open } = await visit(ada);
  await open(`/workflows/${workflow.id}`);
  await click(page, 'Details');
  const dialog = openDialog(page);
  await dialog.getByLabel('Description').fill('What it is for.');
  await dialog.getByLabel('Visibility').selectOption('visible to everyone');
  await dialog.getByLabel('Tags').fill('one\ntwo');
  await asAda.patch(`/workflows/${workflow.id}`, { description: 'Written by somebody else.' });
  await dialog.getByRole('button', { name: 'Save' }).click();
  await dialog.getByRole('button', { name: 'Show what is saved now, and drop my changes' }).click();
  expect(complaints.splice(0)).toEqual([expect.stringContaining('412')]);
  await dialog.getByText('Written by somebody else.').or(dialog.getByLabel('Description')).first().waitFor();
  await dialog.getByRole('button', { name: 'Show what' }).waitFor({ state: 'detached' });
  expect(await dialog.getByLabel('Description').inputValue()).toBe('Written by somebody else.');
  await dialog.getByLabel('Visibility').selectOption('visible to everyone');
  await dialog.getByLabel('Tags').fill('one\ntwo');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await page.getByText('The details are saved.').waitFor();
  await page.getByText('Written by somebody else.').waitFor();
  const { body } = await asAda.get(`/workflows/${workflow.id}`);
  expect(body).toMatchObject({
    description: 'Written by somebody else.',
    visibility: 'public',
    tags: ['one', 'two'],
    revision: 1,
  });
  // Another user sees it, and is not offered to change it.
  const other = await visit(bob);
  await other.open(`/workflows/${workflow.id}`);
  await heading(other.page, 'Detailed').waitFor();
  expect(await other.page.getByRole('button', { name: 'Details' }).count()).toBe(0);
  expect([complaints, other.complaints]).toEqual([[], []]);
});

inBrowser('every screen is accessible and fits, on a desk and on a phone, light and dark', async () => {
  const agent = await publishedAgent(asAda, { name: 'shown', description: 'Shows.', configuration });
  const item = await approvedItem(asAda, asAdmin, agent, { tags: ['a tag'], categories: ['text'] });
  await installed(asBob, item);
  await asBob.post(`/marketplace/items/${item.id}/reviews`, { rating: 4, text: 'Good.' });
  await asAda.patch(`/agents/${agent.id}`, {
    version: '2.0.0',
    configuration: { endpoint: 'https://b.example' },
  });
  await asAda.post(`/agents/${agent.id}/versions/2.0.0/publish`);
  await submitted(asAda, { id: agent.id, version: '2.0.0' });
  const workflow = await createdWorkflow(asAda, { do: [{ a: { set: { b: 1 } } }] });
  const ofItem = `/marketplace/${item.id}`;
  const waiting = `/marketplace/reviews?item=${item.id}&version=2.0.0`;
  const install = (page: Page) => click(page, 'Install i');
  const share = (page: Page) => click(page, 'Share in the marketplace');
  const details = (page: Page) => click(page, 'Details');
  const reject = (page: Page) => click(page, 'Reject r');
  const ofBob: Screen[] = [
    ['market', '/marketplace', 'shown'],
    ['market-none', '/marketplace?q=nothing-like-this', 'Nothing matches'],
    ['market-item', ofItem, 'What it needs'],
    ['market-versions', `${ofItem}?view=versions`, 'approved, shown'],
    ['market-ratings', `${ofItem}?view=reviews`, 'Your rating'],
    ['market-content', `${ofItem}?view=content`, 'This is what an installation copies.'],
    ['market-install', ofItem, 'You have a copy', install],
  ];
  const ofAda: Screen[] = [
    ['market-share', `/agents/${agent.id}`, 'It is in the marketplace already', share],
    ['workflow-details', `/workflows/${workflow.id}`, 'One a line.', details],
  ];
  const ofAdmin: Screen[] = [
    ['market-reviews', '/marketplace/reviews', 'What waits for a review'],
    ['market-reviewed', waiting, 'Changes since version 1.0.0'],
    ['market-reject', waiting, 'The publisher sees the reason.', reject],
  ];
  await expectScreensFit((viewport) => visit(bob, { viewport }), ofBob);
  await expectScreensFit((viewport) => visit(ada, { viewport }), ofAda);
  await expectScreensFit((viewport) => visit(admin, { viewport }), ofAdmin);
});
