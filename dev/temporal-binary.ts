/** Finds the local Temporal server: `temporal` on PATH, the cache, the SDK's download, or `go install`. */
import { execFile, spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { childEnv, type EnvSource } from '../config/env.ts';

/** The newest version that `go install` can build; later ones have a `replace` in go.mod. */
const TEMPORAL_CLI_VERSION = 'v1.5.1';

export type Progress = (line: string) => void;

const run = promisify(execFile);

/**
 * Path of a working `temporal` binary, downloaded or built into the cache if necessary. @throws Error that
 * lists the alternatives
 */
export async function findTemporalBinary(
  progress: Progress,
  abort?: AbortSignal,
  env: EnvSource = childEnv({}),
): Promise<string> {
  const cacheDir = join(
    env['XDG_CACHE_HOME'] || join(env['HOME'] || homedir(), '.cache'),
    'cadenza',
    `temporal-${TEMPORAL_CLI_VERSION}`,
  );
  const cached = join(cacheDir, 'temporal');
  const onPath = (env['PATH'] ?? '')
    .split(delimiter)
    .filter(Boolean)
    .map((folder) => join(folder, 'temporal'));
  for (const candidate of [...onPath, cached]) {
    if (existsSync(candidate) && (await runs(candidate))) return candidate;
  }
  mkdirSync(cacheDir, { recursive: true });
  const partial = mkdtempSync(join(cacheDir, 'half-made-'));
  const failures: string[] = [];
  try {
    for (const [method, install] of [
      ['download', download],
      ['go install', goInstall],
    ] as const) {
      try {
        const binary = await install(partial, progress, env, abort);
        if (!(await runs(binary))) throw new Error('the binary does not run');
        chmodSync(binary, 0o755);
        renameSync(binary, cached);
        return cached;
      } catch (error) {
        abort?.throwIfAborted();
        const reason = error instanceof Error ? error.message.split('\n')[0] : String(error);
        failures.push(`${method}: ${reason}`);
        progress(`cannot get Temporal by ${failures.at(-1)}`);
      }
    }
  } finally {
    rmSync(partial, { recursive: true, force: true });
  }
  throw new Error(
    `No local Temporal server was found (${failures.join('; ')}). Either set TEMPORAL_ADDRESS to a running ` +
      "server; put the Temporal CLI's `temporal` on PATH (https://docs.temporal.io/cli); put its binary at " +
      `${cached}; or install Go and start again.`,
  );
}

async function runs(binary: string): Promise<boolean> {
  return run(binary, ['--version'], { timeout: 20_000 }).then(
    ({ stdout }) => /temporal version/i.test(stdout),
    () => false,
  );
}

/** The SDK downloads the server only when it starts one, so this starts one in memory and ends it. */
async function download(folder: string, progress: Progress): Promise<string> {
  progress(`downloading Temporal ${TEMPORAL_CLI_VERSION} …`);
  const { TestWorkflowEnvironment } = await import('@temporalio/testing');
  const starting = TestWorkflowEnvironment.createLocal({
    server: {
      executable: { type: 'cached-download', version: TEMPORAL_CLI_VERSION, downloadDir: folder },
      ui: false,
    },
  });
  const environment = await within(120_000, starting);
  await environment.teardown();
  const name = readdirSync(folder).find((entry) => entry.startsWith('temporal'));
  if (!name) throw new Error('nothing was downloaded');
  return join(folder, name);
}

async function goInstall(
  folder: string,
  progress: Progress,
  env: EnvSource,
  abort?: AbortSignal,
): Promise<string> {
  const started = Date.now();
  const reportProgress = () => {
    const seconds = Math.round((Date.now() - started) / 1000);
    progress(`building Temporal ${TEMPORAL_CLI_VERSION} with Go (once, about 3 minutes) … ${seconds} s`);
  };
  const child = spawn('go', ['install', `github.com/temporalio/cli/cmd/temporal@${TEMPORAL_CLI_VERSION}`], {
    env: childEnv({ GOBIN: folder }, env),
    stdio: ['ignore', 'ignore', 'pipe'],
    cwd: folder,
    ...(abort ? { signal: abort } : {}),
  });
  const timer = setInterval(reportProgress, 15_000);
  try {
    let errors = '';
    child.stderr.on('data', (chunk: Buffer) => (errors = (errors + chunk.toString()).slice(-2_000)));
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once('spawn', reportProgress);
      child.once('error', () => reject(new Error('Go is not installed')));
      child.once('close', resolve);
    });
    if (code !== 0) throw new Error(`the build failed: ${errors.trim().split('\n').at(-1)}`);
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
