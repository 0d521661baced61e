/** Operating system processes of the embedded set-up: starting in a group of their own, finding, telling apart, ending. */
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
 * Starts a program in its own session and process group, so that a Ctrl-C in the terminal does not reach it. Its output is
 * appended to `logFile`, and not piped: a server must not die of a broken pipe when its parent is killed.
 */
export async function spawnServer(options: {
  command: string; args: readonly string[]; env: Record<string, string>; logFile: string; cwd?: string; uid?: number; gid?: number;
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
    // After the event 'spawn' there is a pid.
    return { pid: child.pid as number, exited, hasExited: () => ended };
  } finally {
    closeSync(log);
  }
}

/** Whether a process with this id runs; one that only waits to be reaped does not count. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
  return statOf(pid)?.state !== 'Z';
}

/**
 * What tells a process from a later one with the same id: boot and start time on Linux, elsewhere `ps`'s start time;
 * undefined if there is no such process.
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

/** All processes that this user may look at, with command line and, on Linux, working directory. */
export async function listProcesses(): Promise<SystemProcess[]> {
  if (process.platform !== 'linux') {
    const { stdout } = await run('ps', ['-axo', 'pid=,command='], { maxBuffer: 16 << 20 });
    return stdout.split('\n').flatMap((line) => {
      const match = /^\s*(\d+)\s+(.*)$/.exec(line);
      return match ? [{ pid: Number(match[1]), command: match[2] ?? '', cwd: undefined }] : [];
    });
  }
  return readdirSync('/proc').filter((name) => /^\d+$/.test(name)).flatMap((name) => {
    const command = attempt(() => readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ').trim());
    return command && statOf(Number(name))?.state !== 'Z'
      ? [{ pid: Number(name), command, cwd: attempt(() => readlinkSync(`/proc/${name}/cwd`)) }]
      : [];
  });
}

/** Sends a signal to a process, or with a negative id to its group; one that is gone is no error. */
export function signal(pid: number, name: NodeJS.Signals): void {
  attempt(() => process.kill(pid, name));
}

/** Waits until none of the processes runs; false if some still do after `timeoutMs`. */
export async function waitForEnd(pids: readonly number[], timeoutMs: number): Promise<boolean> {
  const deadline = Date.now() + timeoutMs;
  while (pids.some(isAlive)) {
    if (Date.now() > deadline) return false;
    await sleep(25);
  }
  return true;
}

/** Asks a process to end with one signal after the other, each with its time, and then kills it and its group. */
export async function endProcess(pid: number, steps: readonly { signal: NodeJS.Signals; waitMs: number }[]): Promise<void> {
  for (const step of steps) {
    signal(pid, step.signal);
    if (await waitForEnd([pid], step.waitMs)) return;
  }
  signal(-pid, 'SIGKILL');
  signal(pid, 'SIGKILL');
  await waitForEnd([pid], 5_000);
}

function statOf(pid: number): { state: string; startTime: string } | undefined {
  // The second field, the name in brackets, may hold spaces and brackets itself.
  const fields = attempt(() => readFileSync(`/proc/${pid}/stat`, 'utf8'))?.replace(/^.*\) /s, '').split(' ');
  return fields && { state: fields[0] ?? '', startTime: fields[19] ?? '' };
}
