/** Groups whose people have a role in a team. */
import type { Team, TeamGroup } from '../../../../client/index.ts';
import { ROLES } from '../../../../contracts/roles.ts';
import { client } from '../../data/api.ts';
import { useQuery } from '../../data/query.ts';
import { usePages } from '../../data/record-pages.ts';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { ListState } from '../../ui/list-state.tsx';
import page from '../../ui/page.module.css';
import type { Schema } from '../../ui/schema-form/fields.ts';
import { Table, type Column } from '../../ui/table.tsx';
import { tell } from '../../ui/toasts.tsx';
import { When } from '../../ui/when.tsx';
import { Removal } from './removal.tsx';
import { words } from './team-words.ts';

const role: Schema = { enum: ROLES, title: words.role, default: 'viewer', description: words.roleHelp };
const group: Schema = { type: 'string', title: words.group, description: words.groupHelp };
const newGroup: Schema = { type: 'object', required: ['group', 'role'], properties: { group, role } };

const LOOK_MS = 2_000;

interface Acts {
  put: (name: string, to: string) => Promise<void>;
  remove: (name: string) => Promise<void>;
}

/** `changed`: the members of the team may be others now. */
export function TeamGroups({ team, changed }: { team: Team; changed: () => Promise<void> }) {
  const list = usePages(['team-groups', team.id], (cursor) =>
    client.page('listTeamGroups', { path: { id: team.id }, query: { cursor: cursor ?? undefined } }),
  );
  const reload = () => Promise.all([list.reload(), changed()]);
  useQuery({
    queryKey: ['team-groups pending', team.id],
    enabled: list.items.value.some(({ pending }) => pending),
    refetchInterval: LOOK_MS,
    queryFn: async () => (await reload()).length,
  });
  const done = async (text: string) => {
    await reload();
    tell(text);
  };
  const acts: Acts = {
    put: async (name, to) => {
      const known = ROLES.find((one) => one === to) ?? 'viewer';
      const path = { id: team.id, group: name };
      const { pending } = await client.call('putTeamGroup', { path, body: { role: known } });
      await done(pending ? words.groupFollows(name, known) : words.groupSaved(name, known));
    },
    remove: async (name) => {
      await client.call('removeTeamGroup', { path: { id: team.id, group: name } });
      await done(words.groupRemoved(name));
    },
  };
  const manages = team.can.includes('manage');
  return (
    <>
      <h2>{words.groupsOf(team.name)}</h2>
      <p class="muted">{words.groupsHelp}</p>
      {manages && (
        <div class={page['actions']}>
          <FormDialog
            id="team-group"
            button={words.addGroup}
            title={words.addGroup}
            submit={words.addGroup}
            schema={newGroup}
            onSubmit={(body) => acts.put(String(body['group']), String(body['role']))}
          />
        </div>
      )}
      <ListState list={list} empty={<p>{words.noGroups}</p>}>
        <Table
          label={words.groupsOf(team.name)}
          columns={columns(manages, acts)}
          records={list.items.value}
          keyOf={({ group: name }: TeamGroup) => name}
        />
      </ListState>
    </>
  );
}

function columns(manages: boolean, { put, remove }: Acts): Column<TeamGroup>[] {
  const shown: Column<TeamGroup>[] = [
    {
      title: words.group,
      cell: ({ group: name, pending }) => (
        <>
          {name}
          {pending && <b> {words.groupPending}</b>}
        </>
      ),
    },
    { title: words.role, cell: (one) => one.role },
    { title: words.since, cell: (one) => <When at={one.added_at} />, minor: true },
  ];
  if (!manages) return shown;
  const acts: Column<TeamGroup> = {
    title: words.acts,
    acts: true,
    cell: ({ group: name, role: given }) => (
      <>
        <FormDialog
          id={`team-group-${name}`}
          button={words.changeRole}
          title={words.roleOfGroup(name)}
          submit={words.save}
          schema={{ type: 'object', required: ['role'], properties: { role } }}
          values={{ role: given }}
          onSubmit={(body) => put(name, String(body['role']))}
        />{' '}
        <Removal
          title={words.removeGroupOf(name)}
          text={words.removeGroupText}
          act={words.remove}
          onAct={() => remove(name)}
        />
      </>
    ),
  };
  return [...shown, acts];
}
