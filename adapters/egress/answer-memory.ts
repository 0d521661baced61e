/**
 * Bounds the memory that responses of counterparts take in a worker. Activity slots alone do not bound it: a
 * response of 6 MB takes many times that once it is parsed, checked and written. A call with a larger
 * response waits for its share while its connection stays unread, and returns the share when its activity
 * ends.
 */
import { AsyncLocalStorage } from 'node:async_hooks';

/** Responses up to this size are not counted. */
export const SMALL_ANSWER_BYTES = 64 * 1024;

/** Memory for the responses of all activities in this process. */
export interface AnswerMemory {
  /** Runs one activity and frees what its responses reserved when it settles. */
  share<T>(activity: () => Promise<T>): Promise<T>;
  /** Bytes reserved now. */
  readonly usedBytes: number;
}

interface Share {
  bytes: number;
  reserve(bytes: number, signal: AbortSignal): Promise<void>;
}

interface Waiting {
  bytes: number;
  admit(): void;
}

const shares = new AsyncLocalStorage<Share>();

/** `maxBytes` for all activities of the process; first come, first served. */
export function createAnswerMemory(maxBytes: number): AnswerMemory {
  const queue: Waiting[] = [];
  let usedBytes = 0;
  const admitNext = (): void => {
    for (let next = queue[0]; next !== undefined && usedBytes + next.bytes <= maxBytes; next = queue[0]) {
      queue.shift();
      usedBytes += next.bytes;
      next.admit();
    }
  };
  const wait = (bytes: number, signal: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      const abandon = (): void => {
        queue.splice(queue.indexOf(waiting), 1);
        reject(signal.reason instanceof Error ? signal.reason : new Error('aborted'));
        admitNext();
      };
      const waiting = { bytes, admit: () => (signal.removeEventListener('abort', abandon), resolve()) };
      signal.throwIfAborted();
      signal.addEventListener('abort', abandon, { once: true });
      queue.push(waiting);
      admitNext();
    });
  return {
    async share(activity) {
      const share: Share = {
        bytes: 0,
        async reserve(wanted, signal) {
          // A call that already holds a share does not wait: two such calls could deadlock.
          const holds = share.bytes > 0;
          const bytes = Math.min(wanted, maxBytes);
          if (!holds) await wait(bytes, signal);
          else usedBytes += bytes;
          share.bytes += bytes;
        },
      };
      try {
        return await shares.run(share, activity);
      } finally {
        usedBytes -= share.bytes;
        admitNext();
      }
    },
    get usedBytes() {
      return usedBytes;
    },
  };
}

/**
 * Waits for the share of a response of this size; returns at once outside of activities. @throws the signal's
 * reason
 */
export async function reserveAnswer(bytes: number, signal: AbortSignal): Promise<void> {
  await shares.getStore()?.reserve(bytes, signal);
}

/** Whether the running activity has reserved memory for a large response. */
export function holdsLargeAnswer(): boolean {
  return (shares.getStore()?.bytes ?? 0) > 0;
}
