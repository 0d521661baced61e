import type { RunSummary } from '../../../../client/index.ts';
import { runAddress } from '../../app/routes.ts';
import { client } from '../../data/api.ts';
import { usePages } from '../../data/record-pages.ts';
import { ListState } from '../../ui/list-state.tsx';
import { StatusText } from '../../ui/status.tsx';
import { Table, type Column } from '../../ui/table.tsx';
import { When } from '../../ui/when.tsx';
import { words } from './words.ts';

const COLUMNS: readonly Column<RunSummary>[] = [
  { title: words.runColumns.status, cell: ({ status }) => <StatusText status={status} /> },
  {
    title: words.runColumns.workflow,
    cell: ({ id, workflow_name: name }) => <a href={runAddress(id)}>{name}</a>,
  },
  { title: words.runColumns.started, cell: ({ created_at: at }) => <When at={at} />, end: true },
];

/** The user's runs that use the agent. */
export function AgentRuns({ id }: { id: string }) {
  const list = usePages(['agent-runs', id], (cursor) =>
    client.page('listAgentRuns', { path: { id }, query: { cursor: cursor ?? undefined } }),
  );
  return (
    <ListState list={list} empty={<p>{words.noRuns}</p>}>
      <Table
        label={words.views.runs}
        columns={COLUMNS}
        records={list.items.value}
        keyOf={(run: RunSummary) => run.id}
      />
    </ListState>
  );
}
