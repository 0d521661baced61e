/** A lock between processes: a file that only one of them can create. */
import { closeSync, openSync, readFileSync, statSync, unlinkSync, writeSync } from 'node:fs';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';

import { CliError } from './errors.ts';

const WAIT_MS = 30_000;
const POLL_MS = 20;
/** A holder on another machine that shares the folder cannot be asked whether it still lives. */
const FOREIGN_MS = 60_000;

/** Runs `body` while no other process runs one under the same lock. */
export async function withLock<T>(path: string, body: () => Promise<T>): Promise<T> {
  const deadline = Date.now() + WAIT_MS;
  while (!tryLock(path)) {
    if (Date.now() > deadline)
      throw new CliError(`Another process holds ${path}. Remove the file if no cadenza is running.`, {
        code: 'locked',
      });
    if (isAbandoned(path)) removeAbandoned(path);
    else await sleep(POLL_MS);
  }
  try {
    return await body();
  } finally {
    unlinkSync(path);
  }
}

function tryLock(path: string): boolean {
  try {
    const file = openSync(path, 'wx', 0o600);
    writeSync(file, `${process.pid} ${hostname()}`);
    closeSync(file);
    return true;
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false;
    throw error;
  }
}

/** Whether the holder has died. A lock that is being written is young, and counts as held. */
function isAbandoned(path: string): boolean {
  try {
    const [pid = '', host] = readFileSync(path, 'utf8').split(' ');
    if (host === hostname()) return !isAlive(Number(pid));
    return Date.now() - statSync(path).mtimeMs > FOREIGN_MS;
  } catch {
    return false;
  }
}

/** Several processes may find the same dead holder; the one that gets this second lock looks again. */
function removeAbandoned(path: string): void {
  const removal = `${path}.removal`;
  if (!tryLock(removal)) {
    if (isAbandoned(removal)) ignoreMissing(() => unlinkSync(removal));
    return;
  }
  try {
    if (isAbandoned(path)) ignoreMissing(() => unlinkSync(path));
  } finally {
    ignoreMissing(() => unlinkSync(removal));
  }
}

function ignoreMissing(action: () => void): void {
  try {
    action();
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return hasCode(error, 'EPERM');
  }
}

export const hasCode = (error: unknown, code: string): boolean =>
  error instanceof Error && 'code' in error && error.code === code;
