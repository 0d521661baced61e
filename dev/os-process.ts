/**
 * Operating system processes of the embedded setup: spawning in their own process group, listing,
 * identifying, ending.
 */
import { execFile, spawn } from 'node:child_process';
import { closeSync, openSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { attempt } from './attempt.ts';

export type Exit = { code: number | null; signal: NodeJS.Signals | null };
export type ServerProcess = { pid: number; exited: Promise<Exit>; hasExited(): boolean };
export type SystemProcess = { pid: number; command: string; cwd: string | undefined };

const run = promisify(execFile);

/**
 * Starts a program in its own session and process group, so that Ctrl-C in the terminal does not reach it.
 * Its output is appended to `logFile` instead of piped: a server must not die of a broken pipe when its
 * parent is killed.
 */
export async function spawnServer(options: {
  command: string;
  args: readonly string[];
  env: Record<string, string>;
  logFile: string;
  cwd?: string;
  uid?: number;
  gid?: number;
}): Promise<ServerProcess> {
  const { command, args, logFile, ...rest } = options;
  const log = openSync(logFile, 'a', 0o600);
  try {
    const child = spawn(command, args, { ...rest, detached: true, stdio: ['ignore', log, log] });
    let ended = false;
    const exited = new Promise<Exit>((resolve) => {
      child.once('exit', (code, signal) => {
        ended = true;
        resolve({ code, signal });
      });
    });
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve);
      child.once('error', reject);
    });
    // The pid is set once 'spawn' has been emitted.
    return { pid: child.pid as number, exited, hasExited: () => ended };
  } finally {
    closeSync(log);
  }
}

/** Whether a process with this id is running; zombies do not count. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
  return statOf(pid)?.state !== 'Z';
}

/**
 * Distinguishes a process from a later one with the same pid: boot id and start time on Linux, elsewhere the
 * start time from `ps`. Undefined if there is no such process.
 */
export async function identityOf(pid: number): Promise<string | undefined> {
  if (!isAlive(pid)) return undefined;
  if (process.platform === 'linux') {
    const startTime = statOf(pid)?.startTime;
    return startTime && `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()}/${startTime}`;
  }
  const { stdout } = await run('ps', ['-o', 'lstart=', '-p', String(pid)]).catch(() => ({ stdout: '' }));
  return stdout.trim() || undefined;
}

/** All processes visible to this user, with their command line and, on Linux, working directory. */
export async function listProcesses(): Promise<SystemProcess[]> {
  if (process.platform !== 'linux') {
    const { stdout } = await run('ps', ['-axo', 'pid=,command='], { maxBuffer: 16 << 20 });
    return stdout.split('\n').flatMap((line) => {
      const match = /^\s*(\d+)\s+(.*)$/.exec(line);
      return match ? [{ pid: Number(match[1]), command: match[2] ?? '', cwd: undefined }] : [];
    });
  }
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      const command = attempt(() =>
        readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ').trim(),
      );
      return command && statOf(Number(name))?.state !== 'Z'
        ? [{ pid: Number(name), command, cwd: attempt(() => readlinkSync(`/proc/${name}/cwd`)) }]
        : [];
    });
}

/**
 * Sends a signal to a process, or to a process group if `pid` is negative. Ignores processes that no longer
 * exist.
 */
export function signal(pid: number, name: NodeJS.Signals): void {
  attempt(() => process.kill(pid, name));
}

/** Waits until all processes have ended. @returns false if some still run after `timeoutMs` */
export async function waitForEnd(pids: readonly number[], timeoutMs: number): Promise<boolean> {
  const deadline = Date.now() + timeoutMs;
  while (pids.some(isAlive)) {
    if (Date.now() > deadline) return false;
    await sleep(25);
  }
  return true;
}

/**
 * Ends a process with one signal after another, waiting after each, and finally kills it and its process
 * group.
 */
export async function endProcess(
  pid: number,
  steps: readonly { signal: NodeJS.Signals; waitMs: number }[],
): Promise<void> {
  for (const step of steps) {
    signal(pid, step.signal);
    if (await waitForEnd([pid], step.waitMs)) return;
  }
  signal(-pid, 'SIGKILL');
  signal(pid, 'SIGKILL');
  await waitForEnd([pid], 5_000);
}

function statOf(pid: number): { state: string; startTime: string } | undefined {
  // The second field, the name in brackets, may itself contain spaces and brackets.
  const fields = attempt(() => readFileSync(`/proc/${pid}/stat`, 'utf8'))
    ?.replace(/^.*\) /s, '')
    .split(' ');
  return fields && { state: fields[0] ?? '', startTime: fields[19] ?? '' };
}
