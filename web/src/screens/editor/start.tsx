/** Starts a run of what is saved. */
import { useLayoutEffect, useRef } from 'preact/hooks';

import { navigate } from '../../app/router.ts';
import { runAddress } from '../../app/routes.ts';
import { StartForm } from '../../ui/start-form/start-form.tsx';
import { tell } from '../../ui/toasts.tsx';
import css from './editor.module.css';
import type { EditorModel } from './model.ts';
import { words } from './words.ts';

export function Start({ model }: { model: EditorModel }) {
  const part = useRef<HTMLDivElement>(null);
  const isAsked = model.isStartAsked.value;
  useLayoutEffect(() => {
    if (!isAsked) return;
    part.current?.querySelector<HTMLElement>('input, select, textarea, button')?.focus();
    model.isStartAsked.value = false;
  }, [isAsked]);
  const workflow = model.base.value?.workflow;
  if (workflow === undefined) return <p class="muted">{words.start.saveFirst}</p>;
  if (!workflow.can.includes('run')) return <p class="muted">{words.start.notRunnable}</p>;
  return (
    <div ref={part} class={css['start']}>
      {model.isChanged.value && <p class={css['old']}>{words.start.unsaved}</p>}
      <StartForm
        key={workflow.revision}
        workflowId={workflow.id}
        schema={workflow.input_schema}
        onStarted={(run) => {
          navigate(runAddress(run.id));
          tell(words.start.started(workflow.name));
        }}
      />
    </div>
  );
}
