/** A real Chromium, driven by Playwright, whose every complaint is kept. */
import { execFile } from 'node:child_process';
import { accessSync, constants, mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { chromium, type Browser, type Page } from 'playwright-core';

import { sessionCookie } from './browser.ts';
import type { TestApp, TestUser } from './app.ts';

const root = join(import.meta.dirname, '../..');
export const consoleFolder = join(root, 'web/dist');
export const wide = { width: 1360, height: 860 };
/** Of many laptops. What fits into `wide` may be cut here. */
export const laptop = { width: 1280, height: 800 };
export const phone = { width: 390, height: 844 };

/** The first has no windows and buttons of its own to draw, so tests take a third less time. */
const BROWSERS = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome'];

/** `CHROME_BIN`, or a browser that is installed. */
const executable = process.env['CHROME_BIN'] ?? BROWSERS.map(programPath).find((path) => path !== undefined);

/** Why browser tests cannot run here; in CI they run and fail. */
export const noChromium =
  executable === undefined && process.env['CI'] !== 'true'
    ? 'no Chromium: apt-get install chromium-headless-shell, or set CHROME_BIN'
    : undefined;

function programPath(name: string): string | undefined {
  return (process.env['PATH'] ?? '')
    .split(delimiter)
    .map((folder) => join(folder, name))
    .find((path) => {
      try {
        accessSync(path, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });
}

/** Builds `web/dist` if it is not up to date. */
export async function buildConsole(): Promise<void> {
  const program = join(root, 'dev/build-console.ts');
  await promisify(execFile)(process.execPath, ['--no-warnings', program]);
}

export function launchChromium(): Promise<Browser> {
  if (executable === undefined) throw new Error('there is no Chromium on this machine');
  // Without a GPU it would imitate one.
  const args = ['--no-sandbox', '--disable-gpu', '--disable-software-rasterizer'];
  return chromium.launch({ executablePath: executable, args });
}

export interface Visit {
  page: Page;
  /** What the page wrote to the console, errors of its scripts and violations of its policy. */
  complaints: string[];
  open(path: string): Promise<void>;
  close(): Promise<void>;
}

export interface VisitOptions {
  viewport?: typeof wide;
  dark?: boolean;
  /** A device whose screen is touched. */
  touch?: boolean;
}

/** A window of its own, logged in as the user, if one is given. */
export async function visitConsole(
  browser: Browser,
  app: TestApp,
  user: TestUser | null,
  { viewport = wide, dark = false, touch = false }: VisitOptions = {},
): Promise<Visit> {
  const context = await browser.newContext({
    viewport,
    colorScheme: dark ? 'dark' : 'light',
    reducedMotion: 'reduce',
    hasTouch: touch,
    isMobile: touch,
  });
  if (user !== null) {
    const [name = '', value = ''] = (await sessionCookie(app, user)).split('=');
    await context.addCookies([{ name, value, url: app.url, sameSite: 'Strict', httpOnly: true }]);
  }
  const page = await context.newPage();
  page.setDefaultTimeout(45_000);
  const complaints: string[] = [];
  page.on('console', (message) => complaints.push(`${message.type()}: ${message.text()}`));
  page.on('pageerror', (error) => complaints.push(`error: ${error.message}`));
  return {
    page,
    complaints,
    open: async (path) => void (await page.goto(`${app.url}/console${path}`)),
    close: async () => {
      // What a test that fails leaves on its way would fail the tests that follow.
      await page.unrouteAll({ behavior: 'ignoreErrors' });
      await context.close();
    },
  };
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

const ALL_RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
/** Those of the rules that look at colours. */
const COLOUR_RULES = { type: 'rule', values: ['color-contrast', 'link-in-text-block'] };

/** The violations of WCAG 2.2 A and AA and of good practice on the page as it is, and nameless controls. */
export async function accessibilityProblems(page: Page): Promise<string[]> {
  return [...(await violations(page, ALL_RULES)), ...(await namelessControls(page))];
}

/** Those that depend on colours, for a page of which only the colours have changed. */
export function colourProblems(page: Page): Promise<string[]> {
  return violations(page, COLOUR_RULES);
}

async function violations(page: Page, runOnly: unknown): Promise<string[]> {
  if ((await page.evaluate('typeof axe')) === 'undefined') await page.evaluate(axe);
  const found: unknown = await page.evaluate(
    `axe.run({ resultTypes: ['violations'], runOnly: ${JSON.stringify(runOnly)} })
       .then(({ violations }) => violations.map(({ id, help, nodes }) =>
         id + ': ' + help + ' at ' + nodes.map(({ target }) => target).join(' | ')))`,
  );
  return found as string[];
}

/** What people act on, or that holds such things. */
const CONTROLS = new Set(
  ['button', 'link', 'textbox', 'searchbox', 'combobox', 'checkbox', 'radio', 'slider', 'spinbutton'].concat(
    ['switch', 'tab', 'option', 'treeitem', 'menuitem', 'listbox', 'tree', 'tablist', 'tabpanel', 'dialog'],
    ['region', 'navigation', 'toolbar', 'DisclosureTriangle', 'image'],
  ),
);

/** Controls to which Chromium's accessibility tree, which screen readers read, gives no name. */
async function namelessControls(page: Page): Promise<string[]> {
  const devtools = await page.context().newCDPSession(page);
  try {
    const { nodes } = await devtools.send('Accessibility.getFullAXTree');
    return nodes.flatMap(({ ignored, role, name, nodeId }) => {
      const hasName = typeof name?.value === 'string' && name.value.trim() !== '';
      const isControl = !ignored && CONTROLS.has(String(role?.value));
      return isControl && !hasName ? [`no name: ${String(role?.value)} ${nodeId}`] : [];
    });
  } finally {
    await devtools.detach();
  }
}

/** By how many pixels the page, or a part of it that scrolls, is wider than its place. */
export async function sidewaysScroll(page: Page): Promise<number> {
  const wider: unknown = await page.evaluate(
    `Math.max(...[document.documentElement, ...document.querySelectorAll('main, main section')]
       .map(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth))`,
  );
  return Number(wider);
}

/** Controls of which a holder hides a part at a side. Texts that end in an ellipsis are meant to be cut. */
export async function cutControls(page: Page): Promise<string[]> {
  const cut: unknown = await page.evaluate(`(() => {
    const hiddenPart = (control) => {
      const { left, right } = control.getBoundingClientRect();
      for (let holder = control.parentElement; holder !== null; holder = holder.parentElement) {
        const { overflowX, textOverflow, position } = getComputedStyle(holder);
        if (textOverflow === 'ellipsis' || holder.matches('dialog, [popover]')) return 0;
        const start = holder.getBoundingClientRect().left + holder.clientLeft;
        const hidden = Math.max(start - left, right - start - holder.clientWidth);
        if (overflowX !== 'visible' && hidden > 1) return hidden;
        if (position === 'fixed') return 0;
      }
      return 0;
    };
    return [...document.querySelectorAll('main :is(a[href], button, select, summary, input, textarea)')]
      .filter((control) => control.checkVisibility({ visibilityProperty: true, opacityProperty: true }))
      .filter((control) => control.closest('svg, [aria-hidden=true]') === null)
      // Arrow keys lead there, and bring it into view.
      .filter((control) => control.getAttribute('tabindex') !== '-1')
      .filter((control) => hiddenPart(control) > 0)
      .map((control) => control.outerHTML.slice(0, 120));
  })()`);
  return cut as string[];
}

/** Keeps a picture in `TEST_SCREENSHOTS`, if that folder is named. */
export async function keepPicture(page: Page, name: string): Promise<void> {
  const folder = process.env['TEST_SCREENSHOTS'];
  if (folder === undefined) return;
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: join(folder, `${name}.png`) });
}
