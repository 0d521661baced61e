import { isDatabaseUnavailable } from './unavailable.ts';

/** As long as one statement may take. */
const PATIENCE_MS = 30_000;
const PAUSE_MS = 1_000;

export interface Patience {
  signal?: AbortSignal;
  heartbeat?(this: void): void;
}

/**
 * Works on the outcome of what has happened outside, again while the database is unavailable for a moment:
 * otherwise it would have to happen once more. `work` must bear being repeated after it has succeeded.
 */
export async function patiently<T>(work: () => Promise<T>, { signal, heartbeat }: Patience = {}): Promise<T> {
  const until = performance.now() + PATIENCE_MS;
  for (;;) {
    heartbeat?.();
    try {
      return await work();
    } catch (error) {
      if (signal?.aborted === true || performance.now() > until || !isDatabaseUnavailable(error)) throw error;
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }
}
