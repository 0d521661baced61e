/** What the text changes in a saved revision. */
import { useSignal } from '@preact/signals';
import { useId } from 'preact/hooks';

import css from './editor.module.css';
import type { EditorModel } from './model.ts';
import { RevisionDiff } from './revision-diff.tsx';
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
  const offered = Array.from({ length: Math.min(newest, MAX_OFFERED) }, (_, index) => newest - index);
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
      <RevisionDiff model={model} id={id} revision={revision} label={words.changes.comparison(revision)} />
    </div>
  );
}
