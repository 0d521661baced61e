/** The workflows that the user may see, with the state of each and how its latest runs went. */
import { useEffect, useMemo } from 'preact/hooks';

import type { RunStats } from '../../../../client/index.ts';
import { ListScreen } from '../../app/list-screen.tsx';
import { navigate, query } from '../../app/router.ts';
import { editorAddress, marketplaceAddress, startAddress, workflowAddress } from '../../app/routes.ts';
import { client } from '../../data/api.ts';
import { LiveList } from '../../data/live-list.ts';
import { useRunStats } from '../../data/run-stats.ts';
import { seesAll, user } from '../../data/session.ts';
import { mayCallForAny, teamName } from '../../data/teams.ts';
import { Choice, SearchField } from '../../ui/filters.tsx';
import { words as ownerWords } from '../../ui/owner-words.ts';
import { TeamFilter } from '../../ui/team-filter.tsx';
import { RunStrip } from '../../ui/run-strip/run-strip.tsx';
import { StatusText } from '../../ui/status.tsx';
import table from '../../ui/table.module.css';
import { WarningCount } from '../../ui/warnings.tsx';
import { When } from '../../ui/when.tsx';
import { WorkflowState } from '../../ui/workflow-state.tsx';
import { words } from './words.ts';
import { compareById, queryOf, scopeOf, SCOPES, type Listed, type Scope } from './workflow-list.ts';
import css from './workflows.module.css';

const PAGE = 50;
const STRIP_HEIGHT = 20;

export function Workflows() {
  const { scope: scopeText, q = '', team = '' } = query.value;
  const scope = scopeOf(scopeText);
  const list = useMemo(() => workflowList(scope, q, team), [scope, q, team]);
  useEffect(() => list.open(), [list]);
  const stats = useRunStats('day', { workflowIds: list.items.value.map(({ id }) => id) });
  const mayCreate = mayCallForAny('createWorkflow');
  const create = () => navigate(editorAddress(null, { team: team === '' ? undefined : team }));
  return (
    <ListScreen
      name="workflows"
      title={words.title}
      list={list}
      actions={
        <>
          <a href={startAddress()}>{words.startable}</a>
          {mayCreate && (
            <button type="button" class="primary" onClick={create}>
              {words.create} <kbd>n</kbd>
            </button>
          )}
        </>
      }
      filters={<Filters q={q} scope={scope} />}
      filter={[
        scope === 'all' ? '' : words.scopes[scope],
        team === '' ? '' : teamName(team),
        q === '' ? '' : `“${q}”`,
      ]}
      keys={mayCreate ? { n: create } : {}}
      texts={words.shortcuts}
      empty={<Empty />}
    >
      <div class={table['scroll']} role="region" aria-label={words.list} tabIndex={0}>
        <table class={table['table']}>
          <Head />
          <tbody data-records>
            {list.items.value.map((workflow) => (
              <Row key={workflow.id} workflow={workflow} stats={stats} />
            ))}
          </tbody>
        </table>
      </div>
    </ListScreen>
  );
}

function Filters({ q, scope }: { q: string; scope: Scope }) {
  return (
    <>
      <SearchField label={words.search} value={q} />
      <Choice
        name="scope"
        label={words.scope}
        value={scope}
        standard="all"
        options={SCOPES.map((one) => [
          one,
          one === 'all' && seesAll() ? ownerWords.everybodys : words.scopes[one],
        ])}
      />
      <TeamFilter />
    </>
  );
}

function workflowList(scope: Scope, q: string, team: string): LiveList<Listed> {
  return new LiveList<Listed>({
    key: ['workflows', scope, q, team],
    matchedByServer: true,
    shows: () => true,
    compare: compareById,
    read: (cursor) =>
      client.page('listWorkflows', {
        query: {
          limit: PAGE,
          ...queryOf(scope, q, user.value?.id ?? '', team),
          ...(cursor === null ? {} : { cursor }),
        },
      }),
    readOne: (id) => client.call('getWorkflow', { path: { id } }),
  });
}

function Empty() {
  if (!mayCallForAny('createWorkflow')) return <p>{words.emptyForReaders}</p>;
  return (
    <>
      <p>{words.empty}</p>
      <p>
        <a href={editorAddress(null)}>{words.write}</a>,{' '}
        <a href={marketplaceAddress({ kind: 'workflow' })}>{words.install}</a> {words.apply}{' '}
        <code>cadenza apply -f</code>
      </p>
    </>
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
      <td class={css['state']}>
        <WorkflowState {...workflow} /> <WarningCount warnings={workflow.warnings} />
      </td>
      <td class={table['extra']}>
        {stats !== undefined && series !== undefined && series.buckets.length > 0 && (
          <RunStrip range={stats} buckets={series.buckets} height={STRIP_HEIGHT} />
        )}
      </td>
      <td class={css['last']}>{series !== undefined && <LastRun run={series.last_run} />}</td>
      <td class={table['extra']}>{visibleTo(workflow)}</td>
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

/** Admins see private ones of others, too. */
function visibleTo({ visibility, team_id: team, owner_id: owner }: Listed): string {
  if (visibility === 'public') return words.toEveryone;
  if (team !== null) return words.toTeam(teamName(team));
  return owner === user.value?.id ? words.toYou : words.toOwner;
}
