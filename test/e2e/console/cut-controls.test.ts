/** The tests of screens see controls of which a part is hidden. */
import { afterAll, beforeAll, expect } from '@jest/globals';
import type { Browser } from 'playwright-core';

import { cutControls, launchChromium, noChromium } from '../../support/chromium.ts';
import { testUnless } from '../../support/outside.ts';

let browser: Browser;

beforeAll(async () => {
  if (noChromium === undefined) browser = await launchChromium();
});
afterAll(async () => browser?.close());

const held = (style: string, control: string) =>
  `<main><div style="width: 200px; white-space: nowrap; ${style}">${control}</div></main>`;
const wide = '<button style="margin-left: 150px; width: 90px">Delete</button>';

testUnless(noChromium)('what a holder hides at a side is seen, and nothing else', async () => {
  const page = await browser.newPage();
  const cutIn = async (html: string) => {
    await page.setContent(html);
    return (await cutControls(page)).length;
  };
  expect(await cutIn(held('overflow-x: auto', wide))).toBe(1);
  expect(await cutIn(held('overflow: hidden', wide))).toBe(1);
  expect(await cutIn(held('', wide))).toBe(0);
  expect(await cutIn(held('overflow-x: auto', '<button>Delete</button>'))).toBe(0);
  expect(await cutIn(held('overflow: hidden; height: 2px', '<button>Delete</button>'))).toBe(0);
  const long = `<a href="/">${'long '.repeat(50)}</a>`;
  expect(await cutIn(held('overflow: hidden; text-overflow: ellipsis', long))).toBe(0);
  await page.close();
});
