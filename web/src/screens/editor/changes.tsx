/** What the text changes in a saved revision. */
import { useSignal } from '@preact/signals';
import { useId } from 'preact/hooks';

import type { WorkflowRevision } from '../../../../client/index.ts';
import { client } from '../../data/api.ts';
import { useQuery } from '../../data/query.ts';
import { ProblemText } from '../../ui/problem.tsx';
import { TextDiff } from '../../ui/text-diff/text-diff.tsx';
import css from './editor.module.css';
import type { EditorModel } from './model.ts';
import { words } from './words.ts';

/** Older ones can be compared on the page of the workflow. */
const MAX_OFFERED = 50;

export function Changes({ model }: { model: EditorModel }) {
  const base = model.base.value;
  if (base === null) return <p class="muted">{words.changes.none}</p>;
  return <Compared model={model} id={base.workflow.id} newest={base.workflow.revision} />;
}

function Compared({ model, id, newest }: { model: EditorModel; id: string; newest: number }) {
  const select = useId();
  const chosen = useSignal<number | null>(null);
  const revision = chosen.value ?? newest;
  const { data, error } = useQuery<WorkflowRevision>({
    queryKey: ['revision', id, revision],
    // A revision never changes.
    staleTime: Infinity,
    queryFn: ({ signal }) => client.call('getWorkflowRevision', { path: { id, revision }, signal }),
  });
  const offered = Array.from({ length: Math.min(newest, MAX_OFFERED) }, (_, index) => newest - index);
  const definition = model.checked.value?.definition;
  return (
    <div class={css['playground']}>
      <label for={select}>{words.changes.against}</label>
      <select
        id={select}
        value={revision}
        onChange={(event) => (chosen.value = Number(event.currentTarget.value))}
      >
        {offered.map((number) => (
          <option key={number} value={number}>
            {words.revision(number)}
          </option>
        ))}
      </select>
      {error !== null && <ProblemText error={error} />}
      {definition === undefined && <p class="muted">{words.changes.unreadable}</p>}
      {data !== undefined && definition !== undefined && (
        <TextDiff
          before={JSON.stringify(data.definition, null, 2)}
          after={JSON.stringify(definition, null, 2)}
          label={words.changes.comparison(revision)}
        />
      )}
    </div>
  );
}
