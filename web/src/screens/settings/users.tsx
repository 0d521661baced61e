import type { CreateUserRequest, Erasure, User } from '../../../../client/index.ts';
import { ROLES } from '../../../../contracts/roles.ts';
import { query, setQuery } from '../../app/router.ts';
import { client } from '../../data/api.ts';
import { usePages } from '../../data/record-pages.ts';
import { budgetForm, budgetOf } from '../../ui/budget/budget.tsx';
import { patchOf } from '../../ui/form-sections.ts';
import { Choice, SearchField, type Option } from '../../ui/filters.tsx';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { HistoryLink } from '../../ui/history-link.tsx';
import { ListState } from '../../ui/list-state.tsx';
import page from '../../ui/page.module.css';
import type { Schema } from '../../ui/schema-form/fields.ts';
import { Table, type Column } from '../../ui/table.tsx';
import { tell } from '../../ui/toasts.tsx';
import { QuotaForm } from './quota-form.tsx';
import { EraseUser } from './erase-user.tsx';
import { eraseWords } from './erase-words.ts';
import { words } from './words.ts';

const STATUSES = ['active', 'disabled'] as const;
const text = (title: string): Schema => ({ type: 'string', title });
const shared = {
  username: text(words.username),
  email: { ...text(words.email), format: 'email' },
  display_name: text(words.displayName),
  roles: { type: 'array', items: { enum: ROLES }, title: words.roles, default: ['viewer'] },
  groups: {
    type: 'array',
    items: { type: 'string' },
    title: words.groups,
    description: words.groupsHelp,
  },
};
const password = { ...text(words.newPassword), format: 'password' };
const newUser: Schema = {
  type: 'object',
  required: ['username', 'email', 'roles', 'password'],
  properties: { ...shared, password },
};
const changedUser: Schema = {
  type: 'object',
  required: ['username', 'email', 'roles', 'status'],
  properties: {
    ...shared,
    status: { enum: STATUSES, title: words.status },
    password: { ...password, title: words.passwordReset, description: words.passwordResetHelp },
  },
};

/** Admins create users, give them roles and disable them. */
export function Users() {
  const { q = '', status = '' } = query.value;
  const list = usePages(['users', q, status], (cursor) =>
    client.page('listUsers', {
      query: {
        cursor: cursor ?? undefined,
        q: q === '' ? undefined : q,
        status: STATUSES.find((one) => one === status),
      },
    }),
  );
  const saved = async ({ username }: User) => {
    await list.reload();
    tell(words.userSaved(username));
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
          onSubmit={async (body) => {
            // The form's schema is that of the request.
            await saved(await client.call('createUser', { body: body as CreateUserRequest }));
          }}
        />
      </div>
      <search class={page['filters']}>
        <SearchField label={words.search} value={q} />
        <Choice
          name="status"
          label={words.status}
          value={status}
          options={[['', words.anyStatus], ...STATUSES.map((one): Option => [one, words[one]])]}
        />
      </search>
      <ListState
        list={list}
        filter={[q === '' ? '' : `“${q}”`, status].filter((part) => part !== '').join(', ')}
        onClear={() => setQuery({ q: undefined, status: undefined })}
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

function columns(saved: ActsProps['saved'], erased: ActsProps['erased']): Column<User>[] {
  return [
    {
      title: words.username,
      cell: ({ username, display_name: name }) => (name === null ? username : `${username} (${name})`),
    },
    { title: words.email, cell: ({ email }) => email, minor: true, long: true },
    { title: words.roles, cell: ({ roles }) => roles.join(', '), minor: true },
    { title: words.status, cell: ({ status }) => status },
    {
      title: words.acts,
      acts: true,
      cell: (user) => (
        <>
          {user.erased_at === null && <Acts user={user} saved={saved} erased={erased} />}{' '}
          <HistoryLink id={user.id} />
        </>
      ),
    },
  ];
}

interface ActsProps {
  user: User;
  saved: (user: User) => Promise<void>;
  erased: (before: User, report: Erasure) => Promise<void>;
}

function Acts({ user, saved, erased }: ActsProps) {
  return (
    <>
      <FormDialog
        id={`user-${user.id}`}
        button={words.edit}
        title={words.editUser(user.username)}
        submit={words.save}
        schema={changedUser}
        values={{ ...user }}
        onSubmit={async (body) => {
          const patch = patchOf(body, { ...user });
          await saved(await client.call('updateUser', { path: { id: user.id }, body: patch }));
        }}
      />{' '}
      <FormDialog
        id={`budget-${user.id}`}
        button={words.budget}
        title={words.budgetOf(user.username)}
        submit={words.save}
        schema={budgetForm}
        values={{ ...user.budget }}
        onSubmit={async (body) => {
          const path = { id: user.id };
          await saved(await client.call('updateUser', { path, body: { budget: budgetOf(body) } }));
        }}
      />{' '}
      <QuotaForm
        id={user.id}
        of="user"
        name={user.username}
        quotas={user.quotas}
        save={async (quotas) => {
          await saved(await client.call('updateUser', { path: { id: user.id }, body: { quotas } }));
        }}
      />{' '}
      <a href={`/users/${encodeURIComponent(user.id)}/personal-data`} download>
        {eraseWords.personalData}
      </a>{' '}
      <EraseUser user={user} onErased={(report) => erased(user, report)} />
    </>
  );
}
