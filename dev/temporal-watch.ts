/**
 * Ends an embedded Temporal server whose database does not answer any more. Its SQLite driver interrupts a
 * query when a caller's time is over, and in unlucky moments, on a busy machine, SQLite then interrupts all
 * later ones as well: every call fails with "interrupted (9)" until the process ends. Its data are on disk.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Connection } from '@temporalio/client';

export interface Watched {
  address: string;
  exited: Promise<unknown>;
  stop: () => Promise<void>;
}

const PAUSE_MS = 5_000;
const ANSWER_MS = 5_000;
/** One after the other. A server that was only interrupted once answers the next one. */
const FAILURES = 3;
const INTERRUPTED = /\binterrupted \(9\)/;

/** Until the server has ended. */
export async function endWhenStuck(
  { address, exited, stop }: Watched,
  { pauseMs = PAUSE_MS, report }: { pauseMs?: number; report: (line: string) => void },
): Promise<void> {
  const over = new AbortController();
  void exited.finally(() => over.abort());
  // Without repetitions, which would end as a mere "deadline exceeded".
  const connection = Connection.lazy({ address, interceptors: [] });
  let failures = 0;
  try {
    while (failures < FAILURES) {
      await sleep(pauseMs, undefined, { signal: over.signal, ref: false });
      failures = (await isInterrupted(connection)) ? failures + 1 : 0;
    }
    report('its database was interrupted and does not answer any more, so it is ended');
    await stop();
  } catch (error) {
    if (!over.signal.aborted) throw error;
  } finally {
    await connection.close();
  }
}

/** Reads from the server's database. Nothing but the interruption counts: a busy server may be late. */
async function isInterrupted(connection: Connection): Promise<boolean> {
  try {
    await connection.withDeadline(Date.now() + ANSWER_MS, () =>
      connection.workflowService.describeNamespace({ namespace: 'default' }),
    );
    return false;
  } catch (error) {
    return error instanceof Error && INTERRUPTED.test(error.message);
  }
}
