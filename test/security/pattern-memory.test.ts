/** Compiled patterns of schemas take bounded memory, also with many look-arounds, and many patterns. */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import { patternProblem } from '../../language/schema/pattern.ts';
import { jsonSchemaProblems } from '../../language/schema/well-formed.ts';
import { startTestApp, type TestApp } from '../support/app.ts';
import { threadClock } from '../support/machine.ts';

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

const LOOKS = 76;
/** 988 characters or less. */
const pattern = (number: number): string => `${'(?=a{0,9990})'.repeat(LOOKS - 1)}${number}`;
const schemaOf = (count: number) => ({
  type: 'object',
  properties: Object.fromEntries(
    Array.from({ length: count }, (_, index) => [`p${index}`, { type: 'string', pattern: pattern(index) }]),
  ),
});

test('a viewer who validates a definition makes the API keep no hundreds of MB', async () => {
  const viewer = await app.as('viewer');
  const definition = { input: { schema: { document: schemaOf(2) } }, do: [{ a: { set: { b: 1 } } }] };
  const before = process.memoryUsage().heapUsed;
  expect((await viewer.post('/workflows/validate', { definition })).status).toBe(200);
  const megabytes = Math.round((process.memoryUsage().heapUsed - before) / 1e6);
  expect(megabytes).toBeLessThan(100);
});

test.each([
  ['that repeat nothing', '(?:(?:(?:){9999}){9999}){9999}', true],
  ['that are refused, many times', '(a{9999}){3}', false],
])('patterns %s are checked in a moment', (_name, repeated, fits) => {
  const properties = Object.fromEntries(
    Array.from({ length: 5_000 }, (_, index) => [`p${index}`, { type: 'string', pattern: repeated }]),
  );
  const spent = threadClock();
  expect(jsonSchemaProblems({ type: 'object', properties }).length === 0).toBe(fits);
  expect(spent()).toBeLessThan(1_000);
});

test('patterns that the engine matches are kept without their programs', () => {
  const before = process.memoryUsage().heapUsed;
  for (let index = 0; index < 200; index += 1) expect(patternProblem(`^${index}a{9999}`)).toBeNull();
  expect((process.memoryUsage().heapUsed - before) / 1e6).toBeLessThan(60);
});

test('twelve patterns do not end a process with 2 GB of heap', () => {
  const module = fileURLToPath(new URL('../../language/schema/well-formed.ts', import.meta.url));
  const script = `const { jsonSchemaProblems } = await import(${JSON.stringify(module)});
    console.log(jsonSchemaProblems(${JSON.stringify(schemaOf(12))}).length);`;
  const { status, stdout } = spawnSync(
    process.execPath,
    ['--max-old-space-size=2048', '--input-type=module', '-e', script],
    { encoding: 'utf8' },
  );
  expect([status, stdout.trim()]).toEqual([0, '12']);
});
