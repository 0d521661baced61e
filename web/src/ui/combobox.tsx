/** A text field with suggestions, after the ARIA pattern "editable combobox with list autocomplete". */
import { useSignal } from '@preact/signals';

import css from './combobox.module.css';

interface Suggestion {
  /** What the field holds when it is chosen. */
  value: string;
  label: string;
  /** Tells people or things of one name apart. */
  detail: string;
}

interface Props {
  id: string;
  name: string;
  /** Names the list, for screen readers. */
  listLabel: string;
  suggestions: readonly Suggestion[];
  /** How many there are, or that there are none, for screen readers. */
  status: string;
  maxLength: number;
  onText: (text: string) => void;
}

export function Combobox({ id, name, listLabel, suggestions, status, maxLength, onText }: Props) {
  const text = useSignal('');
  const isOpen = useSignal(false);
  const active = useSignal(0);
  const shown = isOpen.value ? suggestions : [];
  const at = Math.min(active.value, shown.length - 1);
  const enter = (next: string, opens: boolean) => {
    text.value = next;
    isOpen.value = opens;
    active.value = 0;
    onText(next);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (by !== undefined) {
      if (isOpen.value) active.value = (at + by + shown.length) % Math.max(shown.length, 1);
      isOpen.value = true;
    } else if (event.key === 'Enter' && shown[at] !== undefined) enter(shown[at].value, false);
    else if (event.key === 'Escape' && shown.length > 0) isOpen.value = false;
    else return;
    event.preventDefault();
  };
  return (
    <div>
      <input
        id={id}
        name={name}
        role="combobox"
        required
        autocomplete="off"
        autocapitalize="none"
        spellcheck={false}
        maxLength={maxLength}
        aria-autocomplete="list"
        aria-expanded={shown.length > 0}
        aria-controls={`${id}-list`}
        aria-activedescendant={at < 0 ? undefined : optionId(id, at)}
        value={text}
        autofocus
        onInput={(event) => enter(event.currentTarget.value, true)}
        onKeyDown={onKeyDown}
        onBlur={() => (isOpen.value = false)}
        onClick={() => (isOpen.value = true)}
      />
      <List id={id} label={listLabel} suggestions={shown} at={at} onChoose={(value) => enter(value, false)} />
      <span class="hidden-text" role="status">
        {isOpen.value ? status : ''}
      </span>
    </div>
  );
}

interface ListProps {
  id: string;
  label: string;
  suggestions: readonly Suggestion[];
  at: number;
  onChoose: (value: string) => void;
}

function List({ id, label: listLabel, suggestions, at, onChoose }: ListProps) {
  return (
    <ul id={`${id}-list`} role="listbox" aria-label={listLabel} class={css['list']}>
      {suggestions.map(({ value, label, detail }, index) => (
        // The field keeps the focus and the keys; a click is the mouse's way to the same.
        <li
          key={value}
          id={optionId(id, index)}
          role="option"
          aria-selected={index === at}
          class={css['option']}
          onPointerDown={(event) => event.preventDefault()}
          onClick={() => onChoose(value)}
        >
          <span>{label}</span> <span class="muted">{detail}</span>
        </li>
      ))}
    </ul>
  );
}

function optionId(id: string, index: number): string {
  return `${id}-option-${index}`;
}
