/** Who is logged in. The session itself is in a cookie that scripts cannot read. */
import { effect, signal, untracked } from '@preact/signals';

import type { CreateSessionRequest, OperationId, User } from '../../../client/index.ts';
import { client, logInAgain, resumeReads, sendAs, stopReads, USER_HEADER, whenAnotherUser } from './api.ts';
import { cache } from './query.ts';
import { forgetTexts } from './kept-texts.ts';
import { outbox } from './outbox.ts';
import { isAllowed } from './rights.ts';

/** `undefined` until the server has answered, `null` if nobody is logged in. */
export const user = signal<User | null | undefined>(undefined);

/** Whether the user's role suffices. What it allows with a single record is in the record's `can`. */
export function mayCall(id: OperationId): boolean {
  return isAllowed(id, user.value?.roles ?? []);
}

/** Whether lists show the user what all people have, as they do to administrators. */
export function seesAll(): boolean {
  return user.value?.roles.includes('admin') === true;
}

effect(() => {
  sendAs(user.value?.id ?? null);
  if (user.value === null) stopReads();
  else resumeReads();
});

/** Tells the other tabs of this browser who is logged in. */
const tabs = new BroadcastChannel('cadenza-session');
// A request that is refused says so too.
const readAgain = () => void readSession().catch(() => undefined);
tabs.onmessage = readAgain;
whenAnotherUser(readAgain);

/** Finds out who is logged in here now. */
export async function readSession(): Promise<void> {
  const found = (await client.call('getSession', { headers: { [USER_HEADER]: '' } })) ?? null;
  user.value = found;
  if (found === null) return;
  logInAgain.value = null;
  outbox.open(found.id);
}

/** Calls `forget` when somebody else is logged in here, or nobody any more. */
export function whenUserLeaves(forget: () => void): void {
  let last: string | undefined;
  effect(() => {
    const id = user.value?.id;
    if (last !== undefined && id !== last) untracked(forget);
    last = id;
  });
}

// Whoever comes next in this tab sees and sends nothing of who was here.
whenUserLeaves(() => {
  outbox.clear();
  forgetTexts();
  cache.clear();
});

/** Leaves a session that the server has ended. */
export function leave(): void {
  logInAgain.value = null;
  user.value = null;
}

/** @throws ApiError if the password is wrong, there were too many attempts, or a second factor is needed */
export async function logIn(body: CreateSessionRequest): Promise<void> {
  const found = await client.call('createSession', { body, headers: { [USER_HEADER]: '' } });
  user.value = found;
  logInAgain.value = null;
  outbox.open(found.id);
  void cache.invalidateQueries();
  tabs.postMessage('changed');
}

export async function logOut(): Promise<void> {
  await outbox.sendHeld();
  stopReads();
  let elsewhere: string | undefined;
  try {
    elsewhere = (await client.call('deleteSession'))?.log_out_url;
  } catch (error) {
    resumeReads();
    throw error;
  }
  leave();
  tabs.postMessage('changed');
  // The session at the external issuer ends too.
  if (elsewhere !== undefined) location.assign(elsewhere);
}
