/** What is a team's, in a real browser: its runs and human tasks, and the chats that are told of these. */
import { expect } from '@jest/globals';
import type { Page } from 'playwright-core';

import type { Client, TestApp, TestUser } from '../../support/app.ts';
import { phone, wide } from '../../support/chromium.ts';
import { consoleTestsWithoutTemporal, expectFits } from '../../support/console.ts';
import { insertRun, insertTask } from '../../support/human-tasks.ts';

let app: TestApp;
let ada: TestUser;
let asAda: Client;
let team: string;

const { inBrowser, visit } = consoleTestsWithoutTemporal(async (started) => {
  app = started;
  ada = await app.createUser({ username: 'ada', roles: ['builder'] });
  asAda = await app.as(ada);
  team = (await (await app.as('admin')).post('/teams', { name: 'payments', admin: ada.id })).body.id;
});

const click = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click();

inBrowser(
  'the strip of the day counts the runs of the team that is chosen, whoever started them',
  async () => {
    const bert = await app.createUser({ username: 'bert', roles: ['builder'] });
    expect((await asAda.put(`/teams/${team}/members/${bert.id}`, { role: 'builder' })).status).toBe(201);
    const definition = { do: [{ a: { set: { x: 1 } } }] };
    const start = async (who: Client, body: object) => {
      const { id } = (await who.post('/workflows', { definition, ...body })).body;
      expect((await who.post(`/workflows/${id}/run`, {})).status).toBe(201);
    };
    for (const name of ['ours', 'ours as well']) await start(asAda, { name, team_id: team });
    await start(await app.as(bert), { name: 'his own' });
    await start(await app.as(bert), { name: 'ours too', team_id: team });
    const { page, complaints, open } = await visit(bert);
    await open('/runs');
    const strip = (started: number) => page.getByRole('img', { name: `Last 24 hours: ${started} started` });
    await strip(2).waitFor();
    await page.getByLabel('Team', { exact: true }).selectOption('payments');
    await strip(3).waitFor();
    await page.getByLabel('Team', { exact: true }).selectOption('');
    await strip(2).waitFor();
    expect(complaints).toEqual([]);
  },
);

inBrowser('runs and the inbox are narrowed to a team, and the address keeps it', async () => {
  const candidates = { users: [ada.id], roles: [], groups: [] };
  const [own, ofTeam] = [
    await insertRun(app.orm, { owner: ada.id }),
    await insertRun(app.orm, { owner: ada.id, team }),
  ];
  await insertTask(app.orm, own, { candidates, title: 'Of one person' });
  await insertTask(app.orm, ofTeam, { candidates, title: 'Of the team' });
  for (const viewport of [wide, phone]) {
    const { page, complaints, open } = await visit(ada, { viewport });
    await open('/runs');
    const run = (id: string) => page.locator(`tr[data-run="${id}"]`);
    await run(own).waitFor();
    await page.getByLabel('Team', { exact: true }).selectOption('payments');
    await run(own).waitFor({ state: 'detached' });
    await run(ofTeam).waitFor();
    expect(new URL(page.url()).searchParams.get('team')).toBe(team);
    await page.getByLabel('Status').selectOption('faulted');
    await page.getByText('Nothing matches faulted, team payments.').waitFor();
    await open('/inbox');
    const task = (title: string) => page.getByRole('option', { name: title });
    await task('Of one person').waitFor();
    await page.getByLabel('Team', { exact: true }).selectOption('payments');
    await task('Of one person').waitFor({ state: 'detached' });
    await page.reload();
    await task('Of the team').waitFor();
    expect(await page.getByRole('listbox').getByRole('option').count()).toBe(1);
    await expectFits(page, `inbox-of-team-${viewport.width}`);
    await open(`/inbox?team=${team}&overdue=true`);
    await page.getByText('No task matches.').waitFor();
    await click(page, 'Clear filters');
    await task('Of one person').waitFor();
    expect(complaints).toEqual([]);
  }
});

inBrowser(
  'the admin of a team has a chat told of its tasks, and chooses the workflow of another',
  async () => {
    const definition = { do: [{ first: { set: { a: 1 } } }] };
    const { body: workflow } = await asAda.post('/workflows', { name: 'refunds', definition });
    const { page, complaints, open } = await visit(ada);
    await open('/settings/notifications');
    const add = async (name: string, field: string, of: string): Promise<void> => {
      await click(page, 'New chat');
      const dialog = page.getByRole('dialog', { name: 'New chat' });
      await dialog.getByLabel(/^Name/).fill(name);
      await dialog.getByLabel(/^Chat/).selectOption({ label: 'Slack' });
      await dialog.getByLabel('Webhook address').fill('https://hooks.example.com/a');
      await dialog.getByLabel(field, { exact: true }).selectOption({ label: of });
      await expectFits(page, `chat-of-${field.toLowerCase()}`);
      await dialog.getByRole('button', { name: 'Create' }).click();
      await dialog.waitFor({ state: 'hidden' });
    };
    await add('Ours', 'Team', 'payments');
    await page.getByRole('row', { name: /Ours.*team payments/ }).waitFor();
    await add('Money back', 'Workflow', 'refunds');
    await page.getByRole('row', { name: /Money back.*workflow refunds/ }).waitFor();
    expect((await asAda.get('/notifications/channels')).body).toMatchObject([
      { name: 'Ours', team_id: team, workflow_id: null, group: null },
      { name: 'Money back', team_id: null, workflow_id: workflow.id, group: null },
    ]);
    await page.getByRole('row', { name: /Ours/ }).getByRole('button', { name: 'Change' }).click();
    const dialog = page.getByRole('dialog', { name: 'Change the chat' });
    await dialog.getByLabel(/^Name/).fill('All of ours');
    await dialog.getByLabel('Reminder').uncheck();
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('row', { name: /All of ours/ }).waitFor();
    const [changed] = (await asAda.get('/notifications/channels')).body;
    expect([changed.name, changed.team_id, changed.kinds.length]).toEqual(['All of ours', team, 5]);
    expect(changed.kinds).not.toContain('reminder');
    expect(complaints).toEqual([]);
  },
);

inBrowser('the admin of a team gives a group a role, which its people show, and takes it back', async () => {
  const grace = await app.createUser({ username: 'grace', roles: ['viewer'] });
  const asAdmin = await app.as('admin');
  expect((await asAdmin.patch(`/users/${grace.id}`, { groups: ['eu/finance'] })).status).toBe(200);
  for (const viewport of [wide, phone]) {
    const { page, complaints, open } = await visit(ada, { viewport });
    await open(`/settings/teams?team=${team}`);
    await page.getByText('No groups.').waitFor();
    await click(page, 'Add a group');
    const dialog = page.getByRole('dialog', { name: 'Add a group' });
    await dialog.getByLabel(/^Group/).fill('nobody:finance');
    await dialog.getByLabel(/^Role/).selectOption({ label: 'Approver' });
    await dialog.getByRole('button', { name: 'Add a group' }).click();
    await dialog.getByText('which is no issuer').waitFor();
    await dialog.getByLabel(/^Group/).fill('eu/finance');
    await dialog.getByRole('button', { name: 'Add a group' }).click();
    await dialog.waitFor({ state: 'hidden' });
    const groups = page.getByRole('region', { name: 'Groups of payments' });
    const members = page.getByRole('region', { name: 'Members of payments' });
    await groups.getByRole('row', { name: /eu\/finance approver/ }).waitFor();
    const row = members.getByRole('row', { name: /grace/ });
    await row.waitFor();
    if (viewport === wide) expect(await row.textContent()).toContain('eu/finance (approver)');
    // A group gives it, so nobody takes it by hand.
    expect(await row.getByRole('button', { name: 'Remove' }).count()).toBe(0);
    // Of a large group, as long as some of its people are left.
    const queue = "insert into group_to_follow (group_name, after_id) values ('eu/finance', ?)";
    await app.orm.em.fork().execute(queue, [grace.id]);
    await open(`/settings/teams?team=${team}`);
    await groups.getByRole('row', { name: /eu\/finance \(its people still get the role\)/ }).waitFor();
    await expectFits(page, `groups-of-team-${viewport.width}`);
    await app.orm.em.fork().execute('delete from group_to_follow');
    await groups.getByText('its people still get the role').waitFor({ state: 'detached' });
    await groups.getByRole('button', { name: 'Remove' }).click();
    const asked = page.getByRole('dialog', { name: /Remove the group eu\/finance/ });
    await asked.getByRole('button', { name: 'Remove' }).click();
    await row.waitFor({ state: 'detached' });
    await page.getByText('No groups.').waitFor();
    // Of the group of an unknown issuer.
    expect(complaints).toEqual([expect.stringContaining('status of 422')]);
  }
});
