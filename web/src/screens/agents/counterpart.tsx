/** Tries the counterpart of an agent, shows what has changed at its source, and how programs reach it. */
import { useState } from 'preact/hooks';

import type { Agent, AgentCheck, AgentRefresh } from '../../../../client/index.ts';
import { client } from '../../data/api.ts';
import { Code } from '../../ui/code.tsx';
import page from '../../ui/page.module.css';
import { ProblemText } from '../../ui/problem.tsx';
import { When } from '../../ui/when.tsx';
import { refreshAgent } from './agent-data.ts';
import { words } from './source-words.ts';

export function Counterpart({ agent }: { agent: Agent }) {
  return (
    <>
      {agent.can.includes('update') && <Check agent={agent} />}
      {agent.can.includes('update') && agent.source !== null && <Source agent={agent} />}
      <Connect agent={agent} />
    </>
  );
}

function Check({ agent: { id, last_check: last } }: { agent: Agent }) {
  const [busy, setBusy] = useState(false);
  const [result, setResult] = useState<AgentCheck | null>(null);
  const [error, setError] = useState<unknown>(null);
  const shown = result ?? last;
  const check = async (): Promise<void> => {
    setBusy(true);
    setError(null);
    try {
      setResult(await client.call('checkAgent', { path: { id } }));
    } catch (failed) {
      setError(failed);
    }
    setBusy(false);
  };
  return (
    <section class={page['part']}>
      <h2>{words.counterpart}</h2>
      {shown === null ? (
        <p class="muted">{words.neverChecked}</p>
      ) : (
        <p role="status">
          {words.checked[shown.status]}
          {shown.latency_ms !== null && ` (${shown.latency_ms} ms)`}, <When at={shown.checked_at} />:{' '}
          {shown.detail}
        </p>
      )}
      {error !== null && <ProblemText error={error} />}
      <button type="button" disabled={busy} onClick={() => void check()}>
        {words.check}
      </button>
    </section>
  );
}

function Source({ agent: { id, source } }: { agent: Agent }) {
  const [busy, setBusy] = useState(false);
  const [seen, setSeen] = useState<AgentRefresh | null>(null);
  const [error, setError] = useState<unknown>(null);
  const refresh = async (apply: boolean): Promise<void> => {
    setBusy(true);
    setError(null);
    try {
      setSeen(await client.call('refreshAgent', { path: { id }, body: { apply } }));
      if (apply) await refreshAgent(id);
    } catch (failed) {
      setError(failed);
    }
    setBusy(false);
  };
  return (
    <section class={page['part']}>
      <h2>{words.source}</h2>
      <p>
        {source?.from}: {source?.url} ({source?.select})
      </p>
      {seen !== null && <p role="status">{changesText(seen)}</p>}
      {error !== null && <ProblemText error={error} />}
      <button type="button" disabled={busy} onClick={() => void refresh(false)}>
        {words.refresh}
      </button>
      {seen !== null && seen.changes.length > 0 && !seen.applied && (
        <button type="button" disabled={busy} onClick={() => void refresh(true)}>
          {words.applyChanges}
        </button>
      )}
    </section>
  );
}

function changesText({ found, changes, applied }: AgentRefresh): string {
  if (!found) return words.goneAtSource;
  if (changes.length === 0) return words.unchangedAtSource;
  const fields = changes.map(({ field }) => field).join(', ');
  return applied ? words.changesApplied(fields) : words.changedAtSource(fields);
}

function Connect({ agent }: { agent: Agent }) {
  const { origin } = location;
  const settings = { mcpServers: { cadenza: { type: 'http', url: `${origin}/mcp` } } };
  const chat = { base_url: `${origin}/v1`, api_key: '<an access token>', model: agent.id };
  return (
    <section class={page['part']}>
      <h2>{words.connect}</h2>
      <p class="muted">{words.connectHelp}</p>
      <Code label={words.connectMcp} text={JSON.stringify(settings, null, 2)} />
      <Code label={words.connectChat} text={JSON.stringify(chat, null, 2)} />
    </section>
  );
}
