/** The signals that end a program of an installation's machine. */
import { ServerCommandError } from './installation.ts';

/** After the first signal it has this long to clean up. */
const INTERRUPT_MS = 5_000;

/** @returns a signal that is aborted by the first signal to the process @param late ends the process */
export function interruptible(late: () => void): AbortSignal {
  const interruption = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.on(name, () => {
      interruption.abort(new ServerCommandError('Interrupted.'));
      setTimeout(late, INTERRUPT_MS).unref();
    });
  return interruption.signal;
}
