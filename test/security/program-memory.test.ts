/** Compiled expressions are kept up to a sum of their lengths: each character may take 300 bytes. */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import { startTestApp, type TestApp } from '../support/app.ts';

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

const long = (number: number): string => `${number}${'|.'.repeat(9_900)}`;

test('a schedule on events makes the API keep no hundreds of MB', async () => {
  const builder = await app.as('builder');
  const any = Array.from({ length: 30 }, (_, index) => ({
    with: { type: `t${index}` },
    correlate: { k: { from: '.data.k', expect: `\${ ${long(index)} | tostring }` } },
  }));
  const definition = { schedule: { on: { any } }, do: [{ a: { set: { b: 1 } } }] };
  const before = process.memoryUsage().heapUsed;
  expect((await builder.post('/workflows', { name: 'x', definition })).status).toBe(201);
  const megabytes = Math.round((process.memoryUsage().heapUsed - before) / 1e6);
  expect(megabytes).toBeLessThan(100);
});

test('a process with 1 GB of heap keeps the expressions of a few requests', () => {
  const module = fileURLToPath(new URL('../../language/expressions/index.ts', import.meta.url));
  const script = `const { compile } = await import(${JSON.stringify(module)});
    for (let number = 0; number < 250; number++) compile(number + '|.'.repeat(9900));
    console.log('done');`;
  const { status, stdout } = spawnSync(
    process.execPath,
    ['--max-old-space-size=1024', '--input-type=module', '-e', script],
    { encoding: 'utf8' },
  );
  expect([status, stdout.trim()]).toEqual([0, 'done']);
});
