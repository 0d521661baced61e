/** A Temporal that takes calls and answers none while a worker starts: it works once they are answered. */
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';

import { startRun, startTestPlatform, until, type TestPlatform } from '../support/platform.ts';
import { startProgram, type Program } from '../support/programs.ts';
import {
  STRANGE_ANSWERS,
  startTamperedTemporal,
  type TamperedTemporal,
} from '../support/tampered-temporal.ts';

/** Longer than the limit of each single call of a start. */
const PATIENCE_MS = 180_000;

let platform: TestPlatform;
let tampered: TamperedTemporal;
let worker: Program | null = null;

beforeAll(async () => {
  platform = await startTestPlatform({ worker: false });
  tampered = await startTamperedTemporal(platform.temporal.address);
});
afterEach(async () => {
  await worker?.kill();
  tampered.answer = null;
});
afterAll(async () => {
  await platform.close();
  await tampered.close();
});

async function startWorker(): Promise<Program> {
  tampered.calls.clear();
  const temporal = { ...platform.temporal, address: tampered.address };
  return startProgram('worker', { ...platform, temporal });
}

/** @returns its status in the end */
async function runOnce(): Promise<string> {
  const client = await platform.as('builder');
  const run = await startRun(client, { do: [{ only: { set: { a: 1 } } }] });
  return until(
    async () => (await client.get(`/runs/${run.id}`)).body.status as string,
    (status) => status === 'completed',
    PATIENCE_MS,
  );
}

test.each(['nothing', 'headers, and then nothing'])('%s is answered for some time', async (name) => {
  tampered.answer = () => STRANGE_ANSWERS[name] ?? null;
  worker = await startWorker();
  await until(
    async () => [...tampered.calls.values()].reduce((sum, calls) => sum + calls, 0),
    (calls) => calls > 1,
    PATIENCE_MS,
  );
  tampered.answer = null;
  expect(await runOnce()).toBe('completed');
});

test('the first call to each method is never answered', async () => {
  // Polls wait by themselves, for a minute.
  tampered.answer = (method) =>
    tampered.calls.get(method) === 1 && !method.startsWith('Poll')
      ? (STRANGE_ANSWERS['nothing'] ?? null)
      : null;
  worker = await startWorker();
  expect(await runOnce()).toBe('completed');
  expect(tampered.calls.get('DescribeNamespace')).toBeGreaterThan(1);
});
