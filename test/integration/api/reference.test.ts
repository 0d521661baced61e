/** The API reference at `/docs`, in a real browser. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
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

test('the documents are pages whose links lead to pages and headings that are there', async () => {
  const folder = join(import.meta.dirname, '../../../docs');
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((one) =>
    one.endsWith('.md'),
  );
  expect(names).toEqual(expect.arrayContaining(['operations.md', 'adr/0001-dependencies.md']));
  const pages = new Map<string, string>();
  for (const name of names) {
    const { status, headers, body } = await app.anonymous.get(`/docs/${name}`);
    expect([name, status, headers.get('content-type')]).toEqual([name, 200, 'text/html; charset=utf-8']);
    expect(headers.get('content-security-policy')).toMatch(/^default-src 'none'; script-src 'self';/);
    pages.set(`/docs/${name}`, body);
  }
  const broken = [...pages].flatMap(([path, html]) =>
    [...html.matchAll(/<a href="([^"]*)"/g)].flatMap(([, href = '']) => {
      const { origin, pathname, hash } = new URL(href, `${app.url}${path}`);
      if (origin !== app.url) return [];
      const id = hash === '' ? '' : `id="${decodeURIComponent(hash.slice(1))}"`;
      return pages.get(pathname)?.includes(id) === true ? [] : [`${path} ${href}`];
    }),
  );
  expect(broken).toEqual([]);
  expect(pages.get('/docs/operations.md')).toContain('<h2 id="back-up-by-timetable">');
  expect(pages.get('/docs/benchmarks.md')).not.toContain('&lt;!--');
  // The examples are not served.
  expect(pages.get('/docs/agents.md')).toContain('<a>One workflow with nine of them</a>');
});

test('other names of documents lead nowhere', async () => {
  for (const path of [
    '/docs/none.md',
    '/docs/../README.md',
    '/docs/..%2fREADME.md',
    '/docs/%2e%2e%2fREADME.md',
    '/docs/adr/..%2f..%2fREADME.md',
    '/docs/adr%2f0001-dependencies.md',
    '/docs/openapi.json',
    '/docs/adr',
    '/docs/Operations.md',
  ])
    expect([path, (await app.anonymous.get(path)).status]).toEqual([path, 404]);
  expect((await app.anonymous.post('/docs/operations.md', {})).status).toBe(404);
});

inBrowser('a document is accessible and fits on a phone, light and dark', async () => {
  for (const dark of [false, true]) {
    const { page, complaints, close } = await visitConsole(browser, app, null, { viewport: phone, dark });
    for (const name of ['operations', 'monitoring', 'cli']) {
      await page.goto(`${app.url}/docs/${name}.md`);
      await page.locator('h1').waitFor();
      expect([name, await sidewaysScroll(page), await accessibilityProblems(page)]).toEqual([name, 0, []]);
    }
    await keepPicture(page, `document-phone-${dark ? 'dark' : 'light'}`);
    expect(complaints).toEqual([]);
    await close();
  }
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
