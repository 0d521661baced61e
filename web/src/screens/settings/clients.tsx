import { useSignal } from '@preact/signals';

import type { ClientFields, RegisteredClient } from '../../../../client/index.ts';
import { client } from '../../data/api.ts';
import { usePages } from '../../data/record-pages.ts';
import { mayCall } from '../../data/session.ts';
import { ListState } from '../../ui/list-state.tsx';
import page from '../../ui/page.module.css';
import { Table, type Column } from '../../ui/table.tsx';
import { When } from '../../ui/when.tsx';
import { AccessDialog } from './access-dialog.tsx';
import { words as accessWords } from './access-words.ts';
import { Ends } from './ends.tsx';
import { Removal } from './removal.tsx';
import { ShownOnce } from './shown-once.tsx';
import { Waits, WaitsHelp } from './waits.tsx';
import { words } from './words.ts';

const schema = {
  required: ['name'],
  properties: {
    name: { type: 'string', title: words.name, maxLength: 100 },
    expires_at: { type: 'string', format: 'date-time', title: accessWords.expiry },
  },
};

/** Programs that act as oneself, and for admins those that registered themselves. */
export function Clients() {
  const secret = useSignal<Record<string, string> | null>(null);
  const list = usePages(['clients'], (cursor) =>
    client.page('listMyClients', { query: { cursor: cursor ?? undefined } }),
  );
  const create = async (body: Record<string, unknown>, limit: { scopes?: string[] }) => {
    const { expires_at: ends } = body;
    const made = await client.call('createMyClient', {
      body: {
        name: String(body['name']),
        ...(typeof ends === 'string' ? { expires_at: ends } : {}),
        ...limit,
      },
    });
    secret.value = { [words.clientId]: made.client_id, [words.clientSecret]: made.client_secret };
    await list.reload();
  };
  const remove = async (id: string) => {
    await client.call('deleteMyClient', { path: { id } });
    await list.reload();
  };
  return (
    <>
      <p class="muted">{words.clientsHelp}</p>
      <div class={page['actions']}>
        <AccessDialog
          id="client"
          button={words.newClient}
          submit={words.create}
          schema={schema}
          unlimited={accessWords.unlimited}
          onSubmit={create}
        />
      </div>
      <WaitsHelp records={list.items.value} />
      <ListState list={list} empty={<p>{words.noClients}</p>}>
        <Table
          label={words.parts.clients}
          columns={clientColumns(remove)}
          records={list.items.value}
          keyOf={({ id }: ClientFields) => id}
        />
      </ListState>
      <ShownOnce values={secret.value} onClose={() => (secret.value = null)} />
      {mayCall('listRegisteredClients') && <Registered />}
    </>
  );
}

/** @param remove deletes the client with the id */
export function clientColumns(remove: (id: string) => Promise<void>): Column<ClientFields>[] {
  const { id: clientId, used, expires } = words.clientColumns;
  return [
    {
      title: words.name,
      cell: (one) => (
        <>
          {one.name}
          <Waits one={one} />
        </>
      ),
    },
    { title: clientId, cell: (one) => <code>{one.client_id}</code>, minor: true, long: true },
    {
      title: accessWords.scopes,
      cell: ({ scopes }) => scopes?.join(' ') ?? accessWords.allScopes,
      text: true,
    },
    { title: used, cell: ({ last_used: at }) => (at === null ? words.never : <When at={at} />), minor: true },
    { title: expires, cell: ({ expires_at: at }) => <Ends at={at} />, minor: true },
    {
      title: words.acts,
      acts: true,
      cell: ({ id, name }) => (
        <Removal title={words.deleteClient(name)} text={words.deleteClientText} onAct={() => remove(id)} />
      ),
    },
  ];
}

function Registered() {
  const list = usePages(['registered clients'], (cursor) =>
    client.page('listRegisteredClients', { query: { cursor: cursor ?? undefined } }),
  );
  const COLUMNS: Column<RegisteredClient>[] = [
    { title: words.name, cell: ({ name }) => name },
    {
      title: words.approved,
      cell: ({ approved_at: at }) => (at === null ? words.never : <When at={at} />),
      minor: true,
    },
    {
      title: words.acts,
      acts: true,
      cell: ({ id, name }) => (
        <Removal
          title={words.deleteClient(name)}
          text={words.deleteRegisteredText}
          onAct={async () => {
            await client.call('deleteRegisteredClient', { path: { id } });
            await list.reload();
          }}
        />
      ),
    },
  ];
  return (
    <section class={page['part']}>
      <h2>{words.registered}</h2>
      <p class="muted">{words.registeredHelp}</p>
      <ListState list={list} empty={<p>{words.noRegistered}</p>}>
        <Table
          label={words.registered}
          columns={COLUMNS}
          records={list.items.value}
          keyOf={({ id }: RegisteredClient) => id}
        />
      </ListState>
    </section>
  );
}
