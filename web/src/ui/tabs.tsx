/** Tabs after the ARIA pattern: one tab stop, arrows move, the panel belongs to the tab. */
import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';

import css from './tabs.module.css';

interface Props<Id extends string> {
  label: string;
  tabs: readonly { id: Id; label: string }[];
  current: Id;
  onChange: (id: Id) => void;
  children: ComponentChildren;
}

export function Tabs<Id extends string>({ label, tabs, current, onChange, children }: Props<Id>) {
  const prefix = useId();
  const onKeyDown = (event: KeyboardEvent) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    const at = tabs.findIndex(({ id }) => id === current);
    const next = tabs[(at + by + tabs.length) % tabs.length];
    if (next === undefined) return;
    onChange(next.id);
    document.getElementById(`${prefix}-${next.id}`)?.focus();
  };
  return (
    <div>
      <div class={css['tabs']} role="tablist" aria-label={label} tabIndex={-1} onKeyDown={onKeyDown}>
        {tabs.map(({ id, label: text }, index) => (
          <button
            key={id}
            id={`${prefix}-${id}`}
            type="button"
            role="tab"
            class={css['tab']}
            aria-selected={id === current}
            aria-controls={`${prefix}-panel`}
            tabIndex={id === current ? 0 : -1}
            onClick={() => onChange(id)}
          >
            {text} <kbd aria-hidden="true">{index + 1}</kbd>
          </button>
        ))}
      </div>
      <div id={`${prefix}-panel`} role="tabpanel" aria-labelledby={`${prefix}-${current}`}>
        {children}
      </div>
    </div>
  );
}
