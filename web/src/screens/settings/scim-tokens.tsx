/** The tokens with which an issuer provisions users and groups. */
import { useSignal } from '@preact/signals';

import type { IdentityIssuer, ScimToken } from '../../../../client/index.ts';
import { client } from '../../data/api.ts';
import { fieldText } from '../../ui/field-text.ts';
import { detailOf } from '../../ui/problem.tsx';
import type { Column } from '../../ui/table.tsx';
import { complain } from '../../ui/toasts.tsx';
import { When } from '../../ui/when.tsx';
import { Ends } from './ends.tsx';
import { words } from './issuer-words.ts';
import { RecordsDialog } from './records-dialog.tsx';
import { Removal } from './removal.tsx';
import { ShownOnce } from './shown-once.tsx';

export function ScimTokens({ issuer }: { issuer: IdentityIssuer }) {
  const made = useSignal<Record<string, string> | null>(null);
  const path = { id: issuer.id };
  const create = async (form: HTMLFormElement, reload: () => Promise<void>) => {
    try {
      const { token } = await client.call('createScimToken', {
        path,
        body: { name: fieldText(form, 'name') },
      });
      made.value = { [words.token]: token };
      form.reset();
      await reload();
    } catch (error) {
      complain(detailOf(error));
    }
  };
  const remove = (id: string) => client.call('deleteScimToken', { path: { ...path, token_id: id } });
  return (
    <RecordsDialog<ScimToken>
      id="scim"
      button={words.scim}
      title={words.scimTitle(issuer.title)}
      help={words.scimHelp(`${location.origin}/scim/v2`)}
      none={words.noTokens}
      list={() => client.call('listScimTokens', { path })}
      columns={(reload) => columns((id) => remove(id).then(reload))}
    >
      {(reload) => (
        <>
          <form
            onSubmit={(event) => {
              event.preventDefault();
              void create(event.currentTarget, reload);
            }}
          >
            <label>
              {words.tokenName}
              <input name="name" required maxLength={100} />
            </label>
            <button type="submit">{words.newToken}</button>
          </form>
          <ShownOnce values={made.value} onClose={() => (made.value = null)} />
        </>
      )}
    </RecordsDialog>
  );
}

function columns(remove: (id: string) => Promise<void>): Column<ScimToken>[] {
  return [
    { title: words.name, cell: ({ name }) => name },
    { title: words.used, cell: ({ last_used_at: at }) => (at === null ? words.never : <When at={at} />) },
    { title: words.ends, cell: ({ expires_at: at }) => <Ends at={at} /> },
    {
      title: words.acts,
      acts: true,
      cell: ({ id, name }) => (
        <Removal title={words.deleteToken(name)} text={words.deleteTokenText} onAct={() => remove(id)} />
      ),
    },
  ];
}
