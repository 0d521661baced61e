/**
 * The run names each suite that it skips because data is missing, and `.ci/run` counts such a suite as
 * failed where the data exists.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';

const root = join(import.meta.dirname, '../../..');
const folder = mkdtempSync(join(tmpdir(), 'cadenza-outside-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** `npm test` of one folder in its own process, where there is no conformance data. */
function testWithoutData(path: string): { status: number | null; output: string; results: any } {
  const file = join(folder, 'results.json');
  const args = [
    '--no-warnings',
    'node_modules/jest/bin/jest.js',
    path,
    '--runInBand',
    '--json',
    `--outputFile=${file}`,
  ];
  const env = { ...process.env, CONFORMANCE_DIR: join(folder, 'nowhere') };
  const { status, stderr } = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8', env });
  return { status, output: stderr, results: JSON.parse(readFileSync(file, 'utf8')) };
}

function count(results: unknown, dataFolder: string): { counted: string; message: string } {
  const file = join(folder, 'counted.json');
  writeFileSync(file, JSON.stringify(results));
  const { stdout, stderr } = spawnSync(process.execPath, [join(root, '.ci/count.mjs'), file, dataFolder], {
    encoding: 'utf8',
  });
  return { counted: stdout.trim(), message: stderr };
}

test('suites without their data are skipped by name; CI that has the data counts them as failed', () => {
  const { status, output, results } = testWithoutData('test/conformance/definition');
  expect(status).toBe(0);
  expect(results.numPendingTests).toBe(2);
  expect(results.numFailedTests).toBe(0);
  const lines = output
    .trim()
    .split('\n')
    .filter((line) => line.startsWith('Skipped'));
  expect(lines).toEqual([
    'Skipped without the conformance data: test/conformance/definition/examples.test.ts, ' +
      'test/conformance/definition/second-opinion.test.ts. ' +
      'CONTRIBUTING.md says where the data comes from; then run CONFORMANCE_DIR=<its folder> npm test.',
  ]);

  expect(count(results, join(folder, 'nowhere'))).toEqual({
    counted: `${results.numPassedTests} 0`,
    message: '',
  });
  const withData = count(results, folder);
  expect(withData.counted).toBe(`${results.numPassedTests} 2`);
  expect(withData.message).toContain('second-opinion.test.ts found no conformance data');
});

test('missing results, failed tests and suites that did not run count as failures', () => {
  const results = { numPassedTests: 3, numFailedTests: 1, numRuntimeErrorTestSuites: 1, testResults: [] };
  expect(count(results, folder).counted).toBe('3 2');
  const { stdout } = spawnSync(
    process.execPath,
    [join(root, '.ci/count.mjs'), join(folder, 'no-such-file'), folder],
    { encoding: 'utf8' },
  );
  expect(stdout.trim()).toBe('0 1');
});
