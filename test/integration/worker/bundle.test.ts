import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { bundleWorkflows } from '../../../worker/bundle.ts';

const cacheDir = mkdtempSync(join(tmpdir(), 'cadenza-bundles-'));
afterAll(() => rmSync(cacheDir, { recursive: true, force: true }));

test('a bundle is cached by its sources, and a damaged or outdated one is rebuilt', async () => {
  writeFileSync(join(cacheDir, 'workflows-0123.json'), '{}');
  const built = await bundleWorkflows({ cacheDir });
  const [name = '', ...others] = readdirSync(cacheDir);
  expect(others).toEqual([]);
  const file = join(cacheDir, name);
  const cached = readFileSync(file, 'utf8');
  expect(await bundleWorkflows({ cacheDir })).toEqual({ code: 'code' in built ? built.code : '' });

  writeFileSync(file, cached.replace('"code":"', '"code":"tampered();'));
  const again = await bundleWorkflows({ cacheDir });
  expect('code' in again && again.code.startsWith('tampered')).toBe(false);
});
