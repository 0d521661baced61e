import type { Secret } from '../../../../client/index.ts';
import { client } from '../../data/api.ts';
import { usePages } from '../../data/record-pages.ts';
import { mayCall } from '../../data/session.ts';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { ListState } from '../../ui/list-state.tsx';
import page from '../../ui/page.module.css';
import { Table, type Column } from '../../ui/table.tsx';
import { tell } from '../../ui/toasts.tsx';
import { When } from '../../ui/when.tsx';
import { Removal } from './removal.tsx';
import { words } from './words.ts';

const value = { type: 'string', format: 'password', title: words.value };
const name = { type: 'string', title: words.name, description: words.secretName };

/** Names of one's secrets. A value goes in and never comes out. */
export function Secrets() {
  const list = usePages(['secrets'], (cursor) =>
    client.page('listSecrets', { query: { cursor: cursor ?? undefined, limit: 100 } }),
  );
  const set = async (named: string, text: string) => {
    await client.call('putSecret', { path: { name: named }, body: { value: text } });
    await list.reload();
    tell(words.secretSet(named));
  };
  const remove = async (named: string) => {
    await client.call('deleteSecret', { path: { name: named } });
    await list.reload();
  };
  return (
    <>
      <p class="muted">{words.secretsHelp}</p>
      {mayCall('putSecret') && (
        <div class={page['actions']}>
          <FormDialog
            id="secret"
            button={words.newSecret}
            title={words.newSecret}
            submit={words.set}
            schema={{ type: 'object', required: ['name', 'value'], properties: { name, value } }}
            onSubmit={(body) => set(String(body['name']), String(body['value']))}
          />
        </div>
      )}
      <ListState list={list} empty={<p>{words.noSecrets}</p>}>
        <Table
          label={words.parts.secrets}
          columns={columns(set, remove)}
          records={list.items.value}
          keyOf={(secret: Secret) => secret.name}
        />
      </ListState>
    </>
  );
}

function columns(
  set: (name: string, text: string) => Promise<void>,
  remove: (name: string) => Promise<void>,
): Column<Secret>[] {
  return [
    { title: words.name, cell: (secret) => <code>{secret.name}</code> },
    { title: words.updated, cell: ({ updated_at: at }) => <When at={at} />, minor: true },
    {
      title: words.acts,
      end: true,
      cell: (secret) =>
        mayCall('putSecret') && (
          <>
            <FormDialog
              id={`secret-${secret.name}`}
              button={words.set}
              title={words.setSecret(secret.name)}
              submit={words.set}
              schema={{ type: 'object', required: ['value'], properties: { value } }}
              onSubmit={(body) => set(secret.name, String(body['value']))}
            />{' '}
            <Removal
              title={words.deleteSecret(secret.name)}
              text={words.deleteSecretText}
              onAct={() => remove(secret.name)}
            />
          </>
        ),
    },
  ];
}
