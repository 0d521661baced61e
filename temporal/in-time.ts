import { setTimeout as sleep } from 'node:timers/promises';
import { TemporalUnavailable } from '../domain/ports.ts';

/**
 * The result of a call, which goes on by itself if it is late. The SDKs' own deadlines do not bound a call as
 * a whole: the client pauses before it repeats one, past the deadline too, and that of the native connection
 * ends with the headers of an answer, whose message may never come.
 * @throws TemporalUnavailable after `timeoutMs`
 */
export async function inTime<T>(call: Promise<T>, timeoutMs: number): Promise<T> {
  const over = new AbortController();
  const late = sleep(timeoutMs, null, { signal: over.signal }).then(() => {
    throw new TemporalUnavailable('Temporal has not served the call in time');
  });
  try {
    return await Promise.race([call, late]);
  } finally {
    late.catch(() => {});
    over.abort();
  }
}
