/**
 * The text of a definition: CodeMirror in a shadow root, where its styles are sheets of its own, as the page's
 * policy demands.
 */
import { effect } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';

import { createView, type TextView } from './code-mirror.ts';
import type { Registry } from './completions.ts';
import css from './editor.module.css';
import type { EditorModel } from './model.ts';

interface Props {
  model: EditorModel;
  registry: () => Registry;
  onRun: () => void;
}

export function CodeEditor({ model, registry, onRun }: Props) {
  const host = useRef<HTMLDivElement>(null);
  const run = useRef(onRun);
  run.current = onRun;
  useEffect(() => {
    const element = host.current;
    if (element === null) return undefined;
    const root = element.shadowRoot ?? element.attachShadow({ mode: 'open' });
    const view: TextView = createView(root, {
      text: model.text.peek(),
      format: model.format.peek(),
      onEdit: (text) => model.edit({ text }),
      onCursor: (offset) => (model.cursor.value = offset),
      onRun: () => run.current(),
      onNextProblem: () => model.goToProblem(),
      onLayOut: () => void model.layOut(model.format.value),
      definition: () => model.definition.value,
      registry,
    });
    const ends = [
      effect(() => view.show(model.text.value, model.format.value)),
      effect(() => {
        const checked = model.checked.value;
        if (checked !== null) view.mark(checked.problems);
      }),
      effect(() => {
        const to = model.jump.value;
        if (to === null) return;
        view.goTo(to.from);
        model.jump.value = null;
      }),
    ];
    return () => {
      for (const end of ends) end();
      view.close();
    };
  }, [model]);
  return <div ref={host} class={css['code']} />;
}
