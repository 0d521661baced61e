/** Invites the person of an account to choose a password. */
import { client } from '../../data/api.ts';
import { tell } from '../../ui/toasts.tsx';
import { words } from './invitation-words.ts';

/** @returns the link for `ShownOnce`, where no mail can be sent; else null */
export async function invite(id: string, username: string): Promise<Record<string, string> | null> {
  const { mailed_to: address, link } = await client.call('sendInvitation', { path: { id }, body: {} });
  if (address !== null) tell(words.invited(username, address));
  return link === null ? null : { [words.invitationLink(username)]: link };
}
