import { setImmediate } from 'node:timers/promises';

const WORK_MS = 10;

/** Filters are written by users: whatever they cost, the process goes on with other work in between. */
export function createYielder(): () => Promise<void> {
  let since = performance.now();
  return async () => {
    if (performance.now() - since < WORK_MS) return;
    await setImmediate();
    since = performance.now();
  };
}
