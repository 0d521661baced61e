/** A Python environment with one version of the A2A SDK, in the cache folder; or why there is none. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { oncePerRun } from './run-folder.ts';

const run = promisify(execFile);

/** `withoutGrpc`: why its client cannot speak gRPC; undefined if it can. */
type Environment = { python: string; withoutGrpc?: string } | { skipped: string };

/** Created once, by the first test file that asks. */
export async function pythonWithA2A(version: string): Promise<Environment> {
  return JSON.parse(
    await oncePerRun(`a2a-sdk-${version}.json`, async () => JSON.stringify(await make(version)), 480_000),
  ) as Environment;
}

async function make(version: string): Promise<Environment> {
  const folder = join(
    process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'),
    'cadenza',
    `a2a-sdk-${version}`,
  );
  const python = join(folder, 'bin', 'python');
  const ready = join(folder, 'ready');
  try {
    if (!existsSync(ready)) {
      await run('python3', ['-m', 'venv', folder], { timeout: 60_000 });
      await run(python, ['-m', 'pip', 'install', '--quiet', `a2a-sdk[http-server]==${version}`], {
        timeout: 180_000,
      });
      await run(python, ['-c', `open(${JSON.stringify(ready)}, 'w')`]);
    }
  } catch (error) {
    return { skipped: reason(error) };
  }
  // Only the client of 1.0 is tested over gRPC.
  return version.startsWith('0.') ? { python } : addGrpc(python, version);
}

/** The wheels of gRPC are larger and missing for some machines; the rest is tested without them. */
async function addGrpc(python: string, version: string): Promise<Environment> {
  const check = () => run(python, ['-c', 'import a2a.client.transports.grpc'], { timeout: 30_000 });
  try {
    await check().catch(async () => {
      await run(
        python,
        ['-m', 'pip', 'install', '--quiet', '--only-binary', ':all:', `a2a-sdk[grpc]==${version}`],
        { timeout: 180_000 },
      );
      await check();
    });
    return { python };
  } catch (error) {
    return { python, withoutGrpc: reason(error) };
  }
}

function reason(error: unknown): string {
  return error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error);
}
