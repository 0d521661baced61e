/** The revisions of a workflow, and what changed between two of them. */
import { useEffect, useMemo } from 'preact/hooks';

import type { ListedWorkflowRevision, Workflow, WorkflowRevision } from '../../../../client/index.ts';
import { query, setQuery } from '../../app/router.ts';
import { client } from '../../data/api.ts';
import { LiveList } from '../../data/live-list.ts';
import { useQuery } from '../../data/query.ts';
import page from '../../ui/page.module.css';
import { ProblemText } from '../../ui/problem.tsx';
import table from '../../ui/table.module.css';
import { TextDiff } from '../../ui/text-diff/text-diff.tsx';
import { When } from '../../ui/when.tsx';
import { WorkflowState } from '../../ui/workflow-state.tsx';
import { Pinned } from './pinned.tsx';
import { useText } from './use-text.ts';
import { words } from './words.ts';
import css from './workflow.module.css';

const PAGE = 25;
type Listed = ListedWorkflowRevision & { id: string };

export function Revisions({ workflow }: { workflow: Workflow }) {
  const { id, revision } = workflow;
  const list = useMemo(() => revisionsOf(id), [id, revision]);
  useEffect(() => list.open(), [list]);
  const after = numberIn(query.value['to']) ?? revision;
  const before = numberIn(query.value['from']) ?? Math.max(1, after - 1);
  return (
    <div class={css['column']}>
      {list.error.value !== null && <ProblemText error={list.error.value} retry={() => void list.reload()} />}
      <div class={table['scroll']} role="region" aria-label={words.revisions} tabIndex={0}>
        <table class={table['table']}>
          <thead>
            <tr>
              {Object.entries(words.revisionColumns).map(([name, text]) => (
                <th key={name} scope="col">
                  {text}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {list.items.value.map((listed) => (
              <Row key={listed.id} listed={listed} current={revision} before={before} after={after} />
            ))}
          </tbody>
        </table>
      </div>
      {list.hasMore.value && (
        <div>
          <button type="button" onClick={() => void list.more()}>
            {words.olderRevisions}
          </button>
        </div>
      )}
      {revision === 1 ? (
        <p class="muted">{words.onlyRevision}</p>
      ) : (
        <Comparison key={`${before} ${after}`} id={id} before={before} after={after} />
      )}
    </div>
  );
}

/** A revision's number identifies it here. */
function revisionsOf(id: string): LiveList<Listed> {
  return new LiveList<Listed>({
    key: ['revisions', id],
    matchedByServer: true,
    shows: () => true,
    compare: (left, right) => right.revision - left.revision,
    read: async (cursor) => {
      const page = await client.page('listWorkflowRevisions', {
        path: { id },
        query: { limit: PAGE, ...(cursor === null ? {} : { cursor }) },
      });
      return { ...page, items: page.items.map((item) => ({ ...item, id: String(item.revision) })) };
    },
    readOne: async (revision) => {
      const found = await client.call('getWorkflowRevision', { path: { id, revision: Number(revision) } });
      return { ...found, id: revision, omitted: [] };
    },
  });
}

function numberIn(text: string | undefined): number | null {
  return text !== undefined && /^[1-9]\d{0,9}$/.test(text) ? Number(text) : null;
}

interface RowProps {
  listed: Listed;
  current: number;
  before: number;
  after: number;
}

function Row({ listed, current, before, after }: RowProps) {
  const { revision } = listed;
  return (
    <tr>
      <td>
        {revision} {revision === current && <span class="muted">{words.current}</span>}
      </td>
      <td>
        <WorkflowState {...listed} />
      </td>
      <td>
        <When at={listed.created_at} />
      </td>
      <td>
        <input
          type="radio"
          name="from"
          aria-label={words.compareFrom(revision)}
          checked={revision === before}
          onChange={() => setQuery({ from: String(revision), to: String(after) }, 'replace')}
        />
      </td>
      <td>
        <input
          type="radio"
          name="to"
          aria-label={words.compareTo(revision)}
          checked={revision === after}
          onChange={() => setQuery({ from: String(before), to: String(revision) }, 'replace')}
        />
      </td>
    </tr>
  );
}

function Comparison({ id, before, after }: { id: string; before: number; after: number }) {
  const [left, right, { data: shown }] = [
    useText(id, before),
    useText(id, after),
    useQuery<WorkflowRevision>({
      queryKey: ['workflow revision', id, after],
      // A revision never changes.
      staleTime: Infinity,
      queryFn: ({ signal }) => client.call('getWorkflowRevision', { path: { id, revision: after }, signal }),
    }),
  ];
  const error = left.error ?? right.error;
  if (error !== null) return <ProblemText error={error} />;
  if (left.data === undefined || right.data === undefined) return <div aria-busy="true" />;
  const label = words.comparison(before, after);
  return (
    <section class={page['part']}>
      <h2>{label}</h2>
      <TextDiff before={left.data} after={right.data} label={label} />
      {shown?.resources !== undefined && <Pinned resources={shown.resources} />}
    </section>
  );
}
