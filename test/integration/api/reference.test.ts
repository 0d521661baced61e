/** The API reference at `/docs`, in a real browser. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Browser } from 'playwright-core';

import { until } from '../../support/platform.ts';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import {
  accessibilityProblems,
  keepPicture,
  launchChromium,
  noChromium,
  phone,
  sidewaysScroll,
  visitConsole,
} from '../../support/chromium.ts';
import { testUnless } from '../../support/outside.ts';

const inBrowser = testUnless(noChromium);
let app: TestApp;
let browser: Browser;
let ada: TestUser;

beforeAll(async () => {
  app = await startTestApp();
  ada = await app.createUser({ username: 'ada', roles: ['builder'] });
  if (noChromium === undefined) browser = await launchChromium();
});
afterAll(async () => {
  await browser?.close();
  await app.close();
});

test('its files are served under a strict policy, and other paths below it are not', async () => {
  for (const path of ['/docs', '/docs/', '/docs/reference.js', '/docs/swagger-ui-bundle.js']) {
    const { status, headers } = await app.anonymous.get(path);
    expect([path, status]).toEqual([path, 200]);
    expect(headers.get('content-security-policy')).toMatch(/^default-src 'none'; script-src 'self';/);
    expect(headers.get('content-security-policy')).not.toContain('unsafe');
  }
  for (const path of ['/docs/package.json', '/docs/../package.json', '/docs/constructor', '/docs/%2e%2e/x'])
    expect([path, (await app.anonymous.get(path)).status]).toEqual([path, 404]);
});

inBrowser('finds operations, shows examples, and sends requests as the signed-in user', async () => {
  const { page, complaints, close } = await visitConsole(browser, app, ada);
  await page.goto(`${app.url}/docs`);
  await page.getByText('Signed in as ada').waitFor();
  const operations = page.locator('.opblock');
  await operations.first().waitFor();
  // A long list draws what is in sight, so its end appears when one gets there.
  await until(
    async () => {
      await page.keyboard.press('End');
      return operations.last().getAttribute('id');
    },
    (id) => id?.startsWith('operations-workflows-') === true,
  );
  /** Lists the operations that match, and opens one of them. */
  const open = async (words: string, id: string): Promise<void> => {
    await page.locator('.operation-filter-input').fill(words);
    await until(
      () => operations.count(),
      (count) => count > 0 && count < 10,
    );
    await page.locator(`#operations-${id} .opblock-summary-control`).click();
  };
  await open('current user', 'users-getMe');
  await page.getByRole('button', { name: 'Try it out' }).click();
  await page.getByRole('button', { name: 'Execute' }).click();
  await page.locator('.live-responses-table', { hasText: '"username": "ada"' }).waitFor();
  await open('putSecret', 'secrets-putSecret');
  await page.locator('.opblock-body', { hasText: 'Example Value' }).waitFor();
  await keepPicture(page, 'reference');
  expect(complaints).toEqual([]);
  await close();
});

for (const dark of [false, true])
  inBrowser(`is readable on a phone, ${dark ? 'dark' : 'light'}`, async () => {
    const { page, complaints, close } = await visitConsole(browser, app, null, { viewport: phone, dark });
    await page.goto(`${app.url}/docs`);
    await page.locator('.opblock').first().waitFor();
    await keepPicture(page, `reference-phone-${dark ? 'dark' : 'light'}`);
    expect(await sidewaysScroll(page)).toBeLessThanOrEqual(0);
    // What the library itself lacks: for example, a row is a button that holds a link.
    const problems = await accessibilityProblems(page);
    expect(problems.map((problem) => problem.split(':')[0])).toEqual([
      'heading-order',
      'landmark-main-is-top-level',
      'nested-interactive',
    ]);
    expect(complaints).toEqual([]);
    await close();
  });
