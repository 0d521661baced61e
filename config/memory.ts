import { totalmem } from 'node:os';

/** Half of the memory of the container or machine, in MiB: other processes of the platform may share it. */
export function halfOfMemoryMib(): number {
  const constrained = process.constrainedMemory() || Number.POSITIVE_INFINITY;
  return Math.min(constrained, totalmem()) / (1024 * 1024) / 2;
}
