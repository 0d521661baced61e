/** What needs a fresh log-in asks for one over the page, in a real browser. */
import { afterAll, beforeAll, expect } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { startTestApp, type TestApp } from '../../support/app.ts';
import {
  buildConsole,
  consoleFolder,
  launchChromium,
  noChromium,
  visitConsole,
} from '../../support/chromium.ts';
import { testUnless } from '../../support/outside.ts';

let app: TestApp;
let browser: Browser;
const PASSWORD = 'correct horse battery';
const ASKED = 'Log in again to do this';

beforeAll(async () => {
  if (noChromium !== undefined) return;
  await buildConsole();
  app = await startTestApp({ consoleFolder, host: 'localhost' });
  browser = await launchChromium();
});
afterAll(async () => {
  await browser?.close();
  await app?.close();
});

/** Logs in, and makes the session an hour old. */
async function withOldSession(page: Page, user: { id: string; username: string }): Promise<void> {
  await (await app.as('admin')).patch(`/users/${user.id}`, { password: PASSWORD });
  await page.getByLabel('Username or e-mail').fill(user.username);
  await page.getByLabel('Password').fill(PASSWORD);
  await page.getByRole('button', { name: 'Log in', exact: true }).click();
  await page.getByRole('link', { name: 'Sessions' }).waitFor();
  await app.orm.em
    .fork()
    .execute(
      `update auth_session set verified_at = null, created_at = now() - interval '1 hour' where user_id = ?`,
      [user.id],
    );
}

testUnless(noChromium)('a deputy is named after a fresh log-in, and not without one', async () => {
  const user = await app.createUser({ username: 'grace', roles: ['approver'] });
  await app.createUser({ username: 'hopper', roles: ['approver'] });
  const absences = async () => (await (await app.as('admin')).get('/absences')).body;
  const { page, open, close } = await visitConsole(browser, app, null);
  await open('/settings/notifications');
  await withOldSession(page, user);
  const asked = page.getByRole('dialog', { name: ASKED });
  const form = page.getByRole('dialog', { name: 'Name a deputy' });
  const send = () => form.getByRole('button', { name: 'Create', exact: true }).click();

  await page.getByRole('button', { name: 'Name a deputy' }).click();
  await form.getByLabel('Deputy').fill('hopper');
  const nextMonth = new Date(Date.now() + 30 * 24 * 3_600_000).toISOString();
  await form.getByLabel('Until').fill(nextMonth.slice(0, 16));
  await send();
  await asked.waitFor();
  // The session can still be read, which is no fresh log-in.
  await page.evaluate(`(async () => {
    dispatchEvent(new Event('focus'));
    for (let read = 0; read < 3; read++) await (await fetch('/console/session')).text();
  })()`);
  expect(await asked.isVisible()).toBe(true);

  await asked.getByRole('button', { name: 'Cancel' }).click();
  await asked.waitFor({ state: 'hidden' });
  expect(await absences()).toEqual([]);

  await send();
  await asked.getByLabel('Password').fill('wrong');
  await asked.getByRole('button', { name: 'Log in', exact: true }).click();
  await asked.getByRole('alert').filter({ hasText: /./ }).waitFor();
  expect(await asked.isVisible()).toBe(true);
  expect(await absences()).toEqual([]);

  await asked.getByLabel('Password').fill(PASSWORD);
  await asked.getByRole('button', { name: 'Log in', exact: true }).click();
  await asked.waitFor({ state: 'hidden' });
  expect(await form.getByLabel('Deputy').inputValue()).toBe('hopper');
  await send();
  await page
    .getByRole('row')
    .filter({ hasText: /hopper/i })
    .waitFor();
  expect(await absences()).toHaveLength(1);
  await close();
});
