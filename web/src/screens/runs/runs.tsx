/** All runs that the user may see, newest first, kept current. The filter is the address. */
import { useEffect, useMemo } from 'preact/hooks';

import { navigate, query, setQuery } from '../../app/router.ts';
import { runAddress, runsAddress } from '../../app/routes.ts';
import { useKeys } from '../../app/keys.ts';
import { lazy } from '../../app/lazy.tsx';
import { useSeenList } from '../../app/neighbours.tsx';
import { SavedViews } from '../../app/saved-views.tsx';
import { client } from '../../data/api.ts';
import { LiveList } from '../../data/live-list.ts';
import { nowMs } from '../../ui/clock.ts';
import { useLate } from '../../ui/late.ts';
import { ProblemText } from '../../ui/problem.tsx';
import { lengthOf, subjectOf } from '../../ui/run-facts.ts';
import { StatusText } from '../../ui/status.tsx';
import table from '../../ui/table.module.css';
import { lengthText } from '../../ui/time.ts';
import { useTitle } from '../../ui/title.ts';
import { When } from '../../ui/when.tsx';
import { compareRuns, showsRun, STATUSES, waitText, type ListedRun, type RunFilter } from './run-list.ts';
import css from './runs.module.css';
import { words } from './words.ts';

const PAGE = 50;
const DayStrip = lazy(async () => (await import('./day-strip.tsx')).DayStrip);

export function Runs() {
  useTitle(words.title);
  const { status = '', workflow: workflowId = '', q = '' } = query.value;
  const filter = { status, workflowId, q };
  const list = useMemo(() => runList(filter), [status, workflowId, q]);
  useEffect(() => list.open(), [list]);
  useKeys({ j: () => focusLink(1), k: () => focusLink(-1) }, words.shortcuts);
  const runs = list.items.value;
  useSeenList('runs', runs);
  return (
    <div class={css['page']}>
      <h1>{words.title}</h1>
      <div class={css['strip']}>
        <DayStrip workflowId={workflowId} />
      </div>
      <Filters filter={filter} />
      <ListState list={list} filter={filter} />
      {runs.length > 0 && (
        <div class={table['scroll']} role="region" aria-label={words.list} tabIndex={0}>
          <table class={table['table']}>
            <thead>
              <tr>
                {Object.entries(words.columns).map(([name, text]) => (
                  <th key={name} scope="col" class={css[name]}>
                    {text}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {runs.map((run) => (
                <Row key={run.id} run={run} />
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

function runList(filter: RunFilter): LiveList<ListedRun> {
  const { status, workflowId, q } = filter;
  return new LiveList<ListedRun>({
    key: ['runs', status, workflowId, q],
    kind: 'run',
    matchedByServer: q !== '',
    shows: (run) => showsRun(filter, run),
    compare: compareRuns,
    read: (cursor) =>
      client.page('listRuns', {
        query: {
          view: 'summary',
          limit: PAGE,
          ...(status === '' ? {} : { status }),
          ...(workflowId === '' ? {} : { workflow_id: workflowId }),
          ...(q === '' ? {} : { q }),
          ...(cursor === null ? {} : { cursor }),
        },
      }),
    readOne: (id) => client.call('getRun', { path: { id } }),
  });
}

function focusLink(by: number): void {
  const links = [...document.querySelectorAll<HTMLElement>(`.${table['table']} td a`)];
  const at = links.indexOf(document.activeElement as HTMLElement);
  links[at < 0 ? 0 : Math.min(Math.max(at + by, 0), links.length - 1)]?.focus();
}

function Filters({ filter }: { filter: RunFilter }) {
  return (
    <search class={css['filters']}>
      <input
        type="search"
        aria-label={words.search}
        placeholder={words.searchHint}
        value={filter.q}
        onInput={(event) => setQuery({ q: event.currentTarget.value }, 'replace')}
      />
      <select
        aria-label={words.status}
        value={filter.status}
        onChange={(event) => setQuery({ status: event.currentTarget.value })}
      >
        <option value="">{words.anyStatus}</option>
        {STATUSES.map((status) => (
          <option key={status} value={status}>
            {status}
          </option>
        ))}
      </select>
      <SavedViews list="runs" />
    </search>
  );
}

function ListState({ list, filter }: { list: LiveList<ListedRun>; filter: RunFilter }) {
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
  const parts = [filter.status, filter.q === '' ? '' : `“${filter.q}”`].filter((part) => part !== '');
  const isFiltered = parts.length > 0 || filter.workflowId !== '';
  return (
    <div class={css['empty']}>
      <p>{isFiltered ? words.filteredEmpty(parts.join(', ')) : words.empty}</p>
      {isFiltered && (
        <button type="button" onClick={() => navigate(runsAddress())}>
          {words.clear}
        </button>
      )}
    </div>
  );
}

function Row({ run }: { run: ListedRun }) {
  const length = lengthOf(run, nowMs.value);
  return (
    <tr>
      <td>
        <StatusText status={run.status} />
      </td>
      <td class={css['workflow']}>
        <a href={runAddress(run.id)}>{run.workflow_name}</a>
      </td>
      <td class={css['subject']}>{subjectOf(run.input_params)}</td>
      <td class={css['waits']}>{waitText(run)}</td>
      <td class={css['length']}>{length === null ? '' : lengthText(length)}</td>
      <td class={css['created']}>
        <When at={run.created_at} />
      </td>
    </tr>
  );
}
