/** What an agent is and how it is called, in one of its versions. */
import type { Agent } from '../../../../client/index.ts';
import { lazy } from '../../app/lazy.tsx';
import { client } from '../../data/api.ts';
import { Code } from '../../ui/code.tsx';
import { FormattedText } from '../../ui/formatted-text.tsx';
import page from '../../ui/page.module.css';
import { ProblemText } from '../../ui/problem.tsx';
import { Value } from '../../ui/value.tsx';
import { WarningList } from '../../ui/warnings.tsx';
import { refreshAgent, useVersion } from './agent-data.ts';
import { words } from './words.ts';

const BudgetPart = lazy(async () => (await import('../../ui/budget/budget.tsx')).BudgetPart);
const Limits = lazy(async () => (await import('./limits.tsx')).Limits);
const Workers = lazy(async () => (await import('./workers.tsx')).Workers);
const Counterpart = lazy(async () => (await import('./counterpart.tsx')).Counterpart);

export function Overview({ agent, version }: { agent: Agent; version: string }) {
  const { data, error } = useVersion(agent.id, version);
  return (
    <div class={page['parts']}>
      {agent.description !== null && (
        <div class={page['read']}>
          <FormattedText text={agent.description} />
        </div>
      )}
      <Warnings agent={agent} />
      <AgentBudget agent={agent} />
      <Limits agent={agent} />
      {(agent.execution_type ?? agent.type) === 'edge' && agent.can.includes('update') && (
        <Workers agent={agent} />
      )}
      {error !== null && <ProblemText error={error} />}
      {data !== undefined && (
        <>
          <section class={page['part']}>
            <h2>{words.configuration}</h2>
            {Object.keys(data.configuration).length === 0 ? (
              <p class="muted">{words.noConfiguration}</p>
            ) : (
              <>
                <Value value={data.configuration} label={words.configuration} />
                <p class="muted">{words.configurationHelp}</p>
              </>
            )}
          </section>
          <SchemaPart title={words.inputSchema} schema={data.input_schema} none={words.anyInput} />
          <SchemaPart title={words.outputSchema} schema={data.output_schema} none={words.anyOutput} />
        </>
      )}
      <Documentation agent={agent} />
      <Counterpart agent={agent} />
    </div>
  );
}

/** Everybody sees the limits; the owner and admins see what is used. */
function AgentBudget({ agent }: { agent: Agent }) {
  const mayChange = agent.can.includes('update');
  return (
    <BudgetPart
      id={agent.id}
      budget={agent.budget}
      own={mayChange}
      save={
        mayChange
          ? async (budget) => {
              await client.call('updateAgent', { path: { id: agent.id }, body: { budget } });
              await refreshAgent(agent.id);
            }
          : null
      }
    />
  );
}

function Warnings({ agent: { warnings } }: { agent: Agent }) {
  if (warnings.length === 0) return null;
  return (
    <section class={page['part']}>
      <h2>{words.warnings}</h2>
      <WarningList warnings={warnings} />
    </section>
  );
}

interface SchemaProps {
  title: string;
  schema: Record<string, unknown>;
  none: string;
}

function SchemaPart({ title, schema, none }: SchemaProps) {
  const isEmpty = Object.keys(schema).length === 0;
  return (
    <section class={page['part']}>
      <h2>{title}</h2>
      {isEmpty ? <p class="muted">{none}</p> : <Code label={title} text={JSON.stringify(schema, null, 2)} />}
    </section>
  );
}

function Documentation({ agent: { id, documentation } }: { agent: Agent }) {
  if (documentation === null || documentation === '') return null;
  return (
    <section class={page['part']}>
      <h2>{words.documentation}</h2>
      <div class={page['read']}>
        <FormattedText text={documentation} />
      </div>
      <p>
        <a href={`/docs/agents/${encodeURIComponent(id)}`} target="_blank" rel="noreferrer">
          {words.openDocumentation}
        </a>
      </p>
    </section>
  );
}
