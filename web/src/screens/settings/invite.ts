/** Invites the person of an account to choose a password. */
import { client } from '../../data/api.ts';
import { exactTime } from '../../ui/time.ts';
import { tell } from '../../ui/toasts.tsx';
import { words } from './invitation-words.ts';

/** What `ShownOnce` shows of a link that an admin hands over. */
export interface InvitationLink {
  title: string;
  values: Record<string, string>;
}

/** @returns the link, where no mail can be sent; else null */
export async function invite(id: string, username: string): Promise<InvitationLink | null> {
  const {
    mailed_to: address,
    link,
    expires_at: ends,
  } = await client.call('sendInvitation', { path: { id }, body: {} });
  if (address !== null) tell(words.invited(username, address));
  if (link === null) return null;
  return {
    title: words.handOver(username, exactTime(ends)),
    values: { [words.invitationLink(username)]: link },
  };
}
