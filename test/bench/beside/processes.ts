/** What Linux says of a process. */
import { readFileSync } from 'node:fs';

export const TICKS_PER_SECOND = 100;

/** The fields of `/proc/<pid>/stat` from the third on; none for a process that has ended. */
export function statOf(pid: number): number[] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number);
  } catch {
    return [];
  }
}

/** Resident memory. */
export function residentKib(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0);
}
