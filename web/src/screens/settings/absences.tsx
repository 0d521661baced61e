/** Deputies, who decide the user's tasks while they are away. */
import type { Absence, CreateAbsenceRequest } from '../../../../client/index.ts';
import { client } from '../../data/api.ts';
import { usePages } from '../../data/record-pages.ts';
import { mayCall } from '../../data/session.ts';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { ListState } from '../../ui/list-state.tsx';
import page from '../../ui/page.module.css';
import { Table, type Column } from '../../ui/table.tsx';
import { When } from '../../ui/when.tsx';
import { words } from './notification-words.ts';
import { Removal } from './removal.tsx';

const schema = {
  type: 'object',
  required: ['deputy', 'until'],
  properties: {
    deputy: { type: 'string', title: words.deputy, description: words.deputyHelp },
    from: { type: 'string', format: 'date-time', title: words.from },
    until: { type: 'string', format: 'date-time', title: words.until },
    note: { type: 'string', title: words.note },
  },
};

export function Absences() {
  const list = usePages(['absences'], (cursor) =>
    client.page('listAbsences', { query: { cursor: cursor ?? undefined } }),
  );
  const create = async (body: Record<string, unknown>) => {
    // The form's schema is that of the request.
    await client.call('createAbsence', { body: body as CreateAbsenceRequest });
    await list.reload();
  };
  return (
    <section class={page['part']}>
      <div class={page['actions']}>
        <h2>{words.absences}</h2>
        {mayCall('createAbsence') && (
          <FormDialog
            id="absence"
            button={words.newAbsence}
            title={words.newAbsence}
            help={words.absenceHelp}
            submit={words.create}
            schema={schema}
            onSubmit={create}
          />
        )}
      </div>
      <ListState list={list} empty={<p>{words.noAbsences}</p>}>
        <Table
          label={words.absences}
          columns={columns(() => list.reload())}
          records={list.items.value}
          keyOf={({ id }) => id}
        />
      </ListState>
    </section>
  );
}

const columns = (reload: () => Promise<void>): Column<Absence>[] => [
  { title: words.absent, cell: ({ user }) => user.display_name },
  { title: words.deputy, cell: ({ deputy }) => deputy.display_name },
  { title: words.from, cell: ({ from }) => <When at={from} />, minor: true },
  { title: words.until, cell: ({ until }) => <When at={until} /> },
  { title: words.note, cell: ({ note }) => note ?? '', minor: true },
  {
    title: words.acts,
    acts: true,
    cell: ({ id, until }) =>
      Date.parse(until) > Date.now() && (
        <Removal
          title={words.endAbsence}
          text={words.endAbsenceText}
          onAct={async () => {
            await client.call('endAbsence', { path: { id } });
            await reload();
          }}
        />
      ),
  },
];
