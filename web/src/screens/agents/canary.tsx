/** The canary of an agent, and what the calls of each version have come to. */
import type { Agent, AgentStats } from '../../../../client/index.ts';
import { client } from '../../data/api.ts';
import { useQuery } from '../../data/query.ts';
import { FormDialog } from '../../ui/form-dialog.tsx';
import page from '../../ui/page.module.css';
import { ProblemText } from '../../ui/problem.tsx';
import { Table, type Column } from '../../ui/table.tsx';
import { words } from './canary-words.ts';

type Stats = AgentStats['versions'][number];

const COLUMNS: readonly Column<Stats>[] = [
  { title: words.columns.version, cell: ({ version }) => version },
  { title: words.columns.calls, cell: ({ calls }) => calls },
  { title: words.columns.faults, cell: ({ faults }) => faults },
  {
    title: words.columns.latency,
    cell: ({ latency_p50_ms: p50, latency_p95_ms: p95 }) =>
      p50 === null || p95 === null ? '–' : `${Math.round(p50)} / ${Math.round(p95)} ms`,
    minor: true,
  },
  {
    title: words.columns.cost,
    cell: ({ cost_usd: cost }) => (cost === null ? words.unknown : `$${cost}`),
    end: true,
  },
];

export function Canary({ agent }: { agent: Agent }) {
  const { data, error, refetch } = useQuery<AgentStats>({
    queryKey: ['agent', agent.id, 'stats'],
    queryFn: ({ signal }) => client.call('getAgentStats', { path: { id: agent.id }, query: {}, signal }),
  });
  if (error !== null && data === undefined) return <ProblemText error={error} retry={() => void refetch()} />;
  if (data === undefined) return null;
  const { canary, versions } = data;
  const path = { id: agent.id };
  const set = async (body: Record<string, unknown>) => {
    // The form's schema is that of the request.
    await client.call('setAgentCanary', { path, body: body as { version: string; percent: number } });
    await refetch();
  };
  const end = async () => {
    await client.call('deleteAgentCanary', { path });
    await refetch();
  };
  return (
    <section class={page['part']}>
      <h2>{words.title}</h2>
      <p class="muted">{words.help}</p>
      {canary !== null && <p>{words.now(canary.version, canary.percent, canary.status)}</p>}
      <div class={page['actions']}>
        <FormDialog
          id="canary"
          button={words.set}
          title={words.set}
          submit={words.setIt}
          schema={schemaFor(agent)}
          {...(canary === null ? {} : { values: { version: canary.version, percent: canary.percent } })}
          onSubmit={set}
        />
        {canary !== null && (
          <button type="button" onClick={() => void end()}>
            {words.end}
          </button>
        )}
      </div>
      {versions.length === 0 ? (
        <p class="muted">{words.none}</p>
      ) : (
        <Table label={words.figures} columns={COLUMNS} records={versions} keyOf={({ version }) => version} />
      )}
    </section>
  );
}

const schemaFor = ({ versions }: Agent) => ({
  type: 'object',
  required: ['version', 'percent'],
  properties: {
    version: {
      type: 'string',
      title: words.columns.version,
      enum: versions.filter(({ status }) => status !== 'deprecated').map(({ version }) => version),
    },
    percent: { type: 'number', title: words.percent, minimum: 0.01, maximum: 100 },
  },
});
