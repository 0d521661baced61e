/** Naming people in forms, with the suggestions of the directory, in a real browser. */
import { expect } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';

import type { Client, TestApp, TestUser } from '../../support/app.ts';
import { accessibilityProblems, keepPicture, phone } from '../../support/chromium.ts';
import { consoleTestsWithoutTemporal, expectFits } from '../../support/console.ts';

let app: TestApp;
let root: TestUser;
let hopper: TestUser;
let turing: TestUser;
let admin: Client;

const { inBrowser, visit } = consoleTestsWithoutTemporal(async (started) => {
  app = started;
  root = await app.createUser({ username: 'root', roles: ['admin'] });
  hopper = await app.createUser({ username: 'Hopper', roles: ['approver'] });
  turing = await app.createUser({ username: 'turing', roles: ['builder'] });
  admin = await app.as(root);
  await admin.patch(`/users/${hopper.id}`, { display_name: 'Grace Hopper' });
});

const click = (within: Page | Locator, name: string) =>
  within.getByRole('button', { name, exact: true }).click();
const focusedId = (page: Page) => page.evaluate('document.activeElement?.id');
const pictures = async (within: Locator) => {
  await within.waitFor();
  return within.locator('[aria-hidden="true"]').allInnerTexts();
};

inBrowser('a member of a team is found by name, and a username counts in any case', async () => {
  const { id } = (await admin.post('/teams', { name: 'compilers', admin: root.id })).body;
  const { page, complaints, open } = await visit(root);
  await open(`/settings/teams?team=${id}`);
  await click(page, 'Add a member');
  const dialog = page.getByRole('dialog', { name: 'Add a member' });
  const person = dialog.getByRole('combobox', { name: 'Person' });
  await person.pressSequentially('grace');
  const found = dialog.getByRole('option', { name: 'Grace Hopper Hopper', exact: true });
  await found.waitFor();
  expect(await pictures(found)).toEqual(['GH']);
  const before = await dialog.getByRole('button', { name: 'Add a member' }).boundingBox();
  await expectFits(page, 'person-suggested');
  await found.click();
  expect(await person.inputValue()).toBe('Hopper');
  expect(await focusedId(page)).toBe(await person.getAttribute('id'));
  expect(await person.getAttribute('aria-expanded')).toBe('false');
  // Nothing moves when the list opens and closes, so a click meets what it aims at.
  expect(await dialog.getByRole('button', { name: 'Add a member' }).boundingBox()).toEqual(before);
  await click(dialog, 'Add a member');
  await page.getByText('Hopper is viewer of the team.').waitFor();

  await click(page, 'Add a member');
  await person.fill('nobody');
  await dialog.getByRole('status').getByText('Nobody has this name.').waitFor({ state: 'attached' });
  await click(dialog, 'Add a member');
  await dialog.getByText('There is no user nobody.').waitFor();
  await person.fill('TURING');
  await dialog.getByRole('option', { name: 'turing' }).waitFor();
  await page.keyboard.press('Escape');
  expect(await dialog.isVisible()).toBe(true);
  await click(dialog, 'Add a member');
  await page.getByText('turing is viewer of the team.').waitFor();
  const table = page.getByRole('region', { name: 'Members of compilers' });
  expect(await pictures(table.getByRole('row', { name: /Hopper \(Grace Hopper\)/ }))).toEqual(['GH']);
  await open('/settings/users');
  const row = page.getByRole('row', { name: /^Hopper \(Grace Hopper\)/ });
  expect(await pictures(row)).toEqual(['GH']);
  await expectFits(page, 'users-with-pictures');
  expect(complaints).toEqual([]);
});

inBrowser('an admin enters the absence of somebody else, and others only their own', async () => {
  const until = new Date(Date.now() + 30 * 24 * 3_600_000).toISOString().slice(0, 16);
  const { page, complaints, open } = await visit(root, { viewport: phone });
  await open('/settings/notifications');
  await click(page, 'Name a deputy');
  const dialog = page.getByRole('dialog', { name: 'Name a deputy' });
  const absent = dialog.getByRole('combobox', { name: 'Absent' });
  await absent.pressSequentially('tur');
  await dialog.getByRole('option', { name: 'turing', selected: true }).waitFor();
  await expectFits(page, 'absence-of-other');
  await page.keyboard.press('Enter');
  expect(await absent.inputValue()).toBe('turing');
  await dialog.getByRole('combobox', { name: 'Deputy' }).fill('hopper');
  await dialog.getByLabel('Until').fill(until);
  await click(dialog, 'Create');
  const row = page.getByRole('row', { name: /turing.*Grace Hopper/ });
  await row.waitFor();
  expect(await pictures(row)).toEqual(['T', 'GH']);
  const { body } = await admin.get('/absences');
  expect(body).toMatchObject([{ user: { id: turing.id }, deputy: { id: hopper.id } }]);
  await admin.delete(`/absences/${body[0].id}`);
  expect(complaints).toEqual([]);

  const other = await visit(hopper);
  await other.open('/settings/notifications');
  await click(other.page, 'Name a deputy');
  const own = other.page.getByRole('dialog', { name: 'Name a deputy' });
  await own.getByRole('combobox', { name: 'Deputy' }).waitFor();
  expect(await own.getByRole('combobox').count()).toBe(1);
});

inBrowser('runners of a workflow are chosen one after the other, and taken away', async () => {
  const builder = await app.as(turing);
  const definition = { do: [{ a: { set: { b: 1 } } }] };
  const { id } = (await builder.post('/workflows', { name: 'Payroll', definition })).body;
  const { page, complaints, open } = await visit(turing);
  await open(`/workflows/${id}`);
  const runners = async () => (await builder.get(`/workflows/${id}`)).body.runners.users;
  await click(page, 'Details');
  const dialog = page.getByRole('dialog');
  const field = dialog.getByRole('combobox', { name: 'Users who may start it' });
  const chosen = dialog.getByRole('list', { name: 'Users who may start it: chosen' });
  await field.pressSequentially('hopp');
  await dialog.getByRole('option', { name: 'Grace Hopper Hopper', selected: true }).waitFor();
  await page.keyboard.press('Enter');
  await chosen.getByText('Grace Hopper').waitFor();
  expect([await field.inputValue(), await pictures(chosen)]).toEqual(['', ['GH']]);
  // Somebody who was chosen is suggested no more.
  await field.pressSequentially('o');
  await dialog.getByRole('option', { name: 'root' }).waitFor();
  expect(await dialog.getByRole('option', { name: 'Grace Hopper' }).count()).toBe(0);
  await field.fill('ROOT');
  await page.keyboard.press('Escape');
  expect(await accessibilityProblems(page)).toEqual([]);
  await keepPicture(page, 'runners');
  // What was only typed counts too.
  await click(dialog, 'Save');
  await page.getByText('The details are saved.').waitFor();
  expect(await runners()).toEqual([hopper.id, root.id]);

  await click(page, 'Details');
  await click(dialog, 'Remove Grace Hopper');
  expect(await focusedId(page)).toBe(await field.getAttribute('id'));
  await click(dialog, 'Remove root');
  expect(await chosen.count()).toBe(0);
  await click(dialog, 'Save');
  await expect(dialog.waitFor({ state: 'detached' })).resolves.toBeUndefined();
  expect(await runners()).toEqual([]);
  expect(complaints).toEqual([]);
});
