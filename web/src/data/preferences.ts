/**
 * The user's preferences. The server stores them; a copy in this browser is there at once, and while the
 * server is away.
 */
import { computed, effect, signal } from '@preact/signals';

import { ApiError } from '../../../client/index.ts';
import { isRecord } from '../../../contracts/is-record.ts';
import { client } from './api.ts';
import { changed, choicesIn, type Change, type Content } from './choices.ts';
import { onReconnect } from './live.ts';
import { user } from './session.ts';

interface Stored {
  record: Content;
  etag: string | null;
}

const KEY = 'cadenza-preferences-';
/** When others keep changing the preferences at the same time. */
const MAX_TRIES = 5;

const stored = signal<Stored | null>(null);
/** What the user has chosen, as far as this browser knows. */
export const choices = computed(() => choicesIn(stored.value?.record ?? {}));
/** Changes of this tab follow each other. */
let last: Promise<unknown> = Promise.resolve();

/** Tells the other tabs of this browser to read again. */
const tabs = new BroadcastChannel('cadenza-preferences');
tabs.onmessage = () => void refresh();
onReconnect(() => void refresh());

effect(() => {
  const id = user.value?.id;
  // Until it is known who this is, nothing is forgotten.
  if (user.value === undefined) return;
  stored.value = id === undefined ? null : copyOf(id);
  if (id === undefined) forgetCopies();
  else void refresh();
});

/**
 * Changes the preferences on the server. If somebody else has changed them meanwhile, such as another tab,
 * the change is made to what is there now.
 * @throws ApiError if the server refuses, TypeError if it cannot be reached
 */
export function changeChoices(change: Change): Promise<void> {
  const done = last.then(() => send(change));
  last = done.catch(() => undefined);
  return done;
}

async function send(change: Change): Promise<void> {
  const id = user.value?.id;
  for (let attempt = 1; ; attempt += 1) {
    const { record, etag } = stored.value ?? (await client.tagged('getMyPreferences'));
    try {
      const answer = await client.tagged('putMyPreferences', {
        body: { ...changed(record, change) },
        headers: { 'If-Match': etag ?? '*' },
      });
      keep(id, answer);
      tabs.postMessage('changed');
      return;
    } catch (error) {
      const isStale = error instanceof ApiError && error.status === 412;
      if (!isStale || attempt === MAX_TRIES) throw error;
      keep(id, await client.tagged('getMyPreferences'));
    }
  }
}

async function refresh(): Promise<void> {
  // Called by an effect, which is not to follow what it changes.
  const id = user.peek()?.id;
  if (id === undefined) return;
  const known = stored.peek()?.etag;
  try {
    const answer = await client.tagged('getMyPreferences');
    // A change that was sent meanwhile knows better.
    if (stored.peek()?.etag === known) keep(id, answer);
  } catch {
    // The copy serves until the connection is back.
  }
}

/** @param id of the user who asked; somebody else may have logged in meanwhile */
function keep(id: string | undefined, answer: Stored): void {
  if (id === undefined || id !== user.value?.id) return;
  stored.value = answer;
  try {
    localStorage.setItem(KEY + id, JSON.stringify(answer));
  } catch {
    // The storage is full: the server has them.
  }
}

function copyOf(id: string): Stored | null {
  // Only `keep` writes the entry.
  const copy: unknown = JSON.parse(localStorage.getItem(KEY + id) ?? 'null');
  return isRecord(copy) ? (copy as unknown as Stored) : null;
}

/** What a filter searches for is nobody else's business. */
function forgetCopies(): void {
  for (const key of Object.keys(localStorage)) if (key.startsWith(KEY)) localStorage.removeItem(key);
}
