/** What admins do with an account, from the list and from its page. */
import type { ComponentChildren } from 'preact';

import type { Erasure, User } from '../../../../client/index.ts';
import { ROLES } from '../../../../contracts/roles.ts';
import { client } from '../../data/api.ts';
import { budgetForm, budgetOf } from '../../ui/budget/budget.tsx';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { patchOf } from '../../ui/form-sections.ts';
import type { Schema } from '../../ui/schema-form/fields.ts';
import { EraseUser } from './erase-user.tsx';
import { eraseWords } from './erase-words.ts';
import { QuotaForm } from './quota-form.tsx';
import { words } from './words.ts';

export const USER_STATUSES = ['active', 'disabled'] as const;

const text = (title: string): Schema => ({ type: 'string', title });
/** Of the forms of new and of changed users. */
export const userFields = {
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
export const passwordField: Schema = { ...text(words.newPassword), format: 'password' };
const changedUser: Schema = {
  type: 'object',
  required: ['username', 'email', 'roles', 'status'],
  properties: {
    ...userFields,
    status: { enum: USER_STATUSES, title: words.status },
    password: { ...passwordField, title: words.passwordReset, description: words.passwordResetHelp },
  },
};

interface Props {
  user: User;
  saved: (user: User) => Promise<void>;
  erased: (report: Erasure) => Promise<void>;
}

/** What is done most; the rest is `MoreUserActs`. */
export function ChangeUser({ user, saved }: Pick<Props, 'user' | 'saved'>) {
  return (
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
    />
  );
}

/** @param children links beside them, before what cannot be undone */
export function MoreUserActs({ user, saved, erased, children }: Props & { children?: ComponentChildren }) {
  const path = { id: user.id };
  return (
    <>
      <FormDialog
        id={`budget-${user.id}`}
        button={words.budget}
        title={words.budgetOf(user.username)}
        submit={words.save}
        schema={budgetForm}
        values={{ ...user.budget }}
        onSubmit={async (body) => {
          await saved(await client.call('updateUser', { path, body: { budget: budgetOf(body) } }));
        }}
      />{' '}
      <QuotaForm
        id={user.id}
        of="user"
        name={user.username}
        quotas={user.quotas}
        save={async (quotas) => {
          await saved(await client.call('updateUser', { path, body: { quotas } }));
        }}
      />{' '}
      <a href={`/users/${encodeURIComponent(user.id)}/personal-data`} download>
        {eraseWords.personalData}
      </a>{' '}
      {children} <EraseUser user={user} onErased={erased} />
    </>
  );
}
