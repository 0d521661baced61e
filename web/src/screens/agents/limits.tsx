/** The limits of an agent's calls, a form to set them, and the state of its circuit breaker. */
import { useState } from 'preact/hooks';

import type { Agent, AgentLimits, AgentLimitsPatch } from '../../../../client/index.ts';
import { client } from '../../data/api.ts';
import { FormDialog } from '../../ui/form-dialog.tsx';
import page from '../../ui/page.module.css';
import { ProblemText } from '../../ui/problem.tsx';
import { tell } from '../../ui/toasts.tsx';
import { refreshAgent } from './agent-data.ts';
import { words } from './limit-words.ts';

const PER = ['second', 'minute', 'hour', 'day'] as const;
const whole = (title: string) => ({ type: 'integer', minimum: 1, title });
const seconds = (title: string) => ({ type: 'number', exclusiveMinimum: 0, title });

const schema = {
  type: 'object',
  properties: {
    concurrency: whole(words.concurrency),
    calls: whole(words.calls),
    per: { title: words.per, oneOf: PER.map((one) => ({ const: one, title: one })) },
    failures: whole(words.failures),
    within: seconds(words.within),
    open_for: seconds(words.openFor),
  },
};

/** The change that the flat form makes. A part without its number is no limit. */
function limitsOf(form: Readonly<Record<string, unknown>>): AgentLimitsPatch | null {
  const number = (name: string): number | null => {
    const value = form[name];
    return typeof value === 'number' ? value : null;
  };
  const [concurrency, calls, failures] = [number('concurrency'), number('calls'), number('failures')];
  if (concurrency === null && calls === null && failures === null) return null;
  const per = PER.find((one) => one === form['per']) ?? 'minute';
  return {
    concurrency,
    rate: calls === null ? null : { calls, per },
    breaker: failures === null ? null : { failures, within: number('within'), open_for: number('open_for') },
  };
}

function textOf({ concurrency, rate, breaker }: AgentLimits): string {
  return [
    concurrency !== undefined && words.atOnce(concurrency),
    rate !== undefined && words.rate(rate.calls, rate.per),
    breaker !== undefined && words.breaker(breaker.failures),
  ]
    .filter((part) => part !== false)
    .join(', ');
}

export function Limits({ agent: { id, limits, circuit, can } }: { agent: Agent }) {
  const mayChange = can.includes('update');
  if (limits === null && !mayChange) return null;
  const save = async (form: Record<string, unknown>): Promise<void> => {
    await client.call('updateAgent', { path: { id }, body: { limits: limitsOf(form) } });
    await refreshAgent(id);
    tell(words.saved);
  };
  return (
    <section class={page['part']}>
      <h2>{words.title}</h2>
      {limits === null ? <p class="muted">{words.none}</p> : <p>{textOf(limits)}</p>}
      {circuit !== undefined && limits?.breaker && <p role="status">{words.circuit[circuit.state]}</p>}
      <div class={page['actions']}>
        {mayChange && (
          <FormDialog
            id="limits"
            button={limits === null ? words.set : words.change}
            title={words.title}
            help={words.help}
            submit={words.save}
            schema={schema}
            values={{
              concurrency: limits?.concurrency,
              ...limits?.rate,
              ...limits?.breaker,
            }}
            onSubmit={save}
          />
        )}
        {mayChange && circuit !== undefined && circuit.state !== 'closed' && <Close id={id} />}
      </div>
    </section>
  );
}

function Close({ id }: { id: string }) {
  const [error, setError] = useState<unknown>(null);
  const close = async (): Promise<void> => {
    setError(null);
    try {
      await client.call('closeAgentCircuit', { path: { id } });
      await refreshAgent(id);
      tell(words.closed);
    } catch (failed) {
      setError(failed);
    }
  };
  return (
    <>
      <button type="button" onClick={() => void close()}>
        {words.close}
      </button>
      {error !== null && <ProblemText error={error} />}
    </>
  );
}
