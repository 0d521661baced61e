/** The invitation of an account without a password: whether it is open, again, and back. */
import { useSignal } from '@preact/signals';

import type { User } from '../../../../../client/index.ts';
import { client } from '../../../data/api.ts';
import { nowMs } from '../../../ui/clock.ts';
import page from '../../../ui/page.module.css';
import { tell } from '../../../ui/toasts.tsx';
import { When } from '../../../ui/when.tsx';
import { InvitationDialog } from '../invitation-dialog.tsx';
import { invite, type InvitationLink } from '../invite.ts';
import { Removal } from '../removal.tsx';
import { words } from './user-words.ts';

export function isInvitable({ has_password: has, issuer_id: issuer, status }: User): boolean {
  return !has && issuer === null && status === 'active';
}

interface Props {
  user: User;
  reload: () => Promise<void>;
}

export function InvitationPart({ user: { id, username, invited_until: until }, reload }: Props) {
  const link = useSignal<InvitationLink | null>(null);
  const send = async () => {
    link.value = await invite(id, username);
    await reload();
  };
  const withdraw = async () => {
    await client.call('withdrawInvitation', { path: { id } });
    await reload();
    tell(words.withdrawn(username));
  };
  return (
    <section class={page['part']}>
      <h2>{words.invitation}</h2>
      <p>
        {until === null
          ? words.notInvited
          : Date.parse(until) > nowMs.value
            ? words.invited
            : words.invitationOver}{' '}
        {until !== null && <When at={until} />}
      </p>
      <div class={page['actions']}>
        {until === null ? (
          <Removal
            title={words.inviteTitle(username)}
            text={words.inviteText}
            act={words.invite}
            onAct={send}
          />
        ) : (
          <>
            <Removal
              title={words.inviteAgainTitle(username)}
              text={words.inviteAgainText}
              act={words.inviteAgain}
              onAct={send}
            />
            <Removal
              title={words.withdrawTitle(username)}
              text={words.withdrawText}
              act={words.withdraw}
              onAct={withdraw}
            />
          </>
        )}
      </div>
      <InvitationDialog link={link.value} onClose={() => (link.value = null)} />
    </section>
  );
}
