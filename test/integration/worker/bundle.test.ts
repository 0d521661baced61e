import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { BUNDLED, bundleWorkflows } from '../../../worker/bundle.ts';

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

test('what all workflows of a worker share holds no state of one, and nothing of the SDK', () => {
  const shared = new Set<string>();
  const packages = new Set<string>();
  const visit = (file: string): void => {
    if (shared.has(file)) return;
    shared.add(file);
    const imports = readFileSync(file, 'utf8').matchAll(
      /^(?:import|export) (?!type )[^;]*? from '([^']+)';$/gm,
    );
    for (const [, name = ''] of imports)
      if (name.startsWith('.')) visit(join(dirname(file), name));
      else packages.add(name);
  };
  BUNDLED.preloadModules.forEach(visit);
  expect([...packages]).toEqual(['@cfworker/json-schema']);
  const changing = [...shared].filter((file) =>
    /^(?:export )?(?:let|var) /m.test(readFileSync(file, 'utf8')),
  );
  expect(changing).toEqual([]);
  expect([...shared].filter((file) => file.includes('/workflows/interpreter/'))).toEqual([]);
});
