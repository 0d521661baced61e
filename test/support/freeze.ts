/** Stands processes still, as a host that is paused or a machine without memory does. */
import { readFileSync } from 'node:fs';

import { signal } from '../../dev/os-process.ts';

/** With their children: PostgreSQL has a process for each connection. @returns lets them go on */
export function freeze(pids: readonly number[]): () => void {
  const all = pids.flatMap((pid) => [pid, ...childrenOf(pid)]);
  for (const pid of all) signal(pid, 'SIGSTOP');
  return () => {
    for (const pid of all) signal(pid, 'SIGCONT');
  };
}

function childrenOf(pid: number): number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
  } catch {
    return [];
  }
}
