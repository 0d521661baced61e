/** Teams: their members, and what these may do with what the team holds. */
import type { Team, TeamMember } from '../../../../client/index.ts';
import { ROLES } from '../../../../contracts/roles.ts';
import { query, setQuery } from '../../app/router.ts';
import { client } from '../../data/api.ts';
import { readPersonId } from '../../data/people.ts';
import { usePages } from '../../data/record-pages.ts';
import { mayCall, user } from '../../data/session.ts';
import { UserLabel } from '../../ui/avatar.tsx';
import { SearchField } from '../../ui/filters.tsx';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { HistoryLink } from '../../ui/history-link.tsx';
import { ListState } from '../../ui/list-state.tsx';
import page from '../../ui/page.module.css';
import { personSchema } from '../../ui/person-field.tsx';
import type { Schema } from '../../ui/schema-form/fields.ts';
import { Table, type Column } from '../../ui/table.tsx';
import { tell } from '../../ui/toasts.tsx';
import { When } from '../../ui/when.tsx';
import { QuotaForm } from './quota-form.tsx';
import { Removal } from './removal.tsx';
import { TeamGroups } from './team-groups.tsx';
import { words } from './team-words.ts';

const name: Schema = { type: 'string', title: words.name, description: words.nameHelp };
const about: Schema = { type: 'string', title: words.description };
const role: Schema = { enum: ROLES, title: words.role, default: 'viewer', description: words.roleHelp };
const newTeam: Schema = { type: 'object', required: ['name'], properties: { name, description: about } };
const newMember: Schema = {
  type: 'object',
  required: ['person', 'role'],
  properties: { person: personSchema(words.person, words.personHelp), role },
};

export function Teams() {
  const { q = '', team } = query.value;
  const list = usePages(['teams', q], (cursor) =>
    client.page('listTeams', { query: { cursor: cursor ?? undefined, q: q === '' ? undefined : q } }),
  );
  const saved = async (text: string) => {
    await list.reload();
    tell(text);
  };
  const shown = list.items.value.find(({ id }) => id === team);
  if (shown !== undefined) return <Members key={shown.id} team={shown} saved={saved} />;
  return (
    <>
      <p class="muted">{words.help}</p>
      {mayCall('createTeam') && (
        <div class={page['actions']}>
          <FormDialog
            id="team"
            button={words.create}
            title={words.create}
            submit={words.create}
            schema={newTeam}
            onSubmit={async (body) => {
              const made = await client.call('createTeam', { body: { ...body, name: String(body['name']) } });
              await saved(words.saved(made.name));
            }}
          />
        </div>
      )}
      <search class={page['filters']}>
        <SearchField label={words.search} value={q} />
      </search>
      <ListState
        list={list}
        filter={q === '' ? '' : `“${q}”`}
        onClear={() => setQuery({ q: undefined })}
        empty={<p>{mayCall('createTeam') ? words.noneYet : words.none}</p>}
      >
        <Table
          label={words.title}
          columns={columns(saved)}
          records={list.items.value}
          keyOf={({ id }: Team) => id}
        />
      </ListState>
    </>
  );
}

type Saved = (text: string) => Promise<void>;

function columns(saved: Saved): Column<Team>[] {
  return [
    { title: words.name, cell: (team) => <a href={`?team=${team.id}`}>{team.name}</a> },
    { title: words.description, cell: (team) => team.description ?? '', minor: true },
    { title: words.yourRole, cell: (team) => team.role ?? '' },
    { title: words.members, cell: (team) => String(team.members), end: true },
    {
      title: words.acts,
      acts: true,
      cell: (team) => (
        <>
          {team.can.includes('manage') && <Acts team={team} saved={saved} />}{' '}
          <HistoryLink id={team.id} team={team.id} />
        </>
      ),
    },
  ];
}

function Acts({ team, saved }: { team: Team; saved: Saved }) {
  return (
    <>
      <FormDialog
        id={`team-${team.id}`}
        button={words.edit}
        title={words.editOf(team.name)}
        submit={words.save}
        schema={newTeam}
        values={{ name: team.name, description: team.description }}
        onSubmit={async (body) => {
          const changed = await client.call('updateTeam', { path: { id: team.id }, body });
          await saved(words.saved(changed.name));
        }}
      />{' '}
      {user.value?.roles.includes('admin') && (
        <QuotaForm
          id={team.id}
          of="team"
          name={team.name}
          quotas={team.quotas}
          save={async (quotas) => {
            await client.call('updateTeam', { path: { id: team.id }, body: { quotas } });
            await saved(words.saved(team.name));
          }}
        />
      )}{' '}
      <Removal
        title={words.deleteOf(team.name)}
        text={words.deleteText}
        onAct={async () => {
          await client.call('deleteTeam', { path: { id: team.id } });
          await saved(words.deleted(team.name));
        }}
      />
    </>
  );
}

function Members({ team, saved }: { team: Team; saved: Saved }) {
  const list = usePages(['team-members', team.id], (cursor) =>
    client.page('listTeamMembers', { path: { id: team.id }, query: { cursor: cursor ?? undefined } }),
  );
  const put = async (userId: string, to: string) => {
    const known = ROLES.find((one) => one === to) ?? 'viewer';
    const path = { id: team.id, user_id: userId };
    const member = await client.call('putTeamMember', { path, body: { role: known } });
    await list.reload();
    await saved(words.memberSaved(member.username, known));
  };
  return (
    <>
      <p>
        <a href="?">{words.all}</a>
      </p>
      <h2>{words.membersOf(team.name)}</h2>
      {team.can.includes('manage') && (
        <div class={page['actions']}>
          <FormDialog
            id="member"
            button={words.add}
            title={words.add}
            submit={words.add}
            schema={newMember}
            onSubmit={async (body) => put(await readPersonId(String(body['person'])), String(body['role']))}
          />
        </div>
      )}
      <ListState list={list} empty={<p>{words.noMembers}</p>}>
        <Table
          label={words.membersOf(team.name)}
          columns={memberColumns(team, put, async (member) => {
            await client.call('removeTeamMember', { path: { id: team.id, user_id: member.user_id } });
            await list.reload();
            const stays = member.groups.length > 0;
            await saved(stays ? words.stays(member.username) : words.removed(member.username));
          })}
          records={list.items.value}
          keyOf={({ user_id: id }: TeamMember) => id}
        />
      </ListState>
      <TeamGroups team={team} changed={() => list.reload()} />
    </>
  );
}

function groupsOf({ groups }: TeamMember): string {
  return groups.map(({ group, role: given }) => `${group} (${given})`).join(', ');
}

function memberColumns(
  team: Team,
  put: (userId: string, role: string) => Promise<void>,
  remove: (member: TeamMember) => Promise<void>,
): Column<TeamMember>[] {
  const manages = team.can.includes('manage');
  return [
    {
      title: words.person,
      cell: ({ user_id: id, username, display_name: called }) => (
        <UserLabel id={id} username={username} display_name={called} />
      ),
    },
    { title: words.role, cell: (member) => member.role },
    { title: words.byGroups, cell: (member) => groupsOf(member), minor: true },
    { title: words.since, cell: (member) => <When at={member.added_at} />, minor: true },
    {
      title: words.acts,
      acts: true,
      cell: (member) => (
        <>
          {manages && (
            <FormDialog
              id={`member-${member.user_id}`}
              button={words.changeRole}
              title={words.roleOf(member.username)}
              submit={words.save}
              schema={{ type: 'object', required: ['role'], properties: { role } }}
              values={{ role: member.role }}
              onSubmit={(body) => put(member.user_id, String(body['role']))}
            />
          )}{' '}
          {member.own_role !== null && (manages || member.user_id === user.value?.id) && (
            <Removal
              title={words.removeOf(member.username)}
              text={member.groups.length > 0 ? words.removeOwnText : words.removeText}
              act={words.remove}
              onAct={() => remove(member)}
            />
          )}
        </>
      ),
    },
  ];
}
