/** The console in a real browser, for the tests of one file: one platform, one Chromium. */
import { afterAll, beforeAll, expect } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';

import { startTestApp, type TestApp, type TestUser } from './app.ts';
import {
  accessibilityProblems,
  buildConsole,
  colourProblems,
  consoleFolder,
  cutControls,
  keepPicture,
  laptop,
  launchChromium,
  noChromium,
  phone,
  sidewaysScroll,
  visitConsole,
  wide,
  type Visit,
  type VisitOptions,
} from './chromium.ts';
import { closedAfterEach } from './closed-after-each.ts';
import { testUnless } from './outside.ts';
import { startTestPlatform, type TestPlatform } from './platform.ts';

interface ConsoleTests {
  /** `test` where there is a Chromium. */
  inBrowser: ReturnType<typeof testUnless>;
  /** A window, logged in as the user, if one is given. It closes after the test. */
  visit(user: TestUser | null, options?: VisitOptions): Promise<Visit>;
}

/** @param prepare creates what the tests of the file share */
export function consoleTests(prepare: (platform: TestPlatform) => Promise<void>): ConsoleTests {
  return testsOf(startTestPlatform, prepare);
}

/** Without Temporal: what runs are there stay as they are. */
export function consoleTestsWithoutTemporal(prepare: (app: TestApp) => Promise<void>): ConsoleTests {
  return testsOf(startTestApp, prepare);
}

function testsOf<App extends TestApp>(
  start: (options: { consoleFolder: string }) => Promise<App>,
  prepare: (app: App) => Promise<void>,
): ConsoleTests {
  let platform: App;
  let browser: Browser;
  beforeAll(async () => {
    if (noChromium !== undefined) return;
    [platform, browser] = await Promise.all([start({ consoleFolder }), launchChromium(), buildConsole()]);
    await prepare(platform);
  });
  const closed = closedAfterEach();
  afterAll(async () => {
    await browser?.close();
    await platform?.close();
  });
  return {
    inBrowser: testUnless(noChromium),
    visit: async (user, options) => closed(await visitConsole(browser, platform, user, options)),
  };
}

/** Name, address, a text that shows that the screen is there, and what to do before. */
export type Screen = readonly [
  name: string,
  path: string,
  ready: string,
  act?: (page: Page) => Promise<void>,
];

/**
 * Each screen, on a desk and on a phone, light and dark: it has one main heading and its own title, is
 * accessible, fits into the window, and its page complains of nothing but what may be missing.
 */
export async function expectScreensFit(
  open: (viewport: typeof wide) => Promise<Visit>,
  screens: readonly Screen[],
  expectedComplaint?: string,
): Promise<void> {
  for (const viewport of [wide, phone]) {
    const visit = await open(viewport);
    const { page, complaints } = visit;
    for (const [name, path, ready, act] of screens) {
      await visit.open(path);
      await act?.(page);
      await page.getByText(ready).locator('visible=true').first().waitFor();
      expect([name, await page.locator('h1').count(), await page.title()]).toEqual([
        name,
        1,
        expect.stringMatching(/\w+ · Cadenza$/),
      ]);
      await expectFits(page, `${name}-${viewport.width}`);
    }
    const unexpected = complaints.filter(
      (complaint) => expectedComplaint === undefined || !complaint.includes(expectedComplaint),
    );
    expect(unexpected).toEqual([]);
  }
}

/** What is shown now is accessible and fits into the window, light and dark, and into that of a laptop. */
export async function expectFits(page: Page, name: string): Promise<void> {
  // Only the style sheet depends on the system's scheme, and changes nothing but colours for it.
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    const at = `${name}-${colorScheme}`;
    await keepPicture(page, at);
    const problems = await (colorScheme === 'light' ? accessibilityProblems : colourProblems)(page);
    expect([at, problems]).toEqual([at, []]);
  }
  await expectNothingCut(page, name);
  const given = page.viewportSize();
  if (given === null || given.width <= laptop.width) return;
  await page.setViewportSize(laptop);
  await expectNothingCut(page, `${name}-${laptop.width}`);
  await page.setViewportSize(given);
}

async function expectNothingCut(page: Page, name: string): Promise<void> {
  expect([name, await sidewaysScroll(page), await cutControls(page)]).toEqual([name, 0, []]);
}
