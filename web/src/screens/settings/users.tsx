import type { CreateUserRequest, Erasure, User } from '../../../../client/index.ts';
import { ROLES } from '../../../../contracts/roles.ts';
import { query, setQuery } from '../../app/router.ts';
import { userAddress } from '../../app/routes.ts';
import { client } from '../../data/api.ts';
import { usePages } from '../../data/record-pages.ts';
import { UserLabel } from '../../ui/avatar.tsx';
import { Choice, SearchField, type Option } from '../../ui/filters.tsx';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { HistoryLink } from '../../ui/history-link.tsx';
import { ListState } from '../../ui/list-state.tsx';
import page from '../../ui/page.module.css';
import type { Schema } from '../../ui/schema-form/fields.ts';
import { Table, type Column } from '../../ui/table.tsx';
import { tell } from '../../ui/toasts.tsx';
import { eraseWords } from './erase-words.ts';
import { passwordField, UserActs, userFields, USER_STATUSES } from './user-acts.tsx';
import { words } from './words.ts';

const newUser: Schema = {
  type: 'object',
  required: ['username', 'email', 'roles'],
  properties: { ...userFields, password: { ...passwordField, description: words.noPasswordHelp } },
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
  const create = async (body: Record<string, unknown>) => {
    // The form's schema is that of the request, but for the password, which may be left empty.
    const given = { password: null, ...body } as CreateUserRequest;
    const { username, has_password: has } = await client.call('createUser', { body: given });
    await list.reload();
    tell(has ? words.userSaved(username) : words.savedWithoutPassword(username));
  };
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
    </>
  );
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
        <a href={userAddress(user.id)}>
          <UserLabel {...user} />
        </a>
      ),
      long: true,
    },
    { title: words.email, cell: ({ email }) => email, minor: true, long: true },
    { title: words.roles, cell: ({ roles }) => roles.join(', '), minor: true },
    { title: words.status, cell: ({ status }) => status },
    {
      title: words.acts,
      acts: true,
      cell: (user) => (
        <>
          {user.erased_at === null && (
            <UserActs user={user} saved={saved} erased={(report) => erased(user, report)} />
          )}{' '}
          <HistoryLink id={user.id} />
        </>
      ),
    },
  ];
}
