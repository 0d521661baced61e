/** Invitations and forgotten passwords in a real browser, with a real mail server. */
import { afterAll, beforeAll, expect } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';

import { linkTo, mailSender, smtpSettings, type MailSender } from '../../support/account-mails.ts';
import { createClient, startTestApp, type Client, type TestApp } from '../../support/app.ts';
import {
  accessibilityProblems,
  buildConsole,
  consoleFolder,
  launchChromium,
  noChromium,
  phone,
  visitConsole,
  wide,
} from '../../support/chromium.ts';
import { expectFits, type Screen } from '../../support/console.ts';
import { startMailServer, type MailServer } from '../../support/mail-server.ts';
import { testUnless } from '../../support/outside.ts';
import { earlyTotpCode, totpCode } from '../../support/totp.ts';

const PASSWORD = 'correct horse battery';
const OTHER = 'staple battery horse correct';
let smtp: MailServer;
let app: TestApp;
let mails: MailSender;
let browser: Browser;
let admin: Client;
const inBrowser = testUnless(noChromium);

beforeAll(async () => {
  if (noChromium !== undefined) return;
  await buildConsole();
  smtp = await startMailServer();
  app = await startTestApp({ consoleFolder, env: smtpSettings(smtp) });
  mails = mailSender(app);
  admin = await app.as('admin');
  browser = await launchChromium();
});
afterAll(async () => {
  await browser?.close();
  mails?.close();
  await app?.close();
  await smtp?.close();
});

const click = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click();
const isIn = (page: Page) => page.getByRole('link', { name: 'Inbox' }).first().waitFor();

async function lastLink(username: string): Promise<string> {
  await mails.send();
  return linkTo(smtp.mails, `${username}@example.com`);
}

async function choose(page: Page, password: string, repeated = password): Promise<void> {
  await page.getByLabel('New password').fill(password);
  await page.getByLabel('Repeat the password').fill(repeated);
  await click(page, 'Choose and log in');
}

inBrowser('an admin invites a person, who chooses a password and is logged in', async () => {
  const boss = await visitConsole(browser, app, await app.user('admin'));
  await boss.open('/settings/users');
  await click(boss.page, 'Create a user');
  const dialog = boss.page.getByRole('dialog').filter({ visible: true });
  await dialog.getByLabel('Username').fill('ada');
  await dialog.getByLabel('Email').fill('ada@example.com');
  await dialog.getByRole('button', { name: 'Create' }).click();
  await boss.page.getByText('ada is invited by a mail to ada@example.com.').waitFor();
  await boss.page.getByRole('cell', { name: 'invited', exact: true }).waitFor();
  const first = await lastLink('ada');

  await boss.page.getByRole('link', { name: 'ada', exact: true }).click();
  await click(boss.page, 'Invite again');
  // The note of the first invitation may still stand there, so its text alone would prove nothing.
  const answered = boss.page.waitForResponse((answer) => answer.url().endsWith('/invitation'));
  await dialog.getByRole('button', { name: 'Invite again' }).click();
  expect((await answered).status()).toBeLessThan(300);
  await boss.page.getByText('ada is invited by a mail to ada@example.com.').first().waitFor();
  const second = await lastLink('ada');
  expect(second).not.toBe(first);
  expect(await accessibilityProblems(boss.page)).toEqual([]);

  const { page, complaints, close } = await visitConsole(browser, app, null);
  await page.goto(first);
  await page.getByText('The link is over').waitFor();
  // The browser itself notes the 410.
  complaints.length = 0;
  await page.goto(second);
  await page.getByText('Your account is ada.').waitFor();
  await choose(page, PASSWORD, OTHER);
  await page.getByText('The two passwords differ.').waitFor();
  await choose(page, 'short');
  await page.getByText('The password must have at least 12 characters.').waitFor();
  complaints.length = 0;
  await choose(page, PASSWORD);
  await isIn(page);
  expect(new URL(page.url()).hash).toBe('');
  await page.reload();
  await isIn(page);
  expect(complaints).toEqual([]);
  await close();

  await boss.page.reload();
  await boss.page.getByText('Switch the password off').waitFor();
  expect(await boss.page.getByRole('heading', { name: 'Invitation' }).count()).toBe(0);
  await boss.close();
});

inBrowser('an invitation is taken back', async () => {
  const body = { username: 'bea', email: 'bea@example.com', roles: ['viewer'], password: null };
  const { id } = (await admin.post('/users', body)).body;
  const { page, open, complaints, close } = await visitConsole(browser, app, await app.user('admin'));
  await open(`/settings/users/${id}`);
  const dialog = page.getByRole('dialog').filter({ visible: true });
  await click(page, 'Invite');
  await dialog.getByRole('button', { name: 'Invite' }).click();
  await click(page, 'Take the invitation back');
  await dialog.getByRole('button', { name: 'Take the invitation back' }).click();
  await page.getByText('The invitation of bea is taken back.').waitFor();
  expect((await admin.get(`/users/${id}`)).body.invited_until).toBeNull();
  expect(complaints.filter((text) => !text.includes('404'))).toEqual([]);
  await close();
});

inBrowser('somebody who has forgotten the password gets a link; the second factor is asked for', async () => {
  const body = { username: 'grace', email: 'grace@example.com', roles: ['builder'], password: PASSWORD };
  expect((await admin.post('/users', body)).status).toBe(201);
  const log = await app.anonymous.post('/auth/token', { username: 'grace', password: PASSWORD });
  const own = createClient(app.url, log.body.access_token);
  const { secret } = (await own.post('/users/me/totp')).body;
  const early = await earlyTotpCode(secret);
  expect((await own.post('/users/me/totp/confirm', { code: early })).status).toBe(200);

  const { page, open, close } = await visitConsole(browser, app, null);
  await open('/');
  await page.getByRole('link', { name: 'Forgotten your password?' }).click();
  await page.getByLabel('Username or e-mail').fill('grace@example.com');
  await click(page, 'Send the link');
  await page.getByText('If there is such an account').waitFor();
  await page.goto(await lastLink('grace'));
  await page.getByText('A new password for grace.').waitFor();
  await choose(page, OTHER);
  await page.getByText('Your password is set.').waitFor();
  await page.getByLabel('Code').fill(totpCode(secret));
  await click(page, 'Log in');
  await isIn(page);
  await close();
});

inBrowser('what leads to a password is accessible and fits, on a desk and on a phone', async () => {
  const body = { username: 'edsger', email: 'edsger@example.com', roles: ['viewer'], password: PASSWORD };
  expect((await admin.post('/users', body)).status).toBe(201);
  await app.anonymous.post('/auth/password-requests', { name: 'edsger' });
  const forgotten = new URL(await lastLink('edsger')).hash;
  const invited = { username: 'ines', email: 'ines@example.com', roles: ['viewer'], password: null };
  const { id } = (await admin.post('/users', invited)).body;
  const invite = async () => {
    expect((await admin.post(`/users/${id}/invitation`)).status).toBeLessThan(300);
    return new URL(await lastLink('ines')).hash;
  };
  const [over, invitation] = [await invite(), await invite()];
  expect(invitation).not.toBe(over);

  const asks = async (page: Page) => {
    await page.getByLabel('Username or e-mail').fill('nobody-of-that-name');
    await click(page, 'Send the link');
  };
  const screens: readonly Screen[] = [
    ['log-in-forgotten', '/', 'Forgotten your password?'],
    ['password-ask', '/password', 'You get a mail with a link'],
    ['password-asked', '/password', 'If there is such an account', asks],
    ['password-choose', `/password${forgotten}`, 'A new password for edsger.'],
    [
      'password-refused',
      `/password${forgotten}`,
      'The password must have at least 12 characters.',
      (page) => choose(page, 'short'),
    ],
    ['password-invited', `/password${invitation}`, 'Your account is ines.'],
    ['password-over', `/password${over}`, 'The link is over'],
    ['password-not-whole', '/password#not-whole', 'This link is not complete.'],
  ];
  for (const viewport of [wide, phone]) {
    const { page, open, close } = await visitConsole(browser, app, null, { viewport });
    for (const [name, path, ready, act] of screens) {
      // Addresses that differ behind the `#` alone would not load the page anew.
      await page.goto('about:blank');
      await open(path);
      await act?.(page);
      await page.getByText(ready).waitFor();
      expect([name, await page.locator('h1').count()]).toEqual([name, 1]);
      await expectFits(page, `${name}-${viewport.width}`);
    }
    await close();
  }
});
