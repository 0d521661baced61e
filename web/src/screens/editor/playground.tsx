/** Evaluates expressions on the data of the last run, or on one's own, with the engine of runs. */
import { useSignal } from '@preact/signals';
import { useEffect, useId } from 'preact/hooks';

import type { Run } from '../../../../client/index.ts';
import { client } from '../../data/api.ts';
import { useQuery } from '../../data/query.ts';
import { dataOf } from './run-data.ts';
import css from './editor.module.css';
import type { EditorModel } from './model.ts';
import { words } from './words.ts';

const PAUSE_MS = 120;
const FIRST = '{}';

export function Playground({ model }: { model: EditorModel }) {
  const id = useId();
  const sources = dataOf(useLastRun(model.id.value) ?? null);
  const source = useSignal('');
  const data = useSignal(FIRST);
  const expression = useSignal('.');
  const first = sources[0];
  useEffect(() => {
    if (first === undefined || data.value !== FIRST) return;
    source.value = first.label;
    data.value = first.text;
  }, [first?.label]);
  return (
    <div class={css['playground']}>
      <label for={`${id}-source`}>{words.try.source}</label>
      <select
        id={`${id}-source`}
        value={source.value}
        onChange={(event) => {
          source.value = event.currentTarget.value;
          data.value = sources.find(({ label }) => label === source.value)?.text ?? FIRST;
        }}
      >
        <option value="">{words.try.own}</option>
        {sources.map(({ label }) => (
          <option key={label} value={label}>
            {label}
          </option>
        ))}
      </select>
      <Code
        id={`${id}-data`}
        label={words.try.data}
        rows={8}
        value={data.value}
        onInput={(text) => {
          source.value = '';
          data.value = text;
        }}
      />
      <Code
        id={`${id}-expression`}
        label={words.try.expression}
        rows={2}
        value={expression.value}
        onInput={(text) => (expression.value = text)}
      />
      <p class="muted">{words.try.note}</p>
      <Result model={model} expression={expression.value} data={data.value} />
    </div>
  );
}

/** The last run of a workflow with its data; null if it never ran. */
function useLastRun(workflowId: string | null): Run | null | undefined {
  const { data } = useQuery<Run | null>({
    queryKey: ['last run with data', workflowId],
    enabled: workflowId !== null,
    queryFn: async () => {
      const query = { limit: 1, workflow_id: workflowId ?? '' };
      const [last] = (await client.page('listRuns', { query })).items;
      return last === undefined ? null : client.call('getRun', { path: { id: last.id } });
    },
  });
  return data;
}

interface CodeProps {
  id: string;
  label: string;
  rows: number;
  value: string;
  onInput: (text: string) => void;
}

function Code({ id, label, rows, value, onInput }: CodeProps) {
  return (
    <>
      <label for={id}>{label}</label>
      <textarea
        id={id}
        class={css['mono']}
        rows={rows}
        value={value}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
    </>
  );
}

interface ResultProps {
  model: EditorModel;
  expression: string;
  data: string;
}

function Result({ model, expression, data }: ResultProps) {
  const result = useSignal<{ output: string } | { problem: string } | null>(null);
  useEffect(() => {
    let isLast = true;
    const timer = setTimeout(() => {
      const answered = (answer: { output: string } | { problem: string }) => {
        if (isLast) result.value = answer;
      };
      model.worker
        .ask('evaluate', { expression, input: data })
        .then(answered, () => answered({ problem: words.problems.unavailable }));
    }, PAUSE_MS);
    return () => {
      isLast = false;
      clearTimeout(timer);
    };
  }, [expression, data]);
  const shown = result.value;
  if (shown === null) return null;
  return (
    <section class={css['result']} role="status" aria-label={words.try.result}>
      <h2>{words.try.result}</h2>
      {'problem' in shown ? (
        <p class={css['refused']}>{shown.problem}</p>
      ) : (
        <pre>{shown.output === '' ? words.try.nothing : shown.output}</pre>
      )}
    </section>
  );
}
