/** The tokens with which an issuer provisions users and groups. */
import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';

import type { IdentityIssuer, ScimToken } from '../../../../client/index.ts';
import { client } from '../../data/api.ts';
import { fieldText } from '../../ui/field-text.ts';
import { detailOf } from '../../ui/problem.tsx';
import { Table, type Column } from '../../ui/table.tsx';
import { complain } from '../../ui/toasts.tsx';
import { When } from '../../ui/when.tsx';
import { words } from './issuer-words.ts';
import { Removal } from './removal.tsx';
import { ShownOnce } from './shown-once.tsx';

export function ScimTokens({ issuer }: { issuer: IdentityIssuer }) {
  const opened = useSignal(false);
  return (
    <>
      <button type="button" onClick={() => (opened.value = true)}>
        {words.scim}
      </button>
      {opened.value && <Tokens issuer={issuer} onClose={() => (opened.value = false)} />}
    </>
  );
}

function Tokens({ issuer, onClose }: { issuer: IdentityIssuer; onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const tokens = useSignal<readonly ScimToken[]>([]);
  const made = useSignal<Record<string, string> | null>(null);
  const path = { id: issuer.id };
  const load = async () => {
    tokens.value = await client.call('listScimTokens', { path });
  };
  useEffect(() => {
    dialog.current?.showModal();
    load().catch((error: unknown) => complain(detailOf(error)));
  }, []);
  const create = async (event: Event & { currentTarget: HTMLFormElement }) => {
    event.preventDefault();
    const form = event.currentTarget;
    try {
      const { token } = await client.call('createScimToken', {
        path,
        body: { name: fieldText(form, 'name') },
      });
      made.value = { [words.token]: token };
      form.reset();
      await load();
    } catch (error) {
      complain(detailOf(error));
    }
  };
  const remove = async (id: string) => {
    await client.call('deleteScimToken', { path: { ...path, token_id: id } });
    await load();
  };
  return (
    <dialog ref={dialog} aria-labelledby="scim-title" onClose={onClose}>
      <h2 id="scim-title">{words.scimTitle(issuer.title)}</h2>
      <p class="muted">{words.scimHelp(`${location.origin}/scim/v2`)}</p>
      {tokens.value.length === 0 ? (
        <p>{words.noTokens}</p>
      ) : (
        <Table
          label={words.scimTitle(issuer.title)}
          columns={columns(remove)}
          records={tokens.value}
          keyOf={({ id }: ScimToken) => id}
        />
      )}
      <form onSubmit={(event) => void create(event)}>
        <label>
          {words.tokenName}
          <input name="name" required maxLength={100} />
        </label>
        <button type="submit">{words.newToken}</button>
      </form>
      <button type="button" onClick={() => dialog.current?.close()}>
        {words.close}
      </button>
      <ShownOnce values={made.value} onClose={() => (made.value = null)} />
    </dialog>
  );
}

function columns(remove: (id: string) => Promise<void>): Column<ScimToken>[] {
  return [
    { title: words.name, cell: ({ name }) => name },
    { title: words.used, cell: ({ last_used_at: at }) => (at === null ? words.never : <When at={at} />) },
    { title: words.ends, cell: ({ expires_at: at }) => <When at={at} /> },
    {
      title: words.acts,
      end: true,
      cell: ({ id, name }) => (
        <Removal title={words.deleteToken(name)} text={words.deleteTokenText} onAct={() => remove(id)} />
      ),
    },
  ];
}
