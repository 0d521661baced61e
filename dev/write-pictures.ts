/**
 * `npm run pictures`: writes the pictures of the README from the data of `npm run demo`, with a PostgreSQL, a
 * Temporal and a Chromium of its own. The clock of the pages stands still, and what differs from run to run,
 * such as ids, is replaced, so pictures of the same console look the same.
 */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { mkdirSync, writeFileSync } from 'node:fs';
import type { Server } from 'node:http';
import type { Page } from 'playwright-core';

import type { Client, TestUser } from '../test/support/app.ts';
import { launchChromium, visitConsole } from '../test/support/chromium.ts';
import { startOwnPlatform } from '../test/support/own-platform.ts';
import { until } from '../test/support/platform.ts';
import { PICTURES, type Picture } from './pictures.ts';

const folder = new URL('../docs/pictures/', import.meta.url);
const viewport = { width: 1160, height: 720 };
/** After the demo began: everything in it is then as old as the rest. */
const LATER_MS = 4 * 60_000;
const QUALITY = 0.86;
/** Ids, durations, times of day. */
const changing = (duration: string): [pattern: string, shown: string][] => [
  ['\\b[0-9a-f]{12}\\b', '5e1f0c7a9b24'],
  ['\\b[0-9.]+ (ms|s)\\b', duration],
  ['\\b[0-9]{2}:[0-9]{2}:[0-9]{2}[.][0-9]{3}\\b', '10:24:37.215'],
];

// Plain JavaScript, which users copy.
const { createWriter } = (await import(new URL('../examples/agents/writer.mjs', import.meta.url).href)) as {
  createWriter: () => Server;
};
const { fillDemo } = (await import(new URL('../examples/demo.mjs', import.meta.url).href)) as {
  fillDemo: (options: { cadenza: string; token: string; writer: string }) => Promise<unknown>;
};

const platform = await startOwnPlatform();
const browser = await launchChromium();
const writer = createWriter();
try {
  await once(writer.listen(0, '127.0.0.1'), 'listening');
  // A listening TCP server has such an address.
  const { port } = writer.address() as AddressInfo;
  const admin = await platform.createUser({ username: 'admin', roles: ['admin'] });
  const api = await platform.as(admin);
  await fillDemo({ cadenza: platform.url, token: admin.token, writer: `http://127.0.0.1:${port}` });
  const runs = await until(
    async () => (await api.get('/runs?limit=200')).body as Listed[],
    (all) => all.every(({ status }) => !['pending', 'running'].includes(status)),
  );
  const [ada] = (await api.get('/users?q=ada')).body as [Omit<TestUser, 'token'>];
  const now = new Date(Date.parse(runs[0]?.created_at ?? '') + LATER_MS);
  mkdirSync(folder, { recursive: true });
  const scenes = await scenesOf(api, runs);
  for (const name of PICTURES) {
    const { path, ready, asAdmin = true, duration = '840 ms' } = scenes[name];
    const user = asAdmin ? admin : { ...ada, token: '' };
    const visit = await visitConsole(browser, platform, user, { viewport });
    const { page } = visit;
    await page.clock.setFixedTime(now);
    await visit.open(path);
    await page.getByText(ready).locator('visible=true').first().waitFor();
    await page.evaluate('document.fonts.ready');
    await keep(page, name, changing(duration));
    await visit.close();
  }
} finally {
  writer.close();
  writer.closeAllConnections();
  await browser.close();
  await platform.close();
}
process.exit(0);

interface Listed {
  id: string;
  status: string;
  workflow_name: string;
  created_at: string;
}

interface Scene {
  path: string;
  /** A text that shows that the screen is there. */
  ready: string;
  /** Else as Ada. */
  asAdmin?: boolean;
  /** What it shows in place of a measured one. */
  duration?: string;
}

async function scenesOf(api: Client, runs: readonly Listed[]): Promise<Record<Picture, Scene>> {
  const revised = runs.find((run) => run.workflow_name === 'revise-until-approved');
  const tasks = (await api.get('/hitl/tasks?scope=all&limit=50')).body as { id: string; title: string }[];
  const piano = tasks.find(({ title }) => title.includes('piano'));
  const { body: workflows } = await api.get('/workflows?q=revise-until-approved');
  return {
    inbox: { path: `/inbox?task=${piano?.id}`, ready: '0/2 votes', asAdmin: false },
    run: { path: `/runs/${revised?.id}?view=diagram`, ready: '×3' },
    editor: {
      path: `/workflows/${workflows[0].id}/edit?view=picture`,
      ready: 'No problems ·',
      duration: '30 ms',
    },
  };
}

/** As WebP, which Chromium itself writes. */
async function keep(page: Page, name: Picture, changes: [string, string][]): Promise<void> {
  await page.evaluate(
    `for (const texts = document.createTreeWalker(document.body, 4); texts.nextNode(); )
       for (const [pattern, shown] of ${JSON.stringify(changes)})
         texts.currentNode.data = texts.currentNode.data.replace(new RegExp(pattern), shown);`,
  );
  const png = (await page.screenshot({ animations: 'disabled', caret: 'hide' })).toString('base64');
  const encoder = await browser.newPage();
  const url: unknown = await encoder.evaluate(
    `(async () => {
       const image = await createImageBitmap(await (await fetch('data:image/png;base64,${png}')).blob());
       const canvas = document.createElement('canvas');
       canvas.width = image.width;
       canvas.height = image.height;
       canvas.getContext('2d').drawImage(image, 0, 0);
       return canvas.toDataURL('image/webp', ${QUALITY});
     })()`,
  );
  await encoder.close();
  const bytes = Buffer.from(String(url).split(',')[1] ?? '', 'base64');
  writeFileSync(new URL(`${name}.webp`, folder), bytes);
  process.stdout.write(`docs/pictures/${name}.webp: ${Math.ceil(bytes.length / 1024)} KiB\n`);
}
