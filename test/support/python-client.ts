/** A Python environment with one version of the A2A SDK, kept in the cache folder; or why there is none. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { oncePerRun } from './run-folder.ts';

const run = promisify(execFile);

type Environment = { python: string } | { skipped: string };

/** Made once, whichever test file asks first. */
export async function pythonWithA2A(version: string): Promise<Environment> {
  return JSON.parse(await oncePerRun(`a2a-sdk-${version}.json`, async () => JSON.stringify(await make(version)), 300_000)) as Environment;
}

async function make(version: string): Promise<Environment> {
  const folder = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'cadenza', `a2a-sdk-${version}`);
  const python = join(folder, 'bin', 'python');
  const ready = join(folder, 'ready');
  if (existsSync(ready)) return { python };
  try {
    await run('python3', ['-m', 'venv', folder], { timeout: 60_000 });
    await run(python, ['-m', 'pip', 'install', '--quiet', `a2a-sdk[http-server]==${version}`], { timeout: 180_000 });
    await run(python, ['-c', `open(${JSON.stringify(ready)}, 'w')`]);
    return { python };
  } catch (error) {
    return { skipped: error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error) };
  }
}
