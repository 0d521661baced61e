/** Temporal's own web UI, in the version of docker-compose.yml, behind Cadenza's log-in. */
import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { parse } from 'yaml';
import { runWorkflowId } from '../../contracts/temporal.ts';
import {
  buildConsole,
  consoleFolder,
  launchChromium,
  noChromium,
  visitConsole,
} from '../support/chromium.ts';
import { applySettingsClient } from '../../domain/oauth/settings-client.ts';
import { goProgram } from '../support/go-program.ts';
import { listens, ownPort } from '../support/machine.ts';
import { testUnless } from '../support/outside.ts';
import { startTestPlatform, until, type TestPlatform } from '../support/platform.ts';

const root = join(import.meta.dirname, '../..');
const { services } = parse(readFileSync(join(root, 'docker-compose.yml'), 'utf8'), { merge: true });
const { image, environment } = services['temporal-ui'] as {
  image: string;
  environment: Record<string, string>;
};
const version = image.split(':').at(-1) ?? '';
const found = await goProgram({
  name: 'temporal-ui',
  module: 'github.com/temporalio/ui-server/v2',
  main: 'cmd/server',
  version: `v${version}`,
});
const testWithUi = testUnless('missing' in found ? found.missing : noChromium);
const SECRET = randomBytes(24).toString('hex');

let platform: TestPlatform;
let browser: Browser;
let ui: ChildProcess;
let uiUrl: string;
let runId: string;

if ('program' in found && noChromium === undefined) {
  beforeAll(async () => {
    const port = await ownPort();
    uiUrl = `http://127.0.0.1:${port}`;
    await buildConsole();
    platform = await startTestPlatform({
      consoleFolder,
      env: { TEMPORAL_UI_URL: uiUrl, TEMPORAL_UI_CLIENT_SECRET: SECRET },
    });
    await applySettingsClient(platform.orm.em.fork(), platform.env);
    ui = startUi(found, port);
    browser = await launchChromium();
    runId = (await platform.runToEnd({ do: [{ note: { set: { done: true } } }] }))['id'];
    await until(
      () => listens(port),
      (isThere) => isThere,
    );
  });
  afterAll(async () => {
    await browser.close();
    ui.kill();
    await platform.close();
  });
}

/** With the environment of docker-compose.yml, and the addresses of this test. */
function startUi({ program, source }: { program: string; source: string }, port: number): ChildProcess {
  const addresses = {
    TEMPORAL_ADDRESS: platform.temporal.address,
    TEMPORAL_DEFAULT_NAMESPACE: platform.temporal.namespace,
    TEMPORAL_UI_PORT: String(port),
    TEMPORAL_AUTH_PROVIDER_URL: platform.url,
    TEMPORAL_AUTH_ISSUER_URL: platform.url,
    TEMPORAL_AUTH_CLIENT_SECRET: SECRET,
    TEMPORAL_AUTH_CALLBACK_URL: `${uiUrl}/auth/sso/callback`,
    TEMPORAL_CODEC_ENDPOINT: `${platform.url}/temporal-codec`,
  };
  return spawn(program, ['--root', source, '--env', 'docker', 'start'], {
    env: { ...environment, ...addresses },
    stdio: 'ignore',
  });
}

testWithUi('an administrator who is logged in to Cadenza sees the runs', async () => {
  const admin = await platform.createUser({ roles: ['admin'] });
  const { page, close } = await visitConsole(browser, platform, admin);
  try {
    await page.goto(uiUrl);
    await page.getByRole('button', { name: /sso/i }).click();
    await page.getByText(runWorkflowId(runId)).first().waitFor();
    expect(new URL(page.url()).origin).toBe(uiUrl);
  } finally {
    await close();
  }
});

testWithUi('anybody else sees none of them', async () => {
  const builder = await platform.createUser({ roles: ['builder'] });
  const { page, close } = await visitConsole(browser, platform, builder);
  try {
    await page.goto(uiUrl);
    await page.getByRole('button', { name: /sso/i }).click();
    await page.getByText('role admin').waitFor();
    const list = `${uiUrl}/api/v1/namespaces/${platform.temporal.namespace}/workflows`;
    expect((await page.request.get(list)).status()).toBe(401);
  } finally {
    await close();
  }
});
