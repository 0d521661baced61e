/** Versions of an agent: draft, publish, deprecate, and what has changed between two of them. */
import { useSignal } from '@preact/signals';

import type { Agent } from '../../../../client/index.ts';
import { query, setQuery } from '../../app/router.ts';
import { lazy } from '../../app/lazy.tsx';
import { client } from '../../data/api.ts';
import { Confirm } from '../../ui/confirm.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import page from '../../ui/page.module.css';
import { ProblemText } from '../../ui/problem.tsx';
import { RecordForm } from '../../ui/record-form.tsx';
import { Table, type Column } from '../../ui/table.tsx';
import { TextDiff } from '../../ui/text-diff/text-diff.tsx';
import { tell } from '../../ui/toasts.tsx';
import { When } from '../../ui/when.tsx';
import { refreshAgent, useVersion } from './agent-data.ts';
import css from './agents.module.css';
import { words } from './words.ts';

const Canary = lazy(async () => (await import('./canary.tsx')).Canary);

type Version = Agent['versions'][number];
interface Act {
  kind: 'publish' | 'deprecate';
  version: string;
}

export function Versions({ agent }: { agent: Agent }) {
  const acting = useSignal<Act | null>(null);
  const drafting = useSignal(false);
  const act = async ({ kind, version }: Act) => {
    const path = { id: agent.id, version };
    await client.call(kind === 'publish' ? 'publishAgentVersion' : 'deprecateAgentVersion', { path });
    await refreshAgent(agent.id);
    tell(kind === 'publish' ? words.published(version) : words.deprecated(version));
  };
  const { kind = 'publish', version = '' } = acting.value ?? {};
  return (
    <div class={page['parts']}>
      <Table
        label={words.views.versions}
        columns={columns(agent, (chosen) => (acting.value = chosen))}
        records={agent.versions}
        keyOf={(one) => one.version}
      />
      {agent.can.includes('update') && (
        <div>
          <button type="button" onClick={() => (drafting.value = true)}>
            {words.newDraft}
          </button>
        </div>
      )}
      <Compare agent={agent} />
      {agent.can.includes('update') && <Canary agent={agent} />}
      <Confirm
        title={
          acting.value === null
            ? null
            : kind === 'publish'
              ? words.publishTitle(version)
              : words.deprecateTitle(version)
        }
        text={kind === 'publish' ? words.publishText : words.deprecateText}
        act={kind === 'publish' ? words.publish : words.deprecate}
        onAct={() => act({ kind, version })}
        onClose={() => (acting.value = null)}
      />
      <NewDraft agent={agent} open={drafting.value} onClose={() => (drafting.value = false)} />
    </div>
  );
}

function columns(agent: Agent, onAct: (act: Act) => void): Column<Version>[] {
  return [
    { title: words.versionColumns.version, cell: ({ version }) => version },
    {
      title: words.versionColumns.status,
      cell: ({ status, version }) => (version === agent.version ? `${status}, ${words.current}` : status),
    },
    {
      title: words.versionColumns.published,
      cell: ({ published_at: at }) => (at === null ? '–' : <When at={at} />),
      minor: true,
    },
    {
      title: words.versionColumns.acts,
      acts: true,
      cell: ({ version, status }) => {
        if (status === 'draft' && agent.can.includes('publish_version'))
          return (
            <button type="button" onClick={() => onAct({ kind: 'publish', version })}>
              {words.publish}
            </button>
          );
        if (status === 'published' && agent.can.includes('deprecate_version'))
          return (
            <button type="button" onClick={() => onAct({ kind: 'deprecate', version })}>
              {words.deprecate}
            </button>
          );
        return null;
      },
    },
  ];
}

const draftSchema = {
  type: 'object',
  required: ['version'],
  properties: {
    version: { type: 'string', title: words.version },
    changelog: { type: 'string', title: 'What changes', maxLength: 100_000 },
  },
};

function NewDraft({ agent, open, onClose }: { agent: Agent; open: boolean; onClose: () => void }) {
  return (
    <Dialog open={open} title={words.newDraftTitle} onClose={onClose}>
      <p class="muted">{words.newDraftHelp}</p>
      <RecordForm
        id="draft"
        sections={[{ id: 'draft', member: '', schema: draftSchema }]}
        submit={words.draftIt}
        onCancel={onClose}
        onSubmit={async ({ version, changelog }) => {
          const body = {
            version: String(version),
            changelog: typeof changelog === 'string' ? changelog : null,
          };
          await client.call('createAgentVersion', { path: { id: agent.id }, body });
          await refreshAgent(agent.id);
          onClose();
        }}
      />
    </Dialog>
  );
}

function Compare({ agent }: { agent: Agent }) {
  const versions = agent.versions.map(({ version }) => version);
  const [newest = '', before = ''] = versions;
  if (versions.length < 2) return <p class="muted">{words.oneVersion}</p>;
  const from = query.value['from'] ?? before;
  const to = query.value['to'] ?? newest;
  const choice = (label: string, name: 'from' | 'to', value: string) => (
    <label class={css['choice']}>
      {label}
      <select value={value} onChange={(event) => setQuery({ [name]: event.currentTarget.value }, 'replace')}>
        {versions.map((version) => (
          <option key={version}>{version}</option>
        ))}
      </select>
    </label>
  );
  return (
    <section class={page['part']}>
      <h2>{words.compare}</h2>
      <div class={page['actions']}>
        {choice(words.from, 'from', from)}
        {choice(words.to, 'to', to)}
      </div>
      <TwoVersions key={`${from} ${to}`} id={agent.id} from={from} to={to} />
    </section>
  );
}

function TwoVersions({ id, from, to }: { id: string; from: string; to: string }) {
  const [before, after] = [useVersion(id, from), useVersion(id, to)];
  const error = before.error ?? after.error;
  if (error !== null) return <ProblemText error={error} />;
  if (before.data === undefined || after.data === undefined) return <div aria-busy="true" />;
  const textOf = ({ configuration, input_schema, output_schema, changelog }: typeof before.data) =>
    JSON.stringify({ changelog, configuration, input_schema, output_schema }, null, 2);
  return <TextDiff label={words.compare} before={textOf(before.data)} after={textOf(after.data)} />;
}
