/** An agent: what it is, a form to try it, its versions, skills and runs, and its card. */
import { useSignal } from '@preact/signals';

import type { Agent } from '../../../../client/index.ts';
import { useKeys } from '../../app/keys.ts';
import { lazy } from '../../app/lazy.tsx';
import { listAddress } from '../../app/neighbours.tsx';
import { RecordPath } from '../../app/record-path.tsx';
import { navigate, query, setQuery } from '../../app/router.ts';
import { agentAddress, editAgentAddress, marketItemAddress } from '../../app/routes.ts';
import { client } from '../../data/api.ts';
import { cache } from '../../data/query.ts';
import { Confirm } from '../../ui/confirm.tsx';
import { HistoryLink } from '../../ui/history-link.tsx';
import page from '../../ui/page.module.css';
import { ProblemText } from '../../ui/problem.tsx';
import { RecordSkeleton } from '../../ui/record-skeleton.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { teamName } from '../../data/teams.ts';
import type { NewHolder } from '../../ui/move/holder.ts';
import { Move } from '../../ui/move/move.tsx';
import { useTitle } from '../../ui/title.ts';
import { When } from '../../ui/when.tsx';
import { useAgent, refreshAgent } from './agent-data.ts';
import { AgentRuns } from './agent-runs.tsx';
import { ownerName } from './owner-name.ts';
import { Overview } from './overview.tsx';
import { Versions } from './versions.tsx';
import { words } from './words.ts';

const Evaluations = lazy(async () => (await import('./evaluations.tsx')).Evaluations);
const Share = lazy(async () => (await import('../../ui/share/share.tsx')).Share);
const AgentCardView = lazy(async () => (await import('./agent-card.tsx')).AgentCardView);
const Try = lazy(async () => (await import('./try.tsx')).Try);
const Skills = lazy(async () => (await import('./skills.tsx')).Skills);

type View = keyof typeof words.views;
const VIEWS = Object.entries(words.views).map(([id, label]) => ({ id: id as View, label }));

export function AgentScreen({ id }: { id: string }) {
  const { data: agent, error, refetch } = useAgent(id);
  useTitle(agent?.name ?? words.title);
  return (
    <div class={page['page']}>
      <RecordPath list="agents" id={id}>
        {agent?.name}
      </RecordPath>
      {agent !== undefined && <Loaded agent={agent} />}
      {agent === undefined && error === null && <RecordSkeleton title={words.title} />}
      {agent === undefined && error !== null && (
        <>
          <h1>{words.title}</h1>
          <ProblemText error={error} retry={() => void refetch()} />
        </>
      )}
    </div>
  );
}

function Loaded({ agent }: { agent: Agent }) {
  const views = VIEWS.filter(({ id }) => id !== 'evaluate' || agent.can.includes('update'));
  const view = views.find(({ id }) => id === query.value['view'])?.id ?? 'overview';
  const show = (to: View) => setQuery({ view: to === 'overview' ? undefined : to }, 'replace');
  const deleting = useSignal(false);
  const back = () => navigate(listAddress('agents'));
  useKeys(
    {
      ...Object.fromEntries(views.map(({ id }, index) => [String(index + 1), () => show(id)])),
      ...(agent.can.includes('update') ? { e: () => navigate(editAgentAddress(agent.id)) } : {}),
      u: back,
      Escape: back,
    },
    {
      ...words.shortcuts,
      ...Object.fromEntries(views.map(({ label }, index) => [String(index + 1), words.show(label)])),
    },
  );
  return (
    <>
      <div class={page['head']}>
        <h1>{agent.name}</h1>
        <div class={page['actions']}>
          <VersionChoice agent={agent} />
          {agent.can.includes('update') && (
            <a href={editAgentAddress(agent.id)}>
              {words.edit} <kbd>e</kbd>
            </a>
          )}
          {agent.can.includes('publish') && <Publish agent={agent} />}
          <MoveAgent agent={agent} />
          <HistoryLink id={agent.id} team={agent.team_id} />
          {agent.can.includes('delete') && (
            <button type="button" onClick={() => (deleting.value = true)}>
              {words.delete}
            </button>
          )}
        </div>
      </div>
      <Facts agent={agent} />
      <Tabs label={words.parts} tabs={views} current={view} onChange={show}>
        <Panel agent={agent} view={view} />
      </Tabs>
      <Confirm
        title={deleting.value ? words.deleteTitle(agent.name) : null}
        text={words.deleteText}
        act={words.delete}
        onClose={() => (deleting.value = false)}
        onAct={async () => {
          await client.call('deleteAgent', { path: { id: agent.id } });
          cache.removeQueries({ queryKey: ['agent', agent.id] });
          navigate(listAddress('agents'));
        }}
      />
    </>
  );
}

function MoveAgent({ agent: { id, name, team_id, can } }: { agent: Agent }) {
  const move = async (to: NewHolder) => {
    await client.call('updateAgent', { path: { id }, body: to });
    await refreshAgent(id);
  };
  return can.includes('move') ? <Move kind="agent" name={name} team={team_id} onMove={move} /> : null;
}

function Publish({ agent: { id } }: { agent: Agent }) {
  const isOpen = useSignal(false);
  return (
    <>
      <button type="button" onClick={() => (isOpen.value = true)}>
        {words.share}
      </button>
      <Share kind="agent" refId={id} open={isOpen.value} onClose={() => (isOpen.value = false)} />
    </>
  );
}

function Panel({ agent, view }: { agent: Agent; view: View }) {
  const version = query.value['version'] ?? agent.version;
  switch (view) {
    case 'overview':
      return <Overview agent={agent} version={version} />;
    case 'try':
      return <Try agent={agent} version={query.value['version'] ?? ''} />;
    case 'versions':
      return <Versions agent={agent} />;
    case 'skills':
      return <Skills agent={agent} />;
    case 'runs':
      return <AgentRuns id={agent.id} />;
    case 'card':
      return <AgentCardView id={agent.id} />;
    case 'evaluate':
      return <Evaluations agent={agent} />;
  }
}

function VersionChoice({ agent }: { agent: Agent }) {
  return (
    <select
      aria-label={words.version}
      value={query.value['version'] ?? agent.version}
      onChange={({ currentTarget: { value } }) =>
        navigate(
          agentAddress(agent.id, {
            ...query.value,
            version: value === agent.version ? undefined : value,
          }),
        )
      }
    >
      {agent.versions.map(({ version, status }) => (
        <option key={version} value={version}>
          {version} · {status}
          {version === agent.version ? ` · ${words.current}` : ''}
        </option>
      ))}
    </select>
  );
}

function Facts({ agent }: { agent: Agent }) {
  return (
    <p class={page['facts']}>
      <span>{agent.display_name}</span>
      <span>{agent.status}</span>
      <span>{agent.visibility === 'public' ? words.publicAgent : words.privateAgent}</span>
      <span>
        {words.ownedBy} {ownerName(agent.owner_id)}
      </span>
      {agent.team_id !== null && (
        <span>
          {words.ofTeam} {teamName(agent.team_id)}
        </span>
      )}
      <span>
        {words.changed} <When at={agent.updated_at} />
      </span>
      {agent.provenance !== null && (
        <a href={marketItemAddress(agent.provenance.item_id)}>
          {words.installed(agent.provenance.version, agent.provenance.publisher.username)}
        </a>
      )}
    </p>
  );
}
