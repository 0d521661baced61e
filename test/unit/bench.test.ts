/** The benchmarks' command lines. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';

test.each([
  { program: 'api', given: ['1', 'GET /agent/'], told: 'GET /agent/ is in none of these names' },
  { program: 'costs', given: ['1', 'runs'], told: 'runs is in none of these names' },
  { program: 'gate', given: ['ap'], told: 'ap is none of runs, costs, api' },
])('bench:$program refuses a mistyped name before it starts servers', async ({ program, given, told }) => {
  const path = fileURLToPath(new URL(`../bench/${program}.ts`, import.meta.url));
  // Without a folder for their data no server could start.
  const env = { ...process.env, TMPDIR: '/nowhere' };
  const run = promisify(execFile)(process.execPath, ['--no-warnings', path, ...given], { env });
  await expect(run).rejects.toMatchObject({ code: 1, stderr: expect.stringContaining(told) });
});
