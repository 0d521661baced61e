/** The console in a real browser, for the tests of one file: one platform, one Chromium. */
import { afterAll, beforeAll, expect } from '@jest/globals';
import type { Browser } from 'playwright-core';

import type { TestUser } from './app.ts';
import {
  accessibilityProblems,
  buildConsole,
  consoleFolder,
  keepPicture,
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
  let platform: TestPlatform;
  let browser: Browser;
  beforeAll(async () => {
    if (noChromium !== undefined) return;
    [platform, browser] = await Promise.all([
      startTestPlatform({ consoleFolder }),
      launchChromium(),
      buildConsole(),
    ]);
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

/** Name, address, and a text that shows that the screen is there. */
export type Screen = readonly [name: string, path: string, ready: string];

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
    for (const [name, path, ready] of screens) {
      await visit.open(path);
      await page.getByText(ready).locator('visible=true').first().waitFor();
      expect([name, await page.locator('h1').count(), await page.title()]).toEqual([
        name,
        1,
        expect.stringMatching(/\w+ · Cadenza$/),
      ]);
      // Only the style sheet depends on the system's scheme.
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
        const at = `${name}-${viewport.width}-${colorScheme}`;
        await keepPicture(page, at);
        expect([at, await accessibilityProblems(page), await sidewaysScroll(page)]).toEqual([at, [], 0]);
      }
    }
    const unexpected = complaints.filter(
      (complaint) => expectedComplaint === undefined || !complaint.includes(expectedComplaint),
    );
    expect(unexpected).toEqual([]);
  }
}
