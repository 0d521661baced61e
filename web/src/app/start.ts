/** Reads the session when the page opens, until the server answers. */
import { signal } from '@preact/signals';

/** What the server, or its absence, has answered so far. */
export const startProblem = signal<unknown>(null);

const FIRST_PAUSE_MS = 300;
const LONGEST_PAUSE_MS = 10_000;

export async function start(readSession: () => Promise<void>): Promise<void> {
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
    try {
      await readSession();
      startProblem.value = null;
      return;
    } catch (error) {
      startProblem.value = error;
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }
}
