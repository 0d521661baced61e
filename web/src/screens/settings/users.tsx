import { useSignal } from '@preact/signals';

import type { CreateUserRequest, Erasure, User } from '../../../../client/index.ts';
import { ROLES } from '../../../../contracts/roles.ts';
import { query, setQuery } from '../../app/router.ts';
import { userAddress } from '../../app/routes.ts';
import { client } from '../../data/api.ts';
import { usePages } from '../../data/record-pages.ts';
import { UserLabel } from '../../ui/avatar.tsx';
import { nowMs } from '../../ui/clock.ts';
import { Choice, SearchField, type Option } from '../../ui/filters.tsx';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { HistoryLink } from '../../ui/history-link.tsx';
import { ListState } from '../../ui/list-state.tsx';
import { isNarrow } from '../../ui/narrow.ts';
import page from '../../ui/page.module.css';
import { detailOf } from '../../ui/problem.tsx';
import type { Schema } from '../../ui/schema-form/fields.ts';
import { Table, type Column } from '../../ui/table.tsx';
import { tell } from '../../ui/toasts.tsx';
import { eraseWords } from './erase-words.ts';
import { words as invitationWords } from './invitation-words.ts';
import { InvitationDialog } from './invitation-dialog.tsx';
import { invite, type InvitationLink } from './invite.ts';
import { RowActs } from './row-acts.tsx';
import { ChangeUser, MoreUserActs, passwordField, userFields, USER_STATUSES } from './user-acts.tsx';
import { words } from './words.ts';

const newUser: Schema = {
  type: 'object',
  required: ['username', 'email', 'roles'],
  properties: {
    ...userFields,
    password: { ...passwordField, description: words.noPasswordHelp },
    invite: {
      type: 'boolean',
      title: invitationWords.invite,
      description: invitationWords.inviteHelp,
      default: true,
    },
  },
};

/** Admins create users, give them roles and disable them. */
export function Users() {
  const { q = '', status = '', role = '' } = query.value;
  const list = usePages(['users', q, status, role], (cursor) =>
    client.page('listUsers', {
      query: {
        cursor: cursor ?? undefined,
        q: q === '' ? undefined : q,
        status: USER_STATUSES.find((one) => one === status),
        role: ROLES.find((one) => one === role),
      },
    }),
  );
  const saved = async ({ username }: User) => {
    await list.reload();
    tell(words.userSaved(username));
  };
  const { create, link } = useCreation(() => list.reload());
  const erased = async (before: User, { status }: Erasure) => {
    await list.reload();
    const told = status === 'done' || status === 'incomplete' ? status : 'underWay';
    tell(eraseWords[told](before.username));
  };
  return (
    <>
      <div class={page['actions']}>
        <FormDialog
          id="user"
          button={words.newUser}
          title={words.newUser}
          submit={words.create}
          schema={newUser}
          onSubmit={create}
        />
      </div>
      <Filters q={q} status={status} role={role} />
      <ListState
        list={list}
        filter={[q === '' ? '' : `“${q}”`, status, role].filter((part) => part !== '').join(', ')}
        onClear={() => setQuery({ q: undefined, status: undefined, role: undefined })}
        empty={<p>{words.noUsers}</p>}
      >
        <Table
          label={words.parts.users}
          columns={columns(saved, erased)}
          records={list.items.value}
          keyOf={({ id }: User) => id}
        />
      </ListState>
      <InvitationDialog link={link.value} onClose={() => (link.value = null)} />
    </>
  );
}

/** Creates a user and invites the person; `link` is shown once where no mail can be sent. */
function useCreation(reload: () => Promise<unknown>) {
  const link = useSignal<InvitationLink | null>(null);
  const invited = async (id: string, username: string) => {
    try {
      link.value = await invite(id, username);
    } catch (error) {
      // The account is there: its page invites again.
      tell(invitationWords.notInvited(username, detailOf(error)));
    }
  };
  const create = async (body: Record<string, unknown>) => {
    const { invite, ...fields } = body;
    // The form's schema is that of the request, but for the password, which may be left empty.
    const given = { password: null, ...fields } as CreateUserRequest;
    const { id, username, has_password: has } = await client.call('createUser', { body: given });
    if (has) tell(words.userSaved(username));
    else if (invite === true) await invited(id, username);
    else tell(words.savedWithoutPassword(username));
    await reload();
  };
  return { create, link };
}

function Filters({ q, status, role }: Record<'q' | 'status' | 'role', string>) {
  return (
    <search class={page['filters']}>
      <SearchField label={words.search} value={q} />
      <Choice
        name="status"
        label={words.status}
        value={status}
        options={[['', words.anyStatus], ...USER_STATUSES.map((one): Option => [one, words[one]])]}
      />
      <Choice
        name="role"
        label={words.role}
        value={role}
        options={[['', words.anyRole], ...ROLES.map((one): Option => [one, one])]}
      />
    </search>
  );
}

function columns(
  saved: (user: User) => Promise<void>,
  erased: (before: User, report: Erasure) => Promise<void>,
): Column<User>[] {
  return [
    {
      title: words.username,
      cell: (user) => (
        <>
          <a href={userAddress(user.id)}>
            <UserLabel {...user} />
          </a>
          {isNarrow.value && <div class="muted">{user.roles.join(', ')}</div>}
        </>
      ),
      long: true,
    },
    { title: words.email, cell: ({ email }) => email, minor: true, long: true },
    { title: words.roles, cell: ({ roles }) => roles.join(', '), minor: true },
    { title: words.status, cell: statusOf },
    {
      title: words.acts,
      acts: true,
      cell: (user) => (
        <>
          {user.erased_at === null ? (
            <RowActs
              more={
                <MoreUserActs user={user} saved={saved} erased={(report) => erased(user, report)}>
                  <HistoryLink id={user.id} />
                </MoreUserActs>
              }
            >
              <ChangeUser user={user} saved={saved} />
            </RowActs>
          ) : (
            <HistoryLink id={user.id} />
          )}
        </>
      ),
    },
  ];
}

function statusOf({ status, invited_until: until }: User): string {
  if (until === null) return status;
  return Date.parse(until) > nowMs.value ? invitationWords.isInvited : invitationWords.invitationEnded;
}
