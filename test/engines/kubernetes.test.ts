/** The manifests of docker/kubernetes against the schemas of Kubernetes, which know every field. */
import { execFile } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from '@jest/globals';

import { testUnless } from '../support/outside.ts';

const run = promisify(execFile);
const PACKAGE = 'kubernetes-validate==1.37.0';
const VERSIONS = ['1.31', '1.37'];
const folder = join(import.meta.dirname, '../../docker/kubernetes');

/** The package's folder (100 MB of schemas), kept in the cache; or why there is none. */
async function findValidator(): Promise<{ path: string } | { missing: string }> {
  const cache = process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache');
  const path = join(cache, 'cadenza', PACKAGE.replace('==', '-'));
  try {
    if (!existsSync(join(path, 'kubernetes_validate')))
      await run('python3', ['-m', 'pip', 'install', '--quiet', '--target', path, PACKAGE], {
        timeout: 180_000,
      });
    return { path };
  } catch (error) {
    return { missing: `no ${PACKAGE} from PyPI: ${String(error).split('\n')[0]}` };
  }
}

const found = await findValidator();
const testWithValidator = testUnless('missing' in found ? found.missing : undefined);

testWithValidator(
  'every manifest fits the oldest and the newest Kubernetes, and has no unknown field',
  async () => {
    const path = 'path' in found ? found.path : '';
    const files = readdirSync(folder)
      .filter((name) => name !== 'kustomization.yaml')
      .map((name) => join(folder, name));
    for (const version of VERSIONS) {
      const { stdout } = await run(
        'python3',
        ['-m', 'kubernetes_validate', '--strict', '--kubernetes-version', version, ...files],
        { env: { ...process.env, PYTHONPATH: path } },
      );
      expect(stdout.match(/ passed for resource /g)?.length).toBeGreaterThanOrEqual(files.length);
    }
  },
);
