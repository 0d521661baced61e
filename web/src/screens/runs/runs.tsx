/** All runs that the user may see, newest first, kept current. The filter is the address. */
import { useSignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';

import type { RunBatch } from '../../../../client/index.ts';
import type { KeyTexts } from '../../app/keys.ts';
import { lazy } from '../../app/lazy.tsx';
import { focusRecord, ListScreen } from '../../app/list-screen.tsx';
import { query } from '../../app/router.ts';
import { runAddress } from '../../app/routes.ts';
import { client } from '../../data/api.ts';
import { LiveList } from '../../data/live-list.ts';
import { personName } from '../../data/people.ts';
import { user } from '../../data/session.ts';
import { teamName } from '../../data/teams.ts';
import { nowMs } from '../../ui/clock.ts';
import { lengthOf, marksOf, subjectOf } from '../../ui/run-facts.ts';
import { StatusText } from '../../ui/status.tsx';
import table from '../../ui/table.module.css';
import { lengthText } from '../../ui/time.ts';
import { When } from '../../ui/when.tsx';
import { BulkBar } from './bulk-bar.tsx';
import { RunFilters } from './run-filters.tsx';
import {
  BULK_ACTIONS,
  BULK_KEYS,
  compareRuns,
  filterOf,
  queryOf,
  runsFor,
  showsRun,
  waitText,
  type BulkAction,
  type ListedRun,
  type RunFilter,
} from './run-list.ts';
import css from './runs.module.css';
import { words } from './words.ts';

const PAGE = 50;
const DayStrip = lazy(async () => (await import('./day-strip.tsx')).DayStrip);

export function Runs() {
  const filter = filterOf(query.value);
  const list = useMemo(() => runList(filter), [JSON.stringify(filter)]);
  useEffect(() => list.open(), [list]);
  const selection = useSelection(list);
  const asking = useSignal<BulkAction | null>(null);
  const seesAll = user.value?.roles.includes('admin') === true;
  const ask = (...actions: BulkAction[]) => {
    const action = actions.find((one) => runsFor(one, selection.runs()).length > 0);
    if (action !== undefined) asking.value = action;
  };
  const runs = list.items.value;
  return (
    <ListScreen
      name="runs"
      title={words.title}
      list={list}
      summary={
        <div class={css['strip']}>
          <DayStrip workflowId={filter.workflow} teamId={filter.team} />
        </div>
      }
      filters={<RunFilters filter={filter} seesAll={seesAll} />}
      filter={filterTexts(filter)}
      keys={{
        x: selection.toggleFocused,
        S: () => ask('suspend', 'resume'),
        R: () => ask('retry'),
        C: () => ask('cancel'),
        Escape: selection.clear,
      }}
      texts={keyTexts(selection.runs())}
      bar={
        <BulkBar
          selected={selection.runs()}
          asking={asking}
          onClear={selection.clear}
          onDone={(results) => takeResults(list, selection, results)}
        />
      }
      empty={<p>{words.empty}</p>}
    >
      <RunTable runs={runs} selection={selection} seesAll={seesAll} />
    </ListScreen>
  );
}

function runList(filter: RunFilter): LiveList<ListedRun> {
  return new LiveList<ListedRun>({
    key: ['runs', ...Object.values(filter)],
    kind: 'run',
    matchedByServer: filter.q !== '' || filter.tag !== '' || filter.mark !== '',
    shows: (run) => showsRun(filter, run, user.value?.id ?? '', Date.now()),
    compare: compareRuns,
    read: (cursor) =>
      client.page('listRuns', {
        query: {
          view: 'summary',
          limit: PAGE,
          ...queryOf(filter, Date.now()),
          ...(cursor === null ? {} : { cursor }),
        },
      }),
    readOne: (id) => client.call('getRun', { path: { id } }),
  });
}

function keyTexts(selected: readonly ListedRun[]): KeyTexts {
  const { always, selection } = words.shortcuts;
  const offered = BULK_ACTIONS.filter((action) => runsFor(action, selected).length > 0);
  return {
    ...always,
    // Of two actions of one key, the first that is possible is done.
    ...Object.fromEntries(
      offered
        .toReversed()
        .map((action) => [BULK_KEYS[action], words.verb[action](runsFor(action, selected).length)]),
    ),
    ...(selected.length === 0 ? {} : selection),
  };
}

interface Selection {
  /** Those of the selected runs that the list shows. */
  runs: () => ListedRun[];
  has: (id: string) => boolean;
  set: (ids: readonly string[], isSelected: boolean) => void;
  /** Selects the run whose row has the focus, or the first one. */
  toggleFocused: () => void;
  clear: () => void;
}

function useSelection(list: LiveList<ListedRun>): Selection {
  const picked = useSignal<ReadonlySet<string>>(new Set());
  const has = (id: string) => picked.value.has(id);
  const set = (ids: readonly string[], isSelected: boolean) => {
    const next = new Set(picked.value);
    for (const id of ids) {
      if (isSelected) next.add(id);
      else next.delete(id);
    }
    picked.value = next;
  };
  return {
    runs: () => list.items.value.filter(({ id }) => has(id)),
    has,
    set,
    toggleFocused: () => {
      if (focusedRun() === null) focusRecord(1);
      const id = focusedRun();
      if (id !== null) set([id], !has(id));
    },
    clear: () => (picked.value = new Set()),
  };
}

function focusedRun(): string | null {
  return document.activeElement?.closest('tr[data-run]')?.getAttribute('data-run') ?? null;
}

/** What was done is shown at once; what was refused stays selected. */
function takeResults(list: LiveList<ListedRun>, selection: Selection, results: RunBatch['results']): void {
  for (const { run } of results) if (run !== undefined) list.put(run);
  selection.set(
    results.flatMap(({ id, problem }) => (problem === undefined ? [id] : [])),
    false,
  );
}

function filterTexts({ status, workflow, team, owner, tag, mark, key, since, q }: RunFilter): string[] {
  return [
    status,
    workflow === '' ? '' : words.otherWorkflow.toLowerCase(),
    team === '' ? '' : words.ofTeam(teamName(team)),
    owner === '' ? '' : (words.owners[owner] ?? words.otherOwner(personName(owner))).toLowerCase(),
    (words.periods[since] ?? '').toLowerCase(),
    tag === '' ? '' : words.tagged(tag),
    mark === '' ? '' : words.marked(mark),
    key === '' ? '' : words.keyed(key),
    q === '' ? '' : `“${q}”`,
  ];
}

interface TableProps {
  runs: readonly ListedRun[];
  selection: Selection;
  /** Runs of several people. */
  seesAll: boolean;
}

function RunTable({ runs, selection, seesAll }: TableProps) {
  const selected = runs.filter(({ id }) => selection.has(id)).length;
  return (
    <div class={table['scroll']} role="region" aria-label={words.list} tabIndex={0}>
      <table class={table['table']}>
        <thead>
          <tr>
            <th scope="col" class={css['pick']}>
              <input
                type="checkbox"
                aria-label={words.selectAll}
                checked={selected === runs.length}
                indeterminate={selected > 0 && selected < runs.length}
                onChange={(event) =>
                  selection.set(
                    runs.map(({ id }) => id),
                    event.currentTarget.checked,
                  )
                }
              />
            </th>
            {Object.entries(words.columns).map(
              ([name, text]) =>
                (seesAll || name !== 'owner') && (
                  <th key={name} scope="col" class={css[name]}>
                    {text}
                  </th>
                ),
            )}
          </tr>
        </thead>
        <tbody data-records>
          {runs.map((run) => (
            <Row
              key={run.id}
              run={run}
              isSelected={selection.has(run.id)}
              onSelect={(isSelected) => selection.set([run.id], isSelected)}
              seesAll={seesAll}
            />
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface RowProps {
  run: ListedRun;
  isSelected: boolean;
  onSelect: (isSelected: boolean) => void;
  seesAll: boolean;
}

function Row({ run, isSelected, onSelect, seesAll }: RowProps) {
  const length = lengthOf(run, nowMs.value);
  const subject = subjectOf(run.input_params);
  return (
    <tr data-run={run.id} data-selected={isSelected}>
      <td class={css['pick']}>
        <input
          type="checkbox"
          aria-label={words.select(run.workflow_name, subject)}
          checked={isSelected}
          onChange={(event) => onSelect(event.currentTarget.checked)}
        />
      </td>
      <td>
        <StatusText status={run.status} />
      </td>
      <td class={css['workflow']}>
        <a href={runAddress(run.id)}>{run.workflow_name}</a>
        <span class={css['below']}>
          <Subject subject={subject} run={run} />
        </span>
      </td>
      <td class={css['subject']}>
        <Subject subject={subject} run={run} />
      </td>
      <td class={css['waits']}>{waitText(run)}</td>
      {seesAll && <td class={css['owner']}>{personName(run.owner_id)}</td>}
      <td class={css['length']}>{length === null ? '' : lengthText(length)}</td>
      <td class={css['created']}>
        <When at={run.created_at} />
      </td>
    </tr>
  );
}

/** What tells a run apart from others of its workflow. */
function Subject({ subject, run }: { subject: string; run: ListedRun }) {
  return (
    <>
      {subject}{' '}
      {marksOf(run).map((mark) => (
        <code key={mark}>{mark} </code>
      ))}
    </>
  );
}
