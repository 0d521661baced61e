/** What has access as a user: sessions, access tokens and machine clients. */
import type { ComponentChildren } from 'preact';

import type { User } from '../../../../../client/index.ts';
import { client } from '../../../data/api.ts';
import { usePages, type RecordPages } from '../../../data/record-pages.ts';
import { ListState } from '../../../ui/list-state.tsx';
import page from '../../../ui/page.module.css';
import { Table, type Column } from '../../../ui/table.tsx';
import { tell } from '../../../ui/toasts.tsx';
import { clientColumns } from '../clients.tsx';
import { Removal } from '../removal.tsx';
import { sessionColumns } from '../sessions.tsx';
import { tokenColumns } from '../tokens.tsx';
import { words } from './user-words.ts';

interface Props {
  user: User;
}

export function UserSessions({ user: { id, username } }: Props) {
  const list = usePages(['user-sessions', id], (cursor) =>
    client.page('listUserSessions', { path: { id }, query: { cursor: cursor ?? undefined } }),
  );
  const end = async (sessionId: string) => {
    await client.call('deleteUserSession', { path: { id, session_id: sessionId } });
    await list.reload();
  };
  const endAll = async () => {
    await client.call('deleteUserSessions', { path: { id } });
    await list.reload();
    tell(words.endAllDone(username));
  };
  return (
    <Records title={words.sessions} none={words.noSessions} list={list} columns={sessionColumns(end)}>
      <p class="muted">{words.sessionsHelp}</p>
      {list.items.value.length > 0 && (
        <div class={page['actions']}>
          <Removal
            title={words.endAllTitle(username)}
            text={words.endAllText}
            act={words.endAll}
            onAct={endAll}
          />
        </div>
      )}
    </Records>
  );
}

export function UserTokens({ user: { id } }: Props) {
  const list = usePages(['user-tokens', id], (cursor) =>
    client.page('listUserTokens', { path: { id }, query: { cursor: cursor ?? undefined } }),
  );
  const remove = async (tokenId: string) => {
    await client.call('deleteUserToken', { path: { id, token_id: tokenId } });
    await list.reload();
  };
  return <Records title={words.tokens} none={words.noTokens} list={list} columns={tokenColumns(remove)} />;
}

export function UserClients({ user: { id } }: Props) {
  const list = usePages(['user-clients', id], (cursor) =>
    client.page('listUserClients', { path: { id }, query: { cursor: cursor ?? undefined } }),
  );
  const remove = async (clientId: string) => {
    await client.call('deleteUserClient', { path: { id, client_id: clientId } });
    await list.reload();
  };
  return <Records title={words.clients} none={words.noClients} list={list} columns={clientColumns(remove)} />;
}

interface RecordsProps<T> {
  title: string;
  /** What stands there instead of an empty table. */
  none: string;
  list: RecordPages<T>;
  columns: readonly Column<T>[];
  /** Above the table. */
  children?: ComponentChildren;
}

export function Records<T extends { id: string }>({ title, none, list, columns, children }: RecordsProps<T>) {
  return (
    <section class={page['part']}>
      <h2>{title}</h2>
      {children}
      <ListState list={list} empty={<p>{none}</p>}>
        <Table label={title} columns={columns} records={list.items.value} keyOf={({ id }: T) => id} />
      </ListState>
    </section>
  );
}
