/** Where the local Temporal server comes from: `temporal` on PATH, the cache, the SDK's download, or `go install`. */
import { execFile, spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { childEnv, type EnvSource } from '../config/env.ts';

/** The newest that `go install` can build: later ones carry a `replace`. */
export const temporalCliVersion = 'v1.5.1';

export type Progress = (line: string) => void;

const run = promisify(execFile);

/** Path of a `temporal` binary that runs; fetched or built into the cache if there is none. Throws with the choices left. */
export async function findTemporalBinary(progress: Progress, abort?: AbortSignal, env: EnvSource = childEnv({})): Promise<string> {
  const cacheDir = join(env['XDG_CACHE_HOME'] || join(env['HOME'] || homedir(), '.cache'), 'cadenza', `temporal-${temporalCliVersion}`);
  const cached = join(cacheDir, 'temporal');
  const onPath = (env['PATH'] ?? '').split(delimiter).filter(Boolean).map((folder) => join(folder, 'temporal'));
  for (const candidate of [...onPath, cached]) {
    if (existsSync(candidate) && (await runs(candidate))) return candidate;
  }
  mkdirSync(cacheDir, { recursive: true });
  const half = mkdtempSync(join(cacheDir, 'half-made-'));
  const failures: string[] = [];
  try {
    for (const [what, make] of [['download', download], ['go install', goInstall]] as const) {
      try {
        const made = await make(half, progress, env, abort);
        if (!(await runs(made))) throw new Error('the binary does not run');
        chmodSync(made, 0o755);
        renameSync(made, cached);
        return cached;
      } catch (error) {
        abort?.throwIfAborted();
        failures.push(`${what}: ${error instanceof Error ? error.message.split('\n')[0] : String(error)}`);
        progress(`Temporal by ${failures.at(-1)}`);
      }
    }
  } finally {
    rmSync(half, { recursive: true, force: true });
  }
  throw new Error(
    `There is no local Temporal server (${failures.join('; ')}). Choose one: set TEMPORAL_ADDRESS to a running server; put the ` +
      `Temporal CLI's \`temporal\` on PATH (https://docs.temporal.io/cli); put its binary at ${cached}; or install Go and start again.`,
  );
}

async function runs(binary: string): Promise<boolean> {
  return run(binary, ['--version'], { timeout: 20_000 }).then(({ stdout }) => /temporal version/i.test(stdout), () => false);
}

/** The SDK downloads only as a part of starting a server, so one is started in memory and ended. */
async function download(folder: string, progress: Progress): Promise<string> {
  progress(`downloading Temporal ${temporalCliVersion} …`);
  const { TestWorkflowEnvironment } = await import('@temporalio/testing');
  const starting = TestWorkflowEnvironment.createLocal({
    server: { executable: { type: 'cached-download', version: temporalCliVersion, downloadDir: folder }, ui: false },
  });
  const environment = await within(120_000, starting);
  await environment.teardown();
  const name = readdirSync(folder).find((entry) => entry.startsWith('temporal'));
  if (!name) throw new Error('nothing was downloaded');
  return join(folder, name);
}

async function goInstall(folder: string, progress: Progress, env: EnvSource, abort?: AbortSignal): Promise<string> {
  const started = Date.now();
  const tell = () => progress(`building Temporal ${temporalCliVersion} with Go, about 3 minutes, once … ${Math.round((Date.now() - started) / 1000)} s`);
  const child = spawn('go', ['install', `github.com/temporalio/cli/cmd/temporal@${temporalCliVersion}`], {
    env: childEnv({ GOBIN: folder }, env), stdio: ['ignore', 'ignore', 'pipe'], cwd: folder, ...(abort ? { signal: abort } : {}),
  });
  const timer = setInterval(tell, 15_000);
  try {
    let errors = '';
    child.stderr.on('data', (chunk: Buffer) => (errors = (errors + chunk.toString()).slice(-2_000)));
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once('spawn', tell);
      child.once('error', () => reject(new Error('Go is not installed')));
      child.once('close', resolve);
    });
    if (code !== 0) throw new Error(`it failed: ${errors.trim().split('\n').at(-1)}`);
    return join(folder, 'temporal');
  } finally {
    clearInterval(timer);
  }
}

async function within<T>(timeoutMs: number, promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${timeoutMs / 1000} s`)), timeoutMs);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
