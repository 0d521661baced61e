/** A disk that can be full: a file system in memory, where this process may mount one. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, statfsSync } from 'node:fs';

export interface Disk {
  path: string;
  /** Why it cannot be full; undefined if it can. */
  hindrance: string | undefined;
  /** From now on nothing can be written that needs room. */
  fill(): void;
  free(): void;
  /** Everything that has a file open on it has ended. */
  remove(): void;
}

/** A limit; it takes the memory that is used. */
const SIZE_MIB = 4_096;

export function createDisk(path: string): Disk {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  const mounted = mount(['-t', 'tmpfs', '-o', `size=${SIZE_MIB}m,mode=700`, 'cadenza-faults', path]);
  const resize = (size: string): void => {
    const problem = mount(['-o', `remount,size=${size}`, path]);
    if (problem !== undefined) throw new Error(problem);
  };
  return {
    path,
    hindrance: mounted,
    fill() {
      const { blocks, bfree, bsize } = statfsSync(path);
      // What is used, and a page.
      resize(String((blocks - bfree + 1) * bsize));
    },
    free: () => resize(`${SIZE_MIB}m`),
    remove() {
      if (mounted === undefined) spawnSync('umount', ['-l', path]);
    },
  };
}

/** @returns what went wrong */
function mount(args: string[]): string | undefined {
  const { status, stderr, error } = spawnSync('mount', args, { encoding: 'utf8' });
  return status === 0 ? undefined : (error?.message ?? stderr.trim());
}
