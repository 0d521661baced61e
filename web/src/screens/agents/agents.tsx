/** The registry: own and public agents. The filter is the address. */
import { useState } from 'preact/hooks';

import type { ListedAgent } from '../../../../client/index.ts';
import { lazy } from '../../app/lazy.tsx';
import { ListScreen } from '../../app/list-screen.tsx';
import { navigate, query } from '../../app/router.ts';
import { agentAddress, settingsAddress } from '../../app/routes.ts';
import { client } from '../../data/api.ts';
import { usePages } from '../../data/record-pages.ts';
import { mayCall, seesAll, user } from '../../data/session.ts';
import { mayCallForAny, teamName } from '../../data/teams.ts';
import { Choice, SearchField, type Option } from '../../ui/filters.tsx';
import { isNarrow } from '../../ui/narrow.ts';
import { words as ownerWords } from '../../ui/owner-words.ts';
import { TeamFilter } from '../../ui/team-filter.tsx';
import { Table, type Column } from '../../ui/table.tsx';
import { WarningCount } from '../../ui/warnings.tsx';
import { When } from '../../ui/when.tsx';
import { ownerName } from './owner-name.ts';
import { words } from './words.ts';

const ImportAgents = lazy(async () => (await import('./import-agents.tsx')).ImportAgents);
const TYPES = ['docker', 'api', 'a2a', 'llm', 'vision', 'audio', 'sensor', 'workflow'] as const;
const STATUSES = ['active', 'inactive', 'deprecated'] as const;
const PAGE = 50;

export function Agents() {
  const { q = '', type = '', status = '', whose = '', team = '' } = query.value;
  const list = usePages(['agents', q, type, status, whose, team], (cursor) =>
    client.page('listAgents', {
      query: {
        limit: PAGE,
        cursor: cursor ?? undefined,
        q: q === '' ? undefined : q,
        type: TYPES.find((one) => one === type),
        status: STATUSES.find((one) => one === status),
        owner_id: whose === 'mine' ? user.value?.id : undefined,
        team_id: team === '' ? undefined : team,
      },
    }),
  );
  const mayRegister = mayCallForAny('createAgent');
  const newAgent = agentAddress('new', { team: team === '' ? undefined : team });
  return (
    <ListScreen
      name="agents"
      title={words.title}
      list={list}
      actions={<Actions newAgent={mayRegister ? newAgent : null} />}
      filters={<Filters />}
      filter={[
        q === '' ? '' : `“${q}”`,
        type,
        status,
        whose === '' ? '' : words.mine,
        team === '' ? '' : teamName(team),
      ]}
      keys={mayRegister ? { n: () => navigate(newAgent) } : {}}
      texts={words.listShortcuts}
      empty={<p>{words.empty}</p>}
    >
      <Table
        label={words.list}
        columns={COLUMNS}
        records={list.items.value}
        keyOf={({ id }: ListedAgent) => id}
      />
    </ListScreen>
  );
}

/** @param newAgent the address of the form; null for those who may register none */
function Actions({ newAgent }: { newAgent: string | null }) {
  const [importing, setImporting] = useState(false);
  return (
    <>
      <a href={settingsAddress('conversations')}>{words.conversations}</a>{' '}
      {newAgent !== null && (
        <a class="primary" href={newAgent}>
          {words.register} <kbd>n</kbd>
        </a>
      )}{' '}
      {mayCall('importAgents') && (
        <button type="button" onClick={() => setImporting(true)}>
          {words.import}
        </button>
      )}
      {importing && <ImportAgents open onClose={() => setImporting(false)} />}
    </>
  );
}

const COLUMNS: readonly Column<ListedAgent>[] = [
  { title: words.columns.name, cell: nameIn, long: true },
  { title: words.columns.type, cell: (agent) => agent.display_name, minor: true },
  { title: words.columns.version, cell: versionText },
  {
    title: words.columns.status,
    cell: (agent) => (
      <>
        {agent.status} <Warnings agent={agent} />
      </>
    ),
    minor: true,
  },
  { title: words.columns.owner, cell: ({ owner_id: id }) => ownerName(id), minor: true },
  {
    title: words.columns.used,
    cell: ({ last_used: at }) => (at === null ? words.never : <When at={at} />),
    end: true,
  },
];

/** On a phone, which has no column of states, with the agent's warnings. */
function nameIn(agent: ListedAgent) {
  return (
    <>
      <a href={agentAddress(agent.id)}>{agent.name}</a>
      {isNarrow.value && (
        <div>
          <Warnings agent={agent} />
        </div>
      )}
    </>
  );
}

/** The list may leave out the warnings of a large one. */
function Warnings({ agent: { warnings = [] } }: { agent: ListedAgent }) {
  return <WarningCount warnings={warnings} />;
}

function versionText({ version, published_version: published }: ListedAgent): string {
  return published === null ? `${version} ${words.draft}` : published;
}

function Filters() {
  const { q = '', type = '', status = '', whose = '' } = query.value;
  return (
    <>
      <SearchField label={words.search} value={q} />
      <Choice
        name="type"
        label={words.type}
        value={type}
        options={[['', words.anyType], ...TYPES.map((one): Option => [one, one])]}
      />
      <Choice
        name="status"
        label={words.status}
        value={status}
        options={[['', words.anyStatus], ...STATUSES.map((one): Option => [one, one])]}
      />
      <Choice
        name="whose"
        label={words.whose}
        value={whose}
        options={[
          ['', seesAll() ? ownerWords.everybodys : words.everybodys],
          ['mine', words.mine],
        ]}
      />
      <TeamFilter />
    </>
  );
}
