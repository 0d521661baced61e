/** Requests of a client that tries again until it has an answer, with the same idempotency key. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

export interface Answer {
  /** 0: the client has given up without an answer, so nobody knows what was done. */
  status: number;
  // Callers read any property of an answer.
  body: any;
}

interface AskOptions {
  /** Default: a new one for each request that may change something. */
  key?: string;
  contentType?: string;
  /** Which copy answers the first attempt; any other attempt goes to any copy. */
  copy?: number;
}

export interface Caller {
  ask(method: 'GET' | 'POST' | 'PATCH', path: string, body?: unknown, options?: AskOptions): Promise<Answer>;
}

/** What the client saw, of all requests. */
export interface Seen {
  /** Attempts by status; 0: no answer. */
  statuses: Record<number, number>;
  /** The first answers that no client should see, whatever happens: 500 above all. */
  odd: string[];
  /** All of them. */
  oddCount: number;
}

export const nothingSeen = (): Seen => ({ statuses: {}, odd: [], oddCount: 0 });

const ATTEMPT_MS = 20_000;
const MAX_PAUSE_MS = 2_000;
const KEPT_ODD = 20;
/** While something is away, or another request with the same key is under way. */
const AGAIN = new Set([0, 429, 502, 503, 504]);

/** @param hasTime whether to try on */
export function createCaller(deps: {
  urls: readonly string[];
  token: string;
  seen: Seen;
  hasTime(): boolean;
}): Caller {
  const { urls, token, seen } = deps;
  const attempt = async (url: string, init: RequestInit): Promise<Answer> => {
    try {
      const response = await fetch(url, { ...init, signal: AbortSignal.timeout(ATTEMPT_MS) });
      const text = await response.text();
      return { status: response.status, body: text === '' ? null : JSON.parse(text) };
    } catch {
      return { status: 0, body: null };
    }
  };
  return {
    async ask(method, path, body, options = {}) {
      const { key = randomUUID(), contentType = 'application/json', copy } = options;
      const init: RequestInit = {
        method,
        headers: {
          authorization: `Bearer ${token}`,
          ...(method === 'GET' ? {} : { 'content-type': contentType, 'idempotency-key': key }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      };
      for (let n = 0; ; n += 1) {
        const index = n === 0 && copy !== undefined ? copy : Math.floor(Math.random() * urls.length);
        const answer = await attempt(`${urls[index]}${path}`, init);
        seen.statuses[answer.status] = (seen.statuses[answer.status] ?? 0) + 1;
        const busy = answer.status === 409 && answer.body?.code === 'idempotency_in_progress';
        const odd = answer.status >= 500 && !AGAIN.has(answer.status);
        if (odd) note(seen, `${method} ${path} at ${urls[index]}: ${JSON.stringify(answer.body)}`);
        if (!busy && !odd && !AGAIN.has(answer.status)) return answer;
        if (!deps.hasTime()) return { status: 0, body: null };
        await sleep(Math.min(MAX_PAUSE_MS, 100 * 2 ** n) * (0.5 + Math.random()));
      }
    },
  };
}

function note(seen: Seen, text: string): void {
  seen.oddCount += 1;
  if (seen.odd.length < KEPT_ODD) seen.odd.push(text);
}
