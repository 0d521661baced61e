/**
 * Whose data was decoded, for the audit log. A page of Temporal's UI sends hundreds of requests for one
 * history, so each execution is written once in ten minutes a session and copy of the API.
 */
const ONCE_IN_MS = 600_000;
/** Beyond it the oldest are forgotten, and written again. */
const MAX_KNOWN = 20_000;
const UNBOUND = 'unbound';

export interface DecodingTrail {
  /** The ids among these that have to be written; `unbound` stands for payloads of no execution. */
  dueIn(sessionId: string, workflowIds: readonly (string | null)[]): string[];
  /** These are written. */
  written(sessionId: string, workflowIds: readonly string[]): void;
}

export function createDecodingTrail(now: () => number = () => performance.now()): DecodingTrail {
  const known = new Map<string, number>();
  const keyOf = (sessionId: string, id: string): string => `${sessionId} ${id}`;
  return {
    dueIn: (sessionId, workflowIds) => {
      const ids = [...new Set(workflowIds.map((id) => id ?? UNBOUND))];
      return ids.filter((id) => now() - (known.get(keyOf(sessionId, id)) ?? -Infinity) >= ONCE_IN_MS);
    },
    written: (sessionId, workflowIds) => {
      for (const id of workflowIds) {
        const key = keyOf(sessionId, id);
        known.delete(key);
        known.set(key, now());
        const [oldest] = known.keys();
        if (known.size > MAX_KNOWN && oldest !== undefined) known.delete(oldest);
      }
    },
  };
}
