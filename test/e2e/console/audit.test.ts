/** The audit log in a real browser: narrowed, opened, and reached from what it is about. */
import { expect } from '@jest/globals';
import type { Page } from 'playwright-core';

import { sealAudit } from '../../../domain/audit/seal.ts';
import type { Client, TestApp, TestUser } from '../../support/app.ts';
import { accessibilityProblems, phone, wide } from '../../support/chromium.ts';
import { consoleTestsWithoutTemporal, expectFits } from '../../support/console.ts';
import { until } from '../../support/platform.ts';

let app: TestApp;
let ada: TestUser;
let asAda: Client;
let root: TestUser;

const { inBrowser, visit } = consoleTestsWithoutTemporal(async (started) => {
  app = started;
  ada = await app.createUser({ username: 'ada', roles: ['builder'] });
  asAda = await app.as(ada);
  root = await app.createUser({ username: 'root', roles: ['admin'] });
});

const definition = { do: [{ first: { set: { a: 1 } } }] };
const rows = (page: Page) => page.locator('tbody[data-records] tr');
const searchOf = (page: Page) => new URL(page.url()).searchParams;

/** A workflow of ada whose visibility has changed. */
async function changedWorkflow(name: string): Promise<string> {
  const { body } = await asAda.post('/workflows', { name, definition, visibility: 'private' });
  const agent = { headers: { 'user-agent': 'ledger-script/7' } };
  const changed = await asAda.patch(`/workflows/${body.id}`, { visibility: 'public' }, agent);
  expect(changed.status).toBe(200);
  return body.id;
}

inBrowser('an admin gets from a workflow to what was done to it, and an entry says all', async () => {
  const id = await changedWorkflow('ledger');
  const { page, complaints, open } = await visit(root);
  await open(`/workflows/${id}`);
  await page.getByRole('link', { name: 'History', exact: true }).click();
  await rows(page).nth(1).waitFor();
  expect(new URL(page.url()).pathname).toBe('/console/settings/audit');
  expect([searchOf(page).get('object_id'), await rows(page).count()]).toEqual([id, 2]);
  await rows(page).filter({ hasText: 'Update workflow' }).getByRole('button', { name: 'All fields' }).click();
  const dialog = page.getByRole('dialog', { name: 'Update workflow' });
  for (const text of [`ada, ${ada.id}`, `workflow ${id}`, 'ledger-script/7', 'Request id', 'Credential'])
    await dialog.getByText(text).first().waitFor();
  // The name that the filter takes.
  await dialog.getByText('updateWorkflow', { exact: true }).waitFor();
  await dialog.getByText('private → public').waitFor();
  await dialog.getByText('changed; such values are not kept').first().waitFor();
  await expectFits(page, 'audit-entry');
  await dialog.getByRole('link', { name: 'All that was done to it' }).click();
  await dialog.waitFor({ state: 'hidden' });
  expect(complaints).toEqual([]);
});

inBrowser('the log is narrowed by person, action, object and time, and so is its export', async () => {
  const id = await changedWorkflow('journal');
  for (const viewport of [wide, phone]) {
    const { page, complaints, open } = await visit(root, { viewport });
    await open('/settings/audit');
    const fill = async (label: string, text: string): Promise<void> => {
      await page.getByLabel(label, { exact: true }).fill(text);
      await page.getByLabel(label, { exact: true }).blur();
    };
    await fill('Id of the object', id);
    await rows(page).nth(2).waitFor({ state: 'detached' });
    await fill('Action', 'updateWorkflow');
    await rows(page).nth(1).waitFor({ state: 'detached' });
    await fill('Kind of object', 'workflow');
    await fill('Person', 'ada');
    await page.waitForURL((url) => url.searchParams.get('actor_id') === ada.id);
    await rows(page).filter({ hasText: 'Update workflow' }).waitFor();
    await fill('From', '2026-01-31T08:30');
    await page.waitForURL((url) => url.searchParams.has('from'));
    // The fields show what the address says.
    await page.reload();
    await rows(page).filter({ hasText: 'Update workflow' }).waitFor();
    expect(await page.getByLabel('From').inputValue()).toBe('2026-01-31T08:30');
    const address = await page.getByRole('link', { name: 'Download as CSV' }).getAttribute('href');
    const csv = (await page.evaluate(`fetch(${JSON.stringify(address)}).then((r) => r.text())`)) as string;
    expect(csv.trim().split('\r\n')).toEqual([
      expect.stringContaining('object_id'),
      expect.stringContaining(id),
    ]);
    const asked = Object.fromEntries(new URLSearchParams(address?.split('?')[1]));
    expect(asked).toEqual({ format: 'csv', ...Object.fromEntries(searchOf(page)) });
    await expectFits(page, `audit-narrowed-${viewport.width}`);
    await fill('Before', '2026-02-01T00:00');
    await page.getByText('Nothing matches').waitFor();
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await rows(page).nth(2).waitFor();
    expect([...searchOf(page).keys()]).toEqual([]);
    await fill('Person', 'nobody-of-that-name');
    await page.getByText('There is no user nobody-of-that-name.').waitFor();
    expect(complaints).toEqual([]);
  }
});

inBrowser('an admin checks that nobody has changed the log, and is told when somebody has', async () => {
  await changedWorkflow('sealed');
  await sealAudit(() => app.orm.em.fork());
  const { page, complaints, open } = await visit(root, { viewport: phone });
  await open('/settings/audit');
  const check = () => page.getByRole('button', { name: 'Check the log' }).click();
  const dialog = page.getByRole('dialog', { name: 'Check the log' });
  await check();
  await dialog.getByText(/^Nobody has changed the log: \d+ entries in \d+ seals?\.$/).waitFor();
  expect(await dialog.locator('pre').innerText()).toMatch(/^\d+:[0-9a-f]{64}$/);
  await expectFits(page, 'audit-intact');
  await dialog.getByRole('button', { name: 'Close' }).click();
  // What somebody with the rights of the database's owner can do.
  await app.orm.em.fork().transactional(async (em) => {
    await em.execute('set local session_replication_role = replica');
    await em.execute(
      `update audit_entry set actor_name = 'nobody' where id = (select min(id) from audit_entry)`,
    );
  });
  await check();
  await dialog.getByText('The log was changed: one thing does not fit.').waitFor();
  await dialog.getByText(/^Seal \d+: /).waitFor();
  expect(complaints).toEqual([]);
});

inBrowser(
  'buttons of the log are as wide as their words, and its CSV is in line with the filters',
  async () => {
    const { page, complaints, open } = await visit(root);
    await open('/settings/audit');
    const boxOf = async (role: 'button' | 'combobox' | 'link', name: string) => {
      const box = await page.getByRole(role, { name, exact: true }).boundingBox();
      return box ?? { width: 0, y: 0, height: 0 };
    };
    const { width } = await boxOf('button', 'Check the log');
    expect(width).toBeGreaterThan(50);
    expect(width).toBeLessThan(200);
    const [outcome, csv] = [await boxOf('combobox', 'Outcome'), await boxOf('link', 'Download as CSV')];
    const middleOf = ({ y, height }: { y: number; height: number }) => y + height / 2;
    expect(Math.abs(middleOf(csv) - middleOf(outcome))).toBeLessThan(2);
    await expectFits(page, 'audit-all');
    expect(complaints).toEqual([]);
  },
);

inBrowser(
  'actions are proposed for the log, and one that there is not is refused with a near one',
  async () => {
    const { page, complaints, open } = await visit(root);
    await open('/settings/audit');
    const field = page.getByLabel('Action', { exact: true });
    await field.waitFor();
    const proposed = await page
      .locator(`datalist#${await field.getAttribute('list')} option`)
      .evaluateAll((options) => options.map((option) => option.getAttribute('value')));
    // Nobody has done them here.
    expect(proposed).toEqual(expect.arrayContaining(['a2a_delete_push', 'retryRun', 'updateWorkflow']));
    expect(new Set(proposed).size).toBe(proposed.length);
    // The table says them in words, which are proposed with them and taken too.
    expect(await page.locator('datalist option[value=retryRun]').getAttribute('label')).toBe('Retry run');
    await field.fill('Retry run');
    await field.press('Enter');
    await page.getByText('Nothing matches retryRun.').waitFor();
    expect(await field.inputValue()).toBe('retryRun');
    await field.fill('updateWorkfow');
    await field.blur();
    await page.getByText('did you mean "updateWorkflow"?').waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    expect(complaints).toEqual([expect.stringContaining('400')]);
  },
);

inBrowser('people are suggested for the log by name, by keyboard and by mouse', async () => {
  const { id } = await app.createUser({ username: 'gh1906', roles: ['builder'] });
  const named = await (await app.as(root)).patch(`/users/${id}`, { display_name: 'Grace Hopper' });
  expect(named.status).toBe(200);
  const { page, complaints, open } = await visit(root, { viewport: phone });
  await open('/settings/audit');
  const person = page.getByRole('combobox', { name: 'Person' });
  await person.pressSequentially('grace');
  const suggestion = page.getByRole('option', { name: /Grace Hopper gh1906/ });
  await suggestion.waitFor();
  await expectFits(page, 'audit-suggested');
  await person.press('Enter');
  await page.waitForURL((url) => url.searchParams.get('actor_id') === id);
  await until(
    () => person.inputValue(),
    (shown) => shown === 'Grace Hopper',
  );
  await suggestion.waitFor({ state: 'detached' });
  // Emptied, it narrows no more; an id is taken as it is.
  await person.fill('');
  await person.press('Enter');
  await page.waitForURL((url) => !url.searchParams.has('actor_id'));
  await person.fill(ada.id);
  await person.press('Enter');
  await page.waitForURL((url) => url.searchParams.get('actor_id') === ada.id);
  await person.fill('hopper');
  await suggestion.click();
  await page.waitForURL((url) => url.searchParams.get('actor_id') === id);
  expect(complaints).toEqual([]);
});

inBrowser('who is no admin sees their own entries, and no way to those of others', async () => {
  const id = await changedWorkflow('diary');
  const { page, complaints, open } = await visit(ada);
  await open(`/workflows/${id}`);
  await page.getByRole('heading', { name: 'diary' }).waitFor();
  expect(await page.getByRole('link', { name: 'History', exact: true }).count()).toBe(0);
  await open(`/settings/audit?object_id=${id}`);
  await rows(page).nth(1).waitFor();
  expect(await page.getByLabel('Person', { exact: true }).count()).toBe(0);
  expect(complaints).toEqual([]);
});

inBrowser('users, teams and agents lead an admin to their entries', async () => {
  const admin = await app.as(root);
  const { body: team } = await admin.post('/teams', { name: 'auditors' });
  expect((await admin.put(`/teams/${team.id}/members/${ada.id}`, { role: 'viewer' })).status).toBe(201);
  const { body: agent } = await asAda.post('/agents', {
    name: 'scorer',
    type: 'api',
    version: '1.0.0',
    visibility: 'public',
    configuration: { endpoint: 'https://scores.example.com' },
  });
  const { page, complaints, open } = await visit(root);
  for (const [screen, place, action] of [
    ['/settings/teams', page.getByRole('row', { name: 'auditors' }), 'Put team member'],
    [`/agents/${agent.id}`, page.locator('main'), 'Create agent'],
  ] as const) {
    await open(screen);
    await place.getByRole('link', { name: 'History', exact: true }).click();
    await rows(page).filter({ hasText: action }).waitFor();
  }
  await open('/settings/users?q=ada');
  const row = page.getByRole('row', { name: 'ada@' });
  await row.getByRole('button', { name: 'More', exact: true }).click();
  await row.getByRole('link', { name: 'History' }).click();
  await page.waitForURL((url) => url.searchParams.get('object_id') === ada.id);
  expect(complaints).toEqual([]);
});

inBrowser('an admin of a team reads what was done to what it holds, and no other', async () => {
  const admin = await app.as(root);
  const lead = await app.createUser({ username: 'lead', roles: ['builder'] });
  const { body: team } = await admin.post('/teams', { name: 'ledgers', admin: lead.id });
  const id = await changedWorkflow('shared ledger');
  expect((await admin.patch(`/workflows/${id}`, { team_id: team.id })).status).toBe(200);
  const { page, complaints, open } = await visit(lead);
  await open(`/workflows/${id}`);
  await page.getByRole('link', { name: 'History', exact: true }).click();
  await rows(page).filter({ hasText: 'Update workflow' }).waitFor();
  expect([searchOf(page).get('team_id'), searchOf(page).get('object_id')]).toEqual([team.id, id]);
  // What was done to it before it was the team's is not.
  expect(await rows(page).count()).toBe(1);
  await rows(page).getByRole('button', { name: 'All fields' }).click();
  const dialog = page.getByRole('dialog', { name: 'Update workflow' });
  await dialog.getByText('Moved to the team').waitFor();
  await dialog.getByText(`ledgers, ${team.id}`).waitFor();
  await expectFits(page, 'audit-of-team');
  await dialog.getByRole('link', { name: 'All that was done to it' }).click();
  await dialog.waitFor({ state: 'hidden' });
  expect(searchOf(page).get('team_id')).toBe(team.id);
  await page.getByLabel('Id of the object', { exact: true }).fill('');
  await page.getByLabel('Id of the object', { exact: true }).blur();
  await rows(page).filter({ hasText: 'Create team' }).waitFor();
  await page.getByLabel('Person', { exact: true }).fill('root');
  await page.getByLabel('Person', { exact: true }).blur();
  await page.waitForURL((url) => url.searchParams.get('actor_id') === root.id);
  const address = await page.getByRole('link', { name: 'Download as CSV' }).getAttribute('href');
  const csv = (await page.evaluate(`fetch(${JSON.stringify(address)}).then((r) => r.text())`)) as string;
  expect(csv.trim().split('\r\n')).toHaveLength(3);
  await page.getByLabel('Team', { exact: true }).selectOption('what I did');
  await page.waitForURL((url) => !url.searchParams.has('team_id'));
  expect(await page.getByLabel('Person', { exact: true }).count()).toBe(0);
  expect(complaints).toEqual([]);
});
