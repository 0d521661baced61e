/** The registry: own and public agents. The filter is the address. */
import type { ListedAgent } from '../../../../client/index.ts';
import { useKeys } from '../../app/keys.ts';
import { useSeenList } from '../../app/neighbours.tsx';
import { navigate, query, setQuery } from '../../app/router.ts';
import { agentAddress, agentsAddress } from '../../app/routes.ts';
import { SavedViews } from '../../app/saved-views.tsx';
import { client } from '../../data/api.ts';
import { usePages } from '../../data/record-pages.ts';
import { mayCall, user } from '../../data/session.ts';
import { ListState } from '../../ui/list-state.tsx';
import page from '../../ui/page.module.css';
import { focusRow, Table, type Column } from '../../ui/table.tsx';
import { useTitle } from '../../ui/title.ts';
import { When } from '../../ui/when.tsx';
import { ownerName } from './owner-name.ts';
import { words } from './words.ts';

const TYPES = ['docker', 'api', 'a2a', 'llm', 'vision', 'audio', 'sensor', 'workflow'] as const;
const STATUSES = ['active', 'inactive', 'deprecated'] as const;
const PAGE = 50;

export function Agents() {
  useTitle(words.title);
  const { q = '', type = '', status = '', whose = '' } = query.value;
  const list = usePages(['agents', q, type, status, whose], (cursor) =>
    client.page('listAgents', {
      query: {
        limit: PAGE,
        cursor: cursor ?? undefined,
        q: q === '' ? undefined : q,
        type: TYPES.find((one) => one === type),
        status: STATUSES.find((one) => one === status),
        owner_id: whose === 'mine' ? user.value?.id : undefined,
      },
    }),
  );
  const mayRegister = mayCall('createAgent');
  useSeenList('agents', list.items.value);
  useKeys(
    {
      j: () => focusRow(1),
      k: () => focusRow(-1),
      ...(mayRegister ? { n: () => navigate(agentAddress('new')) } : {}),
    },
    words.listShortcuts,
  );
  const filter = [q === '' ? '' : `“${q}”`, type, status, whose === '' ? '' : words.mine]
    .filter((part) => part !== '')
    .join(', ');
  const register = mayRegister && (
    <a href={agentAddress('new')}>
      {words.register} <kbd>n</kbd>
    </a>
  );
  return (
    <div class={page['page']}>
      <div class={page['head']}>
        <h1>{words.title}</h1>
        <div class={page['actions']}>{register}</div>
      </div>
      <Filters />
      <ListState
        list={list}
        filter={filter}
        onClear={() => navigate(agentsAddress())}
        empty={<p>{words.empty}</p>}
      >
        <Table
          label={words.list}
          columns={COLUMNS}
          records={list.items.value}
          keyOf={({ id }: ListedAgent) => id}
        />
      </ListState>
    </div>
  );
}

const COLUMNS: readonly Column<ListedAgent>[] = [
  { title: words.columns.name, cell: ({ id, name }) => <a href={agentAddress(id)}>{name}</a> },
  { title: words.columns.type, cell: (agent) => agent.display_name, minor: true },
  { title: words.columns.version, cell: versionText },
  { title: words.columns.status, cell: ({ status }) => status, minor: true },
  { title: words.columns.owner, cell: ({ owner_id: id }) => ownerName(id), minor: true },
  {
    title: words.columns.used,
    cell: ({ last_used: at }) => (at === null ? words.never : <When at={at} />),
    end: true,
  },
];

function versionText({ version, published_version: published }: ListedAgent): string {
  return published === null ? `${version} ${words.draft}` : published;
}

function Filters() {
  const { q = '', type = '', status = '', whose = '' } = query.value;
  return (
    <search class={page['filters']}>
      <input
        type="search"
        aria-label={words.search}
        placeholder={words.searchHint}
        value={q}
        onInput={(event) => setQuery({ q: event.currentTarget.value }, 'replace')}
      />
      <select
        aria-label={words.type}
        value={type}
        onChange={(event) => setQuery({ type: event.currentTarget.value })}
      >
        <option value="">{words.anyType}</option>
        {TYPES.map((one) => (
          <option key={one}>{one}</option>
        ))}
      </select>
      <select
        aria-label={words.status}
        value={status}
        onChange={(event) => setQuery({ status: event.currentTarget.value })}
      >
        <option value="">{words.anyStatus}</option>
        {STATUSES.map((one) => (
          <option key={one}>{one}</option>
        ))}
      </select>
      <select
        aria-label={words.whose}
        value={whose}
        onChange={(event) => setQuery({ whose: event.currentTarget.value })}
      >
        <option value="">{words.everybodys}</option>
        <option value="mine">{words.mine}</option>
      </select>
      <SavedViews list="agents" />
    </search>
  );
}
