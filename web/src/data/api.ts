/** The API as the console sees it: requests carry the session cookie. */
import { signal } from '@preact/signals';

import { createClient } from '../../../client/index.ts';
import { isRecord } from '../../../contracts/is-record.ts';

/**
 * Why the user has to log in again: the server has refused a request because the session is over, or because
 * what was asked needs a log-in of the last minutes.
 */
export const logInAgain = signal<'over' | 'too_old' | null>(null);

/** Names the user for whom the page is drawn. Empty for a request that is not about a certain one. */
export const USER_HEADER = 'cadenza-user';

let drawnFor: string | null = null;
let onAnotherUser: () => void = () => undefined;

/** From now on the server refuses requests if the session of this browser is of another user. */
export function sendAs(userId: string | null): void {
  drawnFor = userId;
}

/** @param act called when the server has refused a request because another tab has logged in somebody else */
export function whenAnotherUser(act: () => void): void {
  onAnotherUser = act;
}

let reads = new AbortController();

/**
 * Ends reads that are under way, and those that follow until `resumeReads`: the server would refuse them once
 * the session is over. Only the session itself can be read.
 */
export function stopReads(): void {
  reads.abort();
}

export function resumeReads(): void {
  if (reads.signal.aborted) reads = new AbortController();
}

/** A request that outlives its page may have 64 KiB, in bytes. */
const MAX_KEPT_CHARACTERS = 20_000;

export const client = createClient({
  fetch: async (url, init = {}) => {
    const headers = new Headers(init.headers);
    if (drawnFor !== null && !headers.has(USER_HEADER)) headers.set(USER_HEADER, drawnFor);
    const isShort = typeof init.body === 'string' && init.body.length < MAX_KEPT_CHARACTERS;
    // A page that nobody sees may be gone before the server has answered.
    const keepalive = document.hidden && isShort;
    const response = await fetch(url, { ...init, headers, keepalive, signal: signalOf(init, headers) });
    if (response.status === 401) {
      const code = await codeOf(response);
      if (code === 'another_user') onAnotherUser();
      // A wrong password says nothing about the session.
      else if (headers.get(USER_HEADER) !== '')
        logInAgain.value = code === 'login_too_old' ? 'too_old' : 'over';
    }
    return response;
  },
});

function signalOf({ method = 'GET', signal }: RequestInit, headers: Headers): AbortSignal | null {
  if (method !== 'GET' || headers.get(USER_HEADER) === '') return signal ?? null;
  return signal ? AbortSignal.any([signal, reads.signal]) : reads.signal;
}

async function codeOf(response: Response): Promise<unknown> {
  // Whoever sent the request reads the body too.
  const problem: unknown = await response
    .clone()
    .json()
    .catch(() => null);
  return isRecord(problem) ? problem['code'] : undefined;
}
