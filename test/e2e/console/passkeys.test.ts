/** Passkeys in a real browser with its virtual authenticator, through the console's own screens. */
import { afterAll, beforeAll, expect } from '@jest/globals';
import type { Browser } from 'playwright-core';
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

testUnless(noChromium)('a passkey is a second factor, and a log-in without a password', async () => {
  const user = await app.createUser({ username: 'grace', roles: ['builder'] });
  await (await app.as('admin')).patch(`/users/${user.id}`, { password: PASSWORD });
  const { page, open, close } = await visitConsole(browser, app, null);
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('WebAuthn.enable');
  const authenticator = { protocol: 'ctap2' as const, transport: 'internal' as const, hasResidentKey: true };
  await devtools.send('WebAuthn.addVirtualAuthenticator', {
    options: { ...authenticator, hasUserVerification: true, isUserVerified: true },
  });
  const logIn = async () => {
    await page.getByLabel('Username or e-mail').fill('grace');
    await page.getByLabel('Password').fill(PASSWORD);
    await page.getByRole('button', { name: 'Log in', exact: true }).click();
  };
  const isIn = () => page.getByRole('link', { name: 'Sessions' }).waitFor();
  const leave = async () => {
    await page.context().clearCookies();
    await open('/settings/security');
  };

  await open('/settings/security');
  await logIn();
  await page.getByRole('button', { name: 'Add a passkey' }).click();
  await page.getByLabel('Name').fill('laptop');
  await page.getByRole('button', { name: 'Add', exact: true }).click();
  await page.getByRole('heading', { name: 'Recovery codes' }).first().waitFor();

  await leave();
  await logIn();
  await page.getByRole('button', { name: 'Use a passkey' }).click();
  await isIn();

  await leave();
  await page.getByRole('button', { name: 'Use a passkey' }).click();
  await isIn();
  const { body } = await (await app.as('admin')).get(`/audit?actor_id=${user.id}&action=log_in&outcome=done`);
  expect(body.length).toBe(3);
  await close();
});
