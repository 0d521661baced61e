/** Runs the command line as a process, with its own configuration. */
import { spawn, spawnSync, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from '@jest/globals';
import type { TestApp } from './app.ts';
import { runFolder } from './run-folder.ts';

const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

const launcher = join(import.meta.dirname, '../../cli/cadenza');

interface CliResult {
  exitCode: number | null;
  stdout: string;
  stderr: string;
  /** Parsed JSON of stdout. */
  json(): any;
}

interface RunningCli {
  child: ChildProcessWithoutNullStreams;
  stdout(): string;
  stderr(): string;
  done: Promise<CliResult>;
}

interface CliOptions {
  env?: Record<string, string>;
  stdin?: string;
  cwd?: string;
}

/** One person's machine: a folder for the configuration, and variables. */
export interface CliUser {
  configFile: string;
  start(args: readonly string[], options?: CliOptions): RunningCli;
  run(args: readonly string[], options?: CliOptions): Promise<CliResult>;
}

/** A user of the command line who is the app's user of this role. */
export async function cliAs(
  { url, user }: Pick<TestApp, 'url' | 'user'>,
  role: Parameters<TestApp['user']>[0],
): Promise<CliUser> {
  return cliUser({ CADENZA_URL: url, CADENZA_TOKEN: (await user(role)).token });
}

export function cliUser(env: Record<string, string> = {}): CliUser {
  const folder = mkdtempSync(join(tmpdir(), 'cadenza-cli-'));
  folders.push(folder);
  const start: CliUser['start'] = (args, options = {}) => {
    const child = spawn(launcher, args, {
      cwd: options.cwd ?? folder,
      env: {
        PATH: process.env['PATH'] ?? '',
        HOME: folder,
        // All share what has been compiled once.
        XDG_CACHE_HOME: join(runFolder(), 'cache'),
        BROWSER: 'true',
        ...env,
        ...options.env,
      },
    });
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => (stdout += chunk));
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => (stderr += chunk));
    child.stdin.on('error', () => undefined);
    child.stdin.end(options.stdin ?? '');
    const done = new Promise<CliResult>((resolve) =>
      child.on('close', (exitCode) =>
        resolve({ exitCode, stdout, stderr, json: () => JSON.parse(stdout) as unknown }),
      ),
    );
    return { child, stdout: () => stdout, stderr: () => stderr, done };
  };
  return {
    configFile: join(folder, '.config/cadenza/config.json'),
    start,
    run: (args, options) => start(args, options).done,
  };
}

/** Why there is no terminal to try commands on. */
export const noTerminal = spawnSync('script', ['--version']).status === 0 ? undefined : 'no script';

export interface TerminalCli {
  /** All that was printed until now. */
  seen(): string;
  press(keys: string): void;
  /** The exit code. */
  ended: Promise<unknown>;
}

/** Runs a command on a terminal of its own; its words are those of a shell. */
export function cliOnTerminal(command: string, env: Record<string, string>): TerminalCli {
  const child = spawn('script', ['-qec', `"${launcher}" ${command}`, '/dev/null'], {
    env: { PATH: process.env['PATH'] ?? '', TERM: 'xterm', ...env },
  });
  let seen = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (seen += chunk));
  return {
    seen: () => seen,
    press: (keys) => void child.stdin.write(keys),
    ended: new Promise((resolve) => child.on('close', resolve)),
  };
}
