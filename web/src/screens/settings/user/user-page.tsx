/** An account, as admins see it, and what they do with it. */
import { useSignal } from '@preact/signals';

import type { User } from '../../../../../client/index.ts';
import { settingsAddress } from '../../../app/routes.ts';
import { client } from '../../../data/api.ts';
import { useQuery } from '../../../data/query.ts';
import page from '../../../ui/page.module.css';
import { ProblemText } from '../../../ui/problem.tsx';
import { RecordSkeleton } from '../../../ui/record-skeleton.tsx';
import { useTitle } from '../../../ui/title.ts';
import { tell } from '../../../ui/toasts.tsx';
import { When } from '../../../ui/when.tsx';
import { Removal } from '../removal.tsx';
import css from '../settings.module.css';
import { ChangeUser, MoreUserActs } from '../user-acts.tsx';
import { words as settingsWords } from '../words.ts';
import { HandOver } from './hand-over.tsx';
import { InvitationPart, isInvitable } from './user-invitation.tsx';
import { UserClients, UserSessions, UserTokens } from './user-access.tsx';
import { UserErasure } from './user-erasure.tsx';
import { UserIdentities } from './user-identities.tsx';
import { words } from './user-words.ts';

export function UserPage({ id }: { id: string }) {
  const {
    data: user,
    error,
    refetch,
  } = useQuery<User>({
    queryKey: ['user', id],
    queryFn: () => client.call('getUser', { path: { id } }),
    staleTime: 0,
  });
  useTitle(`${user?.username ?? settingsWords.parts.users} · ${settingsWords.title}`);
  return (
    <>
      <a class={page['back']} href={settingsAddress('users')}>
        ‹ {words.all}
      </a>
      {user !== undefined && <Loaded user={user} reload={async () => void (await refetch())} />}
      {user === undefined && error === null && <RecordSkeleton title={settingsWords.parts.users} />}
      {user === undefined && error !== null && (
        <>
          <h1>{settingsWords.parts.users}</h1>
          <ProblemText error={error} retry={() => void refetch()} />
        </>
      )}
    </>
  );
}

interface Props {
  user: User;
  reload: () => Promise<void>;
}

function Loaded({ user, reload }: Props) {
  const { username } = user;
  // What changes the account may end sessions, tokens and clients.
  const changes = useSignal(0);
  const changed = async (text: string) => {
    await reload();
    changes.value += 1;
    tell(text);
  };
  const saved = (now: User) => changed(settingsWords.userSaved(now.username));
  return (
    <>
      <h1>{username}</h1>
      <Facts user={user} />
      {user.erased_at === null ? (
        <>
          <div class={page['actions']}>
            <ChangeUser user={user} saved={saved} />
            <MoreUserActs user={user} saved={saved} erased={reload}>
              {user.has_password && <PasswordOff user={user} changed={changed} />}
            </MoreUserActs>
          </div>
          {isInvitable(user) && <InvitationPart user={user} reload={reload} />}
          <HandOver user={user} />
          <SecondFactor user={user} changed={changed} />
          <UserIdentities key={`identities-${changes.value}`} user={user} />
          <UserSessions key={`sessions-${changes.value}`} user={user} />
          <UserTokens key={`tokens-${changes.value}`} user={user} />
          <UserClients key={`clients-${changes.value}`} user={user} />
        </>
      ) : (
        <UserErasure user={user} />
      )}
    </>
  );
}

function Facts({ user }: { user: User }) {
  const isErased = user.erased_at !== null;
  const account = [
    [settingsWords.displayName, user.display_name ?? settingsWords.none],
    [settingsWords.email, user.email],
    [settingsWords.roles, user.roles.join(', ')],
    [settingsWords.groups, user.groups.join(', ') || settingsWords.none],
    [words.password, user.has_password ? words.hasPassword : words.noPassword],
    ...(user.issuer_id === null ? [] : ([[words.madeBy, words.byIssuer]] as const)),
  ] as const;
  const facts = [[words.status, settingsWords[user.status]] as const, ...(isErased ? [] : account)];
  return (
    <dl class={css['facts']}>
      {facts.map(([name, value]) => (
        <>
          <dt key={name}>{name}</dt>
          <dd>{value}</dd>
        </>
      ))}
      <dt>{words.created}</dt>
      <dd>
        <When at={user.created_at} />
      </dd>
      {user.erased_at !== null && (
        <>
          <dt>{words.erased}</dt>
          <dd>
            <When at={user.erased_at} />
          </dd>
        </>
      )}
    </dl>
  );
}

interface ChangeProps {
  user: User;
  /** @param text tells what has happened */
  changed: (text: string) => Promise<void>;
}

function PasswordOff({ user: { id, username }, changed }: ChangeProps) {
  return (
    <Removal
      title={words.passwordOffTitle(username)}
      text={words.passwordOffText}
      act={words.passwordOff}
      onAct={async () => {
        await client.call('updateUser', { path: { id }, body: { password: null } });
        await changed(words.passwordOffDone(username));
      }}
    />
  );
}

function SecondFactor({ user: { id, username, second_factor: has }, changed }: ChangeProps) {
  return (
    <section class={page['part']}>
      <h2>{words.secondFactor}</h2>
      <p>{has ? words.hasFactor : words.noFactor}</p>
      {has && (
        <div class={page['actions']}>
          <Removal
            title={words.resetFactorTitle(username)}
            text={words.resetFactorText}
            act={words.resetFactor}
            onAct={async () => {
              await client.call('resetUserSecondFactor', { path: { id } });
              await changed(words.resetFactorDone(username));
            }}
          />
        </div>
      )}
    </section>
  );
}
