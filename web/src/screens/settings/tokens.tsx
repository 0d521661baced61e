/** Personal access tokens of one's own. */
import { useSignal } from '@preact/signals';

import type { AccessToken } from '../../../../client/index.ts';
import { client } from '../../data/api.ts';
import { usePages } from '../../data/record-pages.ts';
import { ListState } from '../../ui/list-state.tsx';
import page from '../../ui/page.module.css';
import { Table, type Column } from '../../ui/table.tsx';
import { When } from '../../ui/when.tsx';
import { AccessDialog } from './access-dialog.tsx';
import { words } from './access-words.ts';
import { Ends } from './ends.tsx';
import { Removal } from './removal.tsx';
import { ShownOnce } from './shown-once.tsx';
import { Waits, WaitsHelp } from './waits.tsx';
import { words as settingsWords } from './words.ts';

const schema = {
  required: ['name', 'expires_at'],
  properties: {
    name: { type: 'string', title: words.name, maxLength: 100 },
    expires_at: { type: 'string', format: 'date-time', title: words.expiry },
  },
};

export function Tokens() {
  const secret = useSignal<Record<string, string> | null>(null);
  const list = usePages(['tokens'], (cursor) =>
    client.page('listMyTokens', { query: { cursor: cursor ?? undefined } }),
  );
  const create = async (body: Record<string, unknown>, { scopes = [] }: { scopes?: string[] }) => {
    const made = await client.call('createMyToken', {
      body: {
        name: String(body['name']),
        scopes,
        expires_at: String(body['expires_at']),
      },
    });
    secret.value = { [words.token]: made.token };
    await list.reload();
  };
  const remove = async (id: string) => {
    await client.call('deleteMyToken', { path: { id } });
    await list.reload();
  };
  return (
    <>
      <p class="muted">{words.tokensHelp}</p>
      <div class={page['actions']}>
        <AccessDialog
          id="token"
          button={words.newToken}
          submit={settingsWords.create}
          schema={schema}
          onSubmit={create}
        />
      </div>
      <WaitsHelp records={list.items.value} />
      <ListState list={list} empty={<p>{words.noTokens}</p>}>
        <Table
          label={settingsWords.parts.tokens}
          columns={tokenColumns(remove)}
          records={list.items.value}
          keyOf={({ id }: AccessToken) => id}
        />
      </ListState>
      <ShownOnce values={secret.value} onClose={() => (secret.value = null)} />
    </>
  );
}

/** @param remove deletes the token with the id */
export const tokenColumns = (remove: (id: string) => Promise<void>): Column<AccessToken>[] => [
  {
    title: words.name,
    cell: (token) => (
      <>
        {token.name}
        <Waits one={token} />
      </>
    ),
  },
  { title: words.ending, cell: ({ hint }) => <code>{words.tokenEnding(hint)}</code>, minor: true },
  { title: words.scopes, cell: ({ scopes }) => scopes.join(' '), text: true },
  {
    title: words.used,
    cell: ({ last_used_at: at }) => (at === null ? words.never : <When at={at} />),
    minor: true,
  },
  { title: words.expires, cell: ({ expires_at: at }) => <Ends at={at} />, minor: true },
  {
    title: words.acts,
    acts: true,
    cell: ({ id, name }) => (
      <Removal title={words.deleteToken(name)} text={words.deleteTokenText} onAct={() => remove(id)} />
    ),
  },
];
