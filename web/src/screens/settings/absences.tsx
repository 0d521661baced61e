/** Deputies, who decide the user's tasks while they are away. */
import type { Absence, CreateAbsenceRequest } from '../../../../client/index.ts';
import { client } from '../../data/api.ts';
import { readPersonId } from '../../data/people.ts';
import { usePages } from '../../data/record-pages.ts';
import { mayCall, user } from '../../data/session.ts';
import { PersonLabel } from '../../ui/avatar.tsx';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { ListState } from '../../ui/list-state.tsx';
import page from '../../ui/page.module.css';
import { personSchema } from '../../ui/person-field.tsx';
import type { Schema } from '../../ui/schema-form/fields.ts';
import { Table, type Column } from '../../ui/table.tsx';
import { When } from '../../ui/when.tsx';
import { words } from './notification-words.ts';
import { Removal } from './removal.tsx';

/** @param forOthers an admin may enter the absence of somebody else */
const schemaOf = (forOthers: boolean): Schema => ({
  type: 'object',
  required: ['deputy', 'until'],
  properties: {
    ...(forOthers ? { user_id: personSchema(words.absent, words.absentHelp) } : {}),
    deputy: personSchema(words.deputy, words.deputyHelp),
    from: { type: 'string', format: 'date-time', title: words.from },
    until: { type: 'string', format: 'date-time', title: words.until },
    note: { type: 'string', title: words.note },
  },
});

export function Absences() {
  const list = usePages(['absences'], (cursor) =>
    client.page('listAbsences', { query: { cursor: cursor ?? undefined } }),
  );
  const create = async ({ user_id: absent, ...body }: Record<string, unknown>) => {
    const ofOther = typeof absent === 'string' ? { user_id: await readPersonId(absent) } : {};
    // The form's schema is that of the request.
    await client.call('createAbsence', { body: { ...body, ...ofOther } as CreateAbsenceRequest });
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
            schema={schemaOf(user.value?.roles.includes('admin') === true)}
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
  {
    title: words.absent,
    cell: ({ user: { id, display_name: name } }) => <PersonLabel id={id} name={name} />,
  },
  {
    title: words.deputy,
    cell: ({ deputy: { id, display_name: name } }) => <PersonLabel id={id} name={name} />,
  },
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
