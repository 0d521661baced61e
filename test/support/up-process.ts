/**
 * Runs the embedded set-up as a user does: in a separate process group, which receives a terminal's Ctrl-C.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { endProcess, isAlive, listProcesses, signal } from '../../dev/os-process.ts';

const stubUp = join(import.meta.dirname, 'stub-stack/up.ts');

export type Up = {
  pid: number;
  output(): string;
  /** The base URL, once the line `ready …` has been printed. */
  ready(timeoutMs?: number): Promise<string>;
  exited: Promise<number | null>;
  /** Ctrl-C: SIGINT to the whole group, if it still exists. */
  interrupt(): void;
};

export type UpFolder = {
  dataDir: string;
  start(env?: Record<string, string>, options?: { uid?: number; gid?: number; program?: string }): Up;
  /** The id of the process with this role in processes.json. */
  pidOf(role: string): number;
  pids(): Record<string, number>;
  /** Processes whose command line contains the folder. */
  running(): Promise<number[]>;
  /** Ends everything and removes the folder. */
  clean(): Promise<void>;
};

export function upFolder(parent = tmpdir()): UpFolder {
  const dataDir = mkdtempSync(join(parent, 'cadenza-up-'));
  const started: Up[] = [];
  const pids = () => {
    const { processes } = JSON.parse(readFileSync(join(dataDir, 'processes.json'), 'utf8')) as {
      processes: { role: string; pid: number }[];
    };
    return Object.fromEntries(processes.map(({ role, pid }) => [role, pid]));
  };
  const running = async () =>
    (await listProcesses())
      .filter(({ command, cwd }) => `${command} ${cwd}`.includes(dataDir))
      .map(({ pid }) => pid);
  return {
    dataDir,
    start(env = {}, options = {}) {
      const { program = stubUp, ...identity } = options;
      const child = spawn(process.execPath, [program], {
        // A folder without a developer's `.env`.
        cwd: parent,
        env: {
          ...cleanEnv(),
          PORT: '0',
          TEMPORAL_PORT: '0',
          TEMPORAL_UI_PORT: '0',
          DATA_DIR: dataDir,
          ...env,
        },
        detached: true,
        stdio: ['ignore', 'pipe', 'pipe'],
        ...identity,
      });
      const up = watch(child);
      started.push(up);
      return up;
    },
    pids,
    pidOf: (role) => pids()[role] ?? Number.NaN,
    running,
    async clean() {
      const known = existsSync(join(dataDir, 'processes.json')) ? Object.values(pids()) : [];
      for (const pid of [...started.map((up) => up.pid), ...known, ...(await running())])
        await endProcess(pid, []);
      rmSync(dataDir, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
    },
  };
}

/** Settings of the developer's shell must not reach the instances under test. */
function cleanEnv(): Record<string, string> {
  return Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) =>
      /^(PATH|HOME|XDG_CACHE_HOME|LANG|TMPDIR|GO\w+)$/.test(name) && value ? [[name, value]] : [],
    ),
  );
}

function watch(child: ChildProcess): Up {
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve));
  const pid = child.pid ?? Number.NaN;
  return {
    pid,
    exited,
    output: () => output,
    interrupt: () => signal(-pid, 'SIGINT'),
    async ready(timeoutMs = 180_000) {
      const deadline = Date.now() + timeoutMs;
      for (;;) {
        const url = /^ready (\S+)$/m.exec(output)?.[1];
        if (url) return url;
        if (!isAlive(pid) || Date.now() > deadline) throw new Error(`not ready:\n${output}`);
        await sleep(25);
      }
    },
  };
}

/** Repeats until the check passes; fails with its last error. */
export async function eventually<T>(check: () => Promise<T>, timeoutMs = 120_000): Promise<T> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await sleep(100);
    }
  }
}
