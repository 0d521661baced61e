import type { Secret } from '../../../../client/index.ts';
import { query } from '../../app/router.ts';
import { client } from '../../data/api.ts';
import { usePages } from '../../data/record-pages.ts';
import { mayCallFor } from '../../data/teams.ts';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { ListState } from '../../ui/list-state.tsx';
import page from '../../ui/page.module.css';
import { Table, type Column } from '../../ui/table.tsx';
import { TeamFilter } from '../../ui/team-filter.tsx';
import { words as teamWords } from '../../ui/team-words.ts';
import { tell } from '../../ui/toasts.tsx';
import { When } from '../../ui/when.tsx';
import { Removal } from './removal.tsx';
import { words } from './words.ts';

const value = { type: 'string', format: 'password', title: words.value };
const name = { type: 'string', title: words.name, description: words.secretName };

/** Names of one's secrets. A value goes in and never comes out. */
export function Secrets() {
  const { team = '' } = query.value;
  const held = { team_id: team === '' ? undefined : team };
  const list = usePages(['secrets', team], (cursor) =>
    client.page('listSecrets', { query: { cursor: cursor ?? undefined, limit: 100, ...held } }),
  );
  const maySet = mayCallFor('putSecret', team);
  const set = async (named: string, text: string) => {
    await client.call('putSecret', { path: { name: named }, query: held, body: { value: text } });
    await list.reload();
    tell(words.secretSet(named));
  };
  const remove = async (named: string) => {
    await client.call('deleteSecret', { path: { name: named }, query: held });
    await list.reload();
  };
  return (
    <>
      <p class="muted">{words.secretsHelp}</p>
      <search class={page['filters']}>
        <TeamFilter all={teamWords.mine} />
      </search>
      {maySet && (
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
          columns={columns(maySet, set, remove)}
          records={list.items.value}
          keyOf={(secret: Secret) => secret.name}
        />
      </ListState>
    </>
  );
}

function columns(
  maySet: boolean,
  set: (name: string, text: string) => Promise<void>,
  remove: (name: string) => Promise<void>,
): Column<Secret>[] {
  return [
    { title: words.name, cell: (secret) => <code>{secret.name}</code>, long: true },
    { title: words.updated, cell: ({ updated_at: at }) => <When at={at} />, minor: true },
    {
      title: words.acts,
      acts: true,
      cell: (secret) =>
        maySet && (
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
