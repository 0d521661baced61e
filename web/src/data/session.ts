/** Who is logged in. The session itself is in a cookie that scripts cannot read. */
import { signal } from '@preact/signals';

import type { OperationId, User } from '../../../client/index.ts';
import { client, sessionOver } from './api.ts';
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

/** Tells the other tabs of this browser who is logged in. */
const tabs = new BroadcastChannel('cadenza-session');
tabs.onmessage = async () => {
  await readSession();
  if (user.value === null) forgetTexts();
};

export async function readSession(): Promise<void> {
  const found = (await client.call('getSession')) ?? null;
  if (found?.id !== user.value?.id) cache.clear();
  user.value = found;
  if (found !== null) outbox.open(found.id);
}

/** @throws ApiError if the password is wrong, or there were too many attempts */
export async function logIn(username: string, password: string): Promise<void> {
  const found = await client.call('createSession', { body: { username, password } });
  if (found.id !== user.value?.id) cache.clear();
  user.value = found;
  sessionOver.value = false;
  outbox.open(found.id);
  void cache.invalidateQueries();
  tabs.postMessage('changed');
}

export async function logOut(): Promise<void> {
  await client.call('deleteSession');
  outbox.clear();
  forgetTexts();
  cache.clear();
  sessionOver.value = false;
  user.value = null;
  tabs.postMessage('changed');
}
