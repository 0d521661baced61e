/**
 * Copies of the real programs beside a test platform, to be killed: `npm run start:api`, `npm run
 * start:worker`.
 */
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { cpSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { setTimeout as sleep } from 'node:timers/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ownPort } from './machine.ts';
import { bundleOncePerRun, bundlesOfRun, type TestPlatform } from './platform.ts';
import { oncePerRun, runFolder } from './run-folder.ts';

export interface Program {
  /** Of an api. */
  url: string;
  /** Of the process that runs now. */
  pid(): number;
  /** The largest that this process has been; on Linux only. */
  peakMemoryMib(): number;
  /** `kill -9`; resolves when it is gone. */
  kill(): Promise<void>;
  /** Tells it to stop. @returns its exit code, or the signal that has ended it */
  stop(): Promise<number | NodeJS.Signals | null>;
  /** Another process in its place, at the same address. */
  start(): Promise<void>;
}

const ENTRIES = { api: 'api/main.ts', worker: 'worker/main.ts', sandbox: 'worker/sandbox.ts' };

/** Started; an api answers. End it by `kill`. */
export async function startProgram(
  kind: keyof typeof ENTRIES,
  platform: Pick<TestPlatform, 'temporal' | 'databaseUrl'> & {
    env: Pick<TestPlatform['env'], 'BASE_URL' | 'FILES_DIR' | 'ENCRYPTION_KEYS'>;
  },
  more: Record<string, string> = {},
): Promise<Program> {
  await bundleOncePerRun();
  const port = kind === 'api' ? await ownPort() : 0;
  const url = `http://127.0.0.1:${port}`;
  const { env, temporal, databaseUrl } = platform;
  const settings = {
    PATH: process.env['PATH'],
    NODE_COMPILE_CACHE: await compiledOncePerRun(),
    DATABASE_URL: databaseUrl,
    // Where all copies are: they sign and check tokens for one address.
    BASE_URL: env.BASE_URL,
    FILES_DIR: env.FILES_DIR,
    ENCRYPTION_KEYS: env.ENCRYPTION_KEYS.map(({ id, key }) => `${id}:${key.toString('base64')}`).join(','),
    EGRESS_ALLOW: '127.0.0.1',
    TEMPORAL_ADDRESS: temporal.address,
    TEMPORAL_NAMESPACE: temporal.namespace,
    TEMPORAL_TASK_QUEUE: temporal.taskQueue,
    // With workflow code bundled.
    DATA_DIR: runFolder(),
    LOG_LEVEL: 'warn',
    // Not ready while nobody can log in.
    ...(kind === 'api' ? { PORT: String(port), ADMIN_PASSWORD: 'the first password' } : {}),
    ...more,
  };
  let child: ChildProcess | null = null;
  const program: Program = {
    url,
    pid: () => child?.pid ?? Number.NaN,
    peakMemoryMib() {
      const status = readFileSync(`/proc/${program.pid()}/status`, 'utf8');
      return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024;
    },
    async start() {
      child = spawn(process.execPath, [fileURLToPath(new URL(`../../${ENTRIES[kind]}`, import.meta.url))], {
        stdio: process.env['TEST_LOG'] === undefined ? 'ignore' : 'inherit',
        env: settings,
      });
      const started = child;
      // One that outlived its servers would take the tasks of the next Temporal at the same port.
      const end = () => started.kill('SIGKILL');
      process.once('exit', end);
      child.once('exit', () => process.off('exit', end));
      if (kind === 'api') await answers(`${url}/readyz`, child);
    },
    async stop() {
      if (child === null) return null;
      const ended = child.exitCode ?? child.signalCode;
      if (ended !== null) return ended;
      const gone = new Promise<number | NodeJS.Signals | null>((resolve) =>
        child?.once('exit', (code, signal) => resolve(code ?? signal)),
      );
      child.kill('SIGTERM');
      return gone;
    },
    async kill() {
      if (child === null || child.exitCode !== null || child.signalCode !== null) return;
      const gone = new Promise((resolve) => child?.once('exit', resolve));
      child.kill('SIGKILL');
      await gone;
    },
  };
  await program.start();
  return program;
}

/** Settings with which `npm start` on this data folder finds workflow code bundled, and its own compiled. */
export async function quickStart(dataDir: string): Promise<Record<string, string>> {
  await bundleOncePerRun();
  cpSync(bundlesOfRun(), join(dataDir, 'bundles'), { recursive: true });
  return { NODE_COMPILE_CACHE: await compiledOncePerRun() };
}

/**
 * The folder of what the programs consist of, compiled: each start takes almost a second less of a processor.
 * Node.js writes it at an orderly exit, to which tests do not let the programs come.
 */
async function compiledOncePerRun(): Promise<string> {
  return oncePerRun('compiled-programs', async () => {
    const folder = join(runFolder(), 'compiled');
    const all = JSON.stringify(new URL('platform.ts', import.meta.url).pathname);
    const load = ['--no-warnings', '--input-type=module', '--eval', `await import(${all}); process.exit()`];
    const env = { ...process.env, NODE_COMPILE_CACHE: folder };
    await promisify(execFile)(process.execPath, load, { env });
    return folder;
  });
}

async function answers(url: string, child: ChildProcess, timeoutMs = 180_000): Promise<void> {
  for (const deadline = Date.now() + timeoutMs; ; await sleep(50)) {
    const status = await fetch(url).then(
      (answer) => answer.status,
      () => 0,
    );
    if (status === 200) return;
    if (child.exitCode !== null || Date.now() > deadline)
      throw new Error(`${url} does not answer (${status}, exit code ${child.exitCode})`);
  }
}
