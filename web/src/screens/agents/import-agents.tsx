/** Registers agents from what other platforms offer: first a plan, then what is chosen of it. */
import { useState } from 'preact/hooks';

import { SOURCE_KINDS } from '../../../../contracts/source-kinds.ts';
import type { AgentImport, ImportAgentsRequest } from '../../../../client/index.ts';
import { agentAddress } from '../../app/routes.ts';
import { client } from '../../data/api.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { ProblemText } from '../../ui/problem.tsx';
import { words } from './source-words.ts';

interface Props {
  open: boolean;
  onClose: () => void;
}

export function ImportAgents({ open, onClose }: Props) {
  return (
    <Dialog open={open} title={words.importTitle} onClose={onClose}>
      <ImportForm onClose={onClose} />
    </Dialog>
  );
}

function ImportForm({ onClose }: Pick<Props, 'onClose'>) {
  const [source, setSource] = useState<Source>({ from: 'openapi', url: '', secret: '', outputs: false });
  const [plan, setPlan] = useState<AgentImport | null>(null);
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const send = async (more: Partial<ImportAgentsRequest>): Promise<AgentImport | null> => {
    setBusy(true);
    setError(null);
    try {
      const body = { ...requestOf(source), ...more };
      const made = await client.call('importAgents', { body });
      setPlan(made);
      return made;
    } catch (failed) {
      setError(failed);
      return null;
    } finally {
      setBusy(false);
    }
  };
  const show = async (event: Event): Promise<void> => {
    event.preventDefault();
    const made = await send({ dry_run: true });
    const fresh = (made?.agents ?? []).filter(({ status }) => status === 'new');
    setChosen(fresh.slice(0, 50).map(({ select }) => select));
  };
  const change = (fields: Partial<Source>): void => setSource({ ...source, ...fields });
  const toggle = (select: string): void =>
    setChosen(chosen.includes(select) ? chosen.filter((one) => one !== select) : [...chosen, select]);
  return (
    <form onSubmit={(event) => void show(event)}>
      <Fields source={source} change={change} />
      {error !== null && <ProblemText error={error} />}
      {plan !== null && <Plan plan={plan} chosen={chosen} toggle={toggle} />}
      <p>
        <button type="submit" disabled={busy}>
          {words.importShow}
        </button>{' '}
        {chosen.length > 0 && (
          <button
            type="button"
            disabled={busy}
            onClick={() => void send({ select: [...chosen] }).then((made) => made && setChosen([]))}
          >
            {words.importChosen(chosen.length)}
          </button>
        )}{' '}
        <button type="button" class="plain" onClick={onClose}>
          {words.importClose}
        </button>
      </p>
    </form>
  );
}

interface Source {
  from: (typeof SOURCE_KINDS)[number];
  url: string;
  /** Name of a secret; empty for none. */
  secret: string;
  /** Whether to take over the schemas of answers. */
  outputs: boolean;
}

function requestOf({ from, url, secret, outputs }: Source): ImportAgentsRequest {
  const source = { from, url, ...(outputs ? { output_schemas: true } : {}) };
  if (secret === '') return source;
  return { ...source, authentication_type: 'api_key', authentication_config: { api_key: `<${secret}>` } };
}

function Fields({ source, change }: { source: Source; change: (fields: Partial<Source>) => void }) {
  return (
    <>
      <label>
        {words.importFrom}{' '}
        <select
          value={source.from}
          onChange={({ currentTarget: { value } }) =>
            change({ from: SOURCE_KINDS.find((one) => one === value) ?? 'openapi' })
          }
        >
          {SOURCE_KINDS.map((one) => (
            <option key={one} value={one}>
              {words.sources[one]}
            </option>
          ))}
        </select>
      </label>
      <label>
        {words.importUrl}{' '}
        <input
          type="url"
          required
          value={source.url}
          onInput={({ currentTarget }) => change({ url: currentTarget.value })}
        />
      </label>
      <label>
        {words.importSecret}{' '}
        <input
          pattern="[A-Z][A-Z0-9_]*"
          value={source.secret}
          onInput={({ currentTarget }) => change({ secret: currentTarget.value })}
        />
      </label>
      {['openapi', 'mcp'].includes(source.from) && (
        <label>
          <input
            type="checkbox"
            checked={source.outputs}
            onChange={({ currentTarget }) => change({ outputs: currentTarget.checked })}
          />{' '}
          {words.importOutputs}
        </label>
      )}
    </>
  );
}

interface PlanProps {
  plan: AgentImport;
  chosen: readonly string[];
  toggle: (select: string) => void;
}

function Plan({ plan: { agents }, chosen, toggle }: PlanProps) {
  if (agents.length === 0) return <p role="status">{words.importNothing}</p>;
  return (
    <ul aria-label={words.importPlan}>
      {agents.map(({ select, name, status, agent_id: id, description }) => (
        <li key={select}>
          {id === null ? (
            <label>
              <input type="checkbox" checked={chosen.includes(select)} onChange={() => toggle(select)} />{' '}
              {name}
            </label>
          ) : (
            <a href={agentAddress(id)}>{name}</a>
          )}{' '}
          <span class="muted">{status === 'new' ? (description ?? '') : words.importStatus[status]}</span>
        </li>
      ))}
    </ul>
  );
}
