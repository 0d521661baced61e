import type { Signal } from '@preact/signals';
import { useRef } from 'preact/hooks';

import type { Marks } from './marks.ts';
import css from './start-form.module.css';
import { words } from './words.ts';

const NAMES = ['key', 'tags', 'labels'] as const;

/** Most runs need none of these, so they are folded. */
export function MarkFields({ id, marks }: { id: string; marks: Signal<Marks> }) {
  const opens = useRef(NAMES.some((name) => marks.value[name] !== ''));
  return (
    <details class={css['marks']} open={opens.current}>
      <summary>{words.marks.title}</summary>
      <div class={css['form']}>
        {NAMES.map((name) => (
          <div key={name}>
            <label class={css['label']} for={`${id}-${name}`}>
              {words.marks[name]}
            </label>
            <input
              id={`${id}-${name}`}
              value={marks.value[name]}
              aria-describedby={`${id}-${name}-help`}
              onInput={({ currentTarget }) => (marks.value = { ...marks.value, [name]: currentTarget.value })}
            />
            <p id={`${id}-${name}-help`} class={css['help']}>
              {words.marks.help[name]}
            </p>
          </div>
        ))}
      </div>
    </details>
  );
}
