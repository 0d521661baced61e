/** The workflows that the user may see, with the state of each and how its latest runs went. */
import { useEffect, useMemo } from 'preact/hooks';

import type { RunStats } from '../../../../client/index.ts';
import { useKeys } from '../../app/keys.ts';
import { useSeenList } from '../../app/neighbours.tsx';
import { navigate, query, setQuery } from '../../app/router.ts';
import { editorAddress, marketplaceAddress, workflowAddress, workflowsAddress } from '../../app/routes.ts';
import { SavedViews } from '../../app/saved-views.tsx';
import { client } from '../../data/api.ts';
import { LiveList } from '../../data/live-list.ts';
import { useRunStats } from '../../data/run-stats.ts';
import { mayCall, user } from '../../data/session.ts';
import { useLate } from '../../ui/late.ts';
import { ProblemText } from '../../ui/problem.tsx';
import { RunStrip } from '../../ui/run-strip/run-strip.tsx';
import { StatusText } from '../../ui/status.tsx';
import table from '../../ui/table.module.css';
import { useTitle } from '../../ui/title.ts';
import { When } from '../../ui/when.tsx';
import { WorkflowState } from '../../ui/workflow-state.tsx';
import { words } from './words.ts';
import { compareById, queryOf, scopeOf, SCOPES, type Listed, type Scope } from './workflow-list.ts';
import css from './workflows.module.css';

const PAGE = 50;
const STRIP_HEIGHT = 20;

export function Workflows() {
  useTitle(words.title);
  const { scope: scopeText, q = '' } = query.value;
  const scope = scopeOf(scopeText);
  const list = useMemo(() => workflowList(scope, q), [scope, q]);
  useEffect(() => list.open(), [list]);
  const stats = useRunStats(
    'day',
    list.items.value.map(({ id }) => id),
  );
  const create = mayCall('createWorkflow') ? () => navigate(editorAddress(null)) : null;
  useSeenList('workflows', list.items.value);
  useKeys(
    {
      j: () => focusLink(1),
      k: () => focusLink(-1),
      ...(create === null ? {} : { n: create }),
    },
    words.shortcuts,
  );
  return (
    <div class={css['page']}>
      <header class={css['header']}>
        <h1>{words.title}</h1>
        {create !== null && (
          <button type="button" class="primary" onClick={create}>
            {words.create} <kbd>n</kbd>
          </button>
        )}
      </header>
      <Filters scope={scope} q={q} />
      <ListState list={list} scope={scope} q={q} />
      {list.items.value.length > 0 && (
        <div class={table['scroll']} role="region" aria-label={words.list} tabIndex={0}>
          <table class={table['table']}>
            <Head />
            <tbody>
              {list.items.value.map((workflow) => (
                <Row key={workflow.id} workflow={workflow} stats={stats} />
              ))}
            </tbody>
          </table>
        </div>
      )}
      {list.hasMore.value && (
        <button type="button" class={css['more']} onClick={() => void list.more()}>
          {words.more}
        </button>
      )}
    </div>
  );
}

function workflowList(scope: Scope, q: string): LiveList<Listed> {
  return new LiveList<Listed>({
    key: ['workflows', scope, q],
    matchedByServer: true,
    shows: () => true,
    compare: compareById,
    read: (cursor) =>
      client.page('listWorkflows', {
        query: {
          limit: PAGE,
          ...queryOf(scope, q, user.value?.id ?? ''),
          ...(cursor === null ? {} : { cursor }),
        },
      }),
    readOne: (id) => client.call('getWorkflow', { path: { id } }),
  });
}

function focusLink(by: number): void {
  const links = [...document.querySelectorAll<HTMLElement>(`.${table['table']} td:first-child a`)];
  const at = links.indexOf(document.activeElement as HTMLElement);
  links[at < 0 ? 0 : Math.min(Math.max(at + by, 0), links.length - 1)]?.focus();
}

function Filters({ scope, q }: { scope: Scope; q: string }) {
  return (
    <search class={css['filters']}>
      <input
        type="search"
        aria-label={words.search}
        placeholder={words.searchHint}
        value={q}
        onInput={(event) => setQuery({ q: event.currentTarget.value }, 'replace')}
      />
      <select
        aria-label={words.scope}
        value={scope}
        onChange={(event) => {
          const chosen = scopeOf(event.currentTarget.value);
          setQuery({ scope: chosen === 'all' ? undefined : chosen });
        }}
      >
        {SCOPES.map((one) => (
          <option key={one} value={one}>
            {words.scopes[one]}
          </option>
        ))}
      </select>
      <SavedViews list="workflows" />
    </search>
  );
}

function ListState({ list, scope, q }: { list: LiveList<Listed>; scope: Scope; q: string }) {
  const isLoading = !list.isLoaded.value && list.error.value === null;
  const showsSkeleton = useLate(isLoading);
  const isEmpty = list.items.value.length === 0;
  if (list.error.value !== null && isEmpty)
    return <ProblemText error={list.error.value} retry={() => void list.reload()} />;
  if (isLoading)
    return (
      <div aria-busy="true">
        {showsSkeleton &&
          Array.from({ length: 8 }, (_, index) => <div key={index} class={css['skeleton']} />)}
      </div>
    );
  if (!isEmpty) return null;
  if (scope === 'all' && q === '')
    return mayCall('createWorkflow') ? (
      <div class={css['empty']}>
        <p>{words.empty}</p>
        <a href={marketplaceAddress({ kind: 'workflow' })}>{words.toMarketplace}</a>
      </div>
    ) : (
      <p class={css['empty']}>{words.emptyForReaders}</p>
    );
  const filter = [scope === 'all' ? '' : words.scopes[scope], q === '' ? '' : `“${q}”`];
  return (
    <div class={css['empty']}>
      <p>{words.filteredEmpty(filter.filter((part) => part !== '').join(', '))}</p>
      <button type="button" onClick={() => navigate(workflowsAddress())}>
        {words.clear}
      </button>
    </div>
  );
}

/** Columns that a narrow screen leaves out. */
const EXTRA: readonly string[] = ['health', 'visibility', 'revision', 'updated'];

function Head() {
  return (
    <thead>
      <tr>
        {Object.entries(words.columns).map(([name, text]) => (
          <th key={name} scope="col" class={EXTRA.includes(name) ? table['extra'] : undefined}>
            {text}
          </th>
        ))}
      </tr>
    </thead>
  );
}

function Row({ workflow, stats }: { workflow: Listed; stats: RunStats | undefined }) {
  const series = stats?.series.find(({ workflow_id: id }) => id === workflow.id);
  return (
    <tr>
      <td class={table['cut']}>
        <span class={css['name']}>
          <a href={workflowAddress(workflow.id)}>{workflow.name}</a>
          <span class={`${css['description']} ${table['extra']}`}>{workflow.description}</span>
        </span>
      </td>
      <td>
        <WorkflowState {...workflow} />
      </td>
      <td class={table['extra']}>
        {stats !== undefined && series !== undefined && series.buckets.length > 0 && (
          <RunStrip range={stats} buckets={series.buckets} height={STRIP_HEIGHT} />
        )}
      </td>
      <td>{series !== undefined && <LastRun run={series.last_run} />}</td>
      <td class={table['extra']}>{words.visibility[workflow.visibility]}</td>
      <td class={table['extra']}>{workflow.revision}</td>
      <td class={table['extra']}>
        <When at={workflow.updated_at} />
      </td>
    </tr>
  );
}

function LastRun({ run }: { run: RunStats['series'][number]['last_run'] }) {
  if (run === null) return <span class="muted">{words.neverRan}</span>;
  return (
    <>
      <StatusText status={run.status} /> <When at={run.created_at} />
    </>
  );
}
