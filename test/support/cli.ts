/** Runs the command line as a process, with its own configuration. */
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from '@jest/globals';
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
