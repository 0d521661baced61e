import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { within } from '../../../config/orderly-stop.ts';

test('waits for the work, and throws what it throws', async () => {
  expect(await within(60_000, sleep(1))).toBe(true);
  await expect(within(60_000, Promise.reject(new Error('broken')))).rejects.toThrow('broken');
});

test('waits for a limited time, after which a failure of the work is nobody’s', async () => {
  const work = Promise.withResolvers<void>();
  expect(await within(50, work.promise)).toBe(false);
  work.reject(new Error('too late'));
  await sleep(1);
});

test('does not count the time in which the process was frozen', async () => {
  const module = JSON.stringify(new URL('../../../config/orderly-stop.ts', import.meta.url).href);
  const code = `const { within } = await import(${module});
    console.log('begun');
    const ended = await within(3_000, new Promise(() => {}));
    console.log(ended ? 'ended' : 'given up');`;
  const child = spawn(process.execPath, ['--no-warnings', '--input-type=module', '--eval', code]);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  expect(await lines.next()).toMatchObject({ value: 'begun' });
  child.kill('SIGSTOP');
  await sleep(4_000);
  child.kill('SIGCONT');
  const continued = performance.now();
  expect(await lines.next()).toMatchObject({ value: 'given up' });
  // Of the three seconds at least half are left: one may be counted for the freeze.
  expect(performance.now() - continued).toBeGreaterThan(1_500);
});
