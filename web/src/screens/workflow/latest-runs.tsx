/** The latest runs of a workflow, kept current. */
import { useEffect, useMemo } from 'preact/hooks';

import type { Run, RunSummary } from '../../../../client/index.ts';
import { runAddress, runsAddress } from '../../app/routes.ts';
import { client } from '../../data/api.ts';
import { LiveList } from '../../data/live-list.ts';
import { nowMs } from '../../ui/clock.ts';
import page from '../../ui/page.module.css';
import { ProblemText } from '../../ui/problem.tsx';
import { lengthOf, subjectOf } from '../../ui/run-facts.ts';
import { StatusText } from '../../ui/status.tsx';
import table from '../../ui/table.module.css';
import { lengthText } from '../../ui/time.ts';
import { When } from '../../ui/when.tsx';
import { words } from './words.ts';

type ListedRun = RunSummary | Run;
const SHOWN = 10;

export function LatestRuns({ workflowId }: { workflowId: string }) {
  const list = useMemo(() => runsOf(workflowId), [workflowId]);
  useEffect(() => list.open(), [list]);
  const runs = list.items.value.slice(0, SHOWN);
  return (
    <section class={page['part']}>
      <h2>{words.runs}</h2>
      {list.error.value !== null && runs.length === 0 && (
        <ProblemText error={list.error.value} retry={() => void list.reload()} />
      )}
      {list.isLoaded.value && runs.length === 0 && <p class="muted">{words.noRuns}</p>}
      {runs.length > 0 && (
        <>
          <div class={table['scroll']} role="region" aria-label={words.runs} tabIndex={0}>
            <table class={table['table']}>
              <thead>
                <tr>
                  <th scope="col">{words.runColumns.status}</th>
                  <th scope="col">{words.runColumns.subject}</th>
                  <th scope="col" class={`${table['right']} ${table['extra']}`}>
                    {words.runColumns.length}
                  </th>
                  <th scope="col" class={table['right']}>
                    {words.runColumns.created}
                  </th>
                </tr>
              </thead>
              <tbody>
                {runs.map((run) => (
                  <Row key={run.id} run={run} />
                ))}
              </tbody>
            </table>
          </div>
          <p>
            <a href={runsAddress({ workflow: workflowId })}>{words.allRuns}</a>
          </p>
        </>
      )}
    </section>
  );
}

function runsOf(workflowId: string): LiveList<ListedRun> {
  return new LiveList<ListedRun>({
    key: ['runs of workflow', workflowId],
    kind: 'run',
    matchedByServer: false,
    shows: (run) => run.workflow_id === workflowId,
    compare: (left, right) => (left.id < right.id ? 1 : left.id > right.id ? -1 : 0),
    read: (cursor) =>
      client.page('listRuns', {
        query: { limit: SHOWN, workflow_id: workflowId, ...(cursor === null ? {} : { cursor }) },
      }),
    readOne: (id) => client.call('getRun', { path: { id } }),
  });
}

function Row({ run }: { run: ListedRun }) {
  const length = lengthOf(run, nowMs.value);
  const subject = subjectOf(run.input_params);
  return (
    <tr>
      <td>
        <StatusText status={run.status} />
      </td>
      <td class={table['cut']}>
        <a href={runAddress(run.id)}>{subject === '' ? run.id.slice(-12) : subject}</a>
      </td>
      <td class={`${table['right']} ${table['extra']}`}>{length === null ? '' : lengthText(length)}</td>
      <td class={table['right']}>
        <When at={run.created_at} />
      </td>
    </tr>
  );
}
