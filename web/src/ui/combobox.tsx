/** A text field with suggestions, after the ARIA pattern "editable combobox with list autocomplete". */
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';

import css from './combobox.module.css';

interface Suggestion {
  /** What is chosen with it. */
  value: string;
  label: string;
  /** Tells people or things of one name apart. */
  detail: string;
  /** A picture, which says nothing more. */
  picture?: ComponentChildren;
}

/** Of the text field. */
export interface FieldAttributes {
  id: string;
  name?: string;
  placeholder?: string;
  required?: boolean;
  disabled?: boolean;
  autofocus?: boolean;
  /** Without a `label` of its own. */
  'aria-label'?: string;
  'aria-invalid'?: boolean;
  'aria-describedby'?: string | undefined;
  onPaste?: (event: ClipboardEvent) => void;
}

interface Props extends FieldAttributes {
  /** Names the list, for screen readers. */
  listLabel: string;
  suggestions: readonly Suggestion[];
  /** How many there are, or that there are none, for screen readers. */
  status: string;
  maxLength: number;
  value: string;
  onText: (text: string) => void;
  /** Default: the suggestion's value is the text. */
  onChoose?: (value: string) => void;
  /** When the field is left, and at Enter without a suggestion. */
  onEntered?: () => void;
}

export function Combobox(props: Props) {
  const {
    listLabel,
    suggestions,
    status,
    value,
    onText,
    onChoose = onText,
    onEntered,
    ...attributes
  } = props;
  const { id, autofocus = false } = attributes;
  const input = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => {
    // The browser looks for `autofocus` when a dialog opens, and this field may come later.
    if (autofocus) input.current?.focus();
  }, []);
  const acts = { onText, onChoose, onEntered };
  const { isOpen, shown, at, type, choose, onKeyDown } = useList(suggestions, acts);
  return (
    <div>
      <input
        {...attributes}
        ref={input}
        role="combobox"
        autocomplete="off"
        autocapitalize="none"
        spellcheck={false}
        aria-autocomplete="list"
        aria-expanded={shown.length > 0}
        aria-controls={`${id}-list`}
        aria-activedescendant={at < 0 ? undefined : optionId(id, at)}
        value={value}
        onInput={(event) => type(event.currentTarget.value)}
        onKeyDown={onKeyDown}
        onBlur={() => {
          isOpen.value = false;
          onEntered?.();
        }}
        onClick={() => (isOpen.value = true)}
      />
      <List id={id} label={listLabel} suggestions={shown} at={at} below={input} onChoose={choose} />
      <span class="hidden-text" role="status">
        {isOpen.value ? status : ''}
      </span>
    </div>
  );
}

interface Acts extends Required<Pick<Props, 'onText' | 'onChoose'>> {
  onEntered: Props['onEntered'];
}

/** Which suggestions are shown, the active one, and the keys that move it. */
function useList(suggestions: readonly Suggestion[], { onText, onChoose, onEntered }: Acts) {
  const isOpen = useSignal(false);
  const active = useSignal(0);
  const shown = isOpen.value ? suggestions : [];
  const at = Math.min(active.value, shown.length - 1);
  const type = (text: string) => {
    isOpen.value = true;
    // Whoever empties the field means nobody, not the first of all.
    active.value = text === '' ? -1 : 0;
    onText(text);
  };
  const choose = (value: string) => {
    isOpen.value = false;
    active.value = 0;
    onChoose(value);
  };
  const move = (by: number) => {
    if (!isOpen.value) active.value = 0;
    else if (at < 0 && by < 0) active.value = shown.length - 1;
    else active.value = (at + by + shown.length) % Math.max(shown.length, 1);
    isOpen.value = true;
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (by !== undefined) move(by);
    else if (event.key === 'Enter' && shown[at] !== undefined) choose(shown[at].value);
    else if (event.key === 'Enter' && onEntered !== undefined) onEntered();
    else if (event.key === 'Escape' && shown.length > 0) isOpen.value = false;
    else return;
    event.preventDefault();
  };
  return { isOpen, shown, at, type, choose, onKeyDown };
}

interface ListProps {
  id: string;
  label: string;
  suggestions: readonly Suggestion[];
  at: number;
  below: { readonly current: HTMLElement | null };
  onChoose: (value: string) => void;
}

function List({ id, label: listLabel, suggestions, at, below, onChoose }: ListProps) {
  const list = useRef<HTMLUListElement>(null);
  const isShown = suggestions.length > 0;
  useLayoutEffect(() => {
    if (!isShown) return;
    const place = () => placeAt(list.current, below.current);
    list.current?.showPopover();
    place();
    addEventListener('resize', place);
    // Of whatever scrolls around the field.
    addEventListener('scroll', place, true);
    return () => {
      removeEventListener('resize', place);
      removeEventListener('scroll', place, true);
      list.current?.hidePopover();
    };
  }, [isShown]);
  useLayoutEffect(() => {
    if (at >= 0) list.current?.children[at]?.scrollIntoView({ block: 'nearest' });
  }, [at]);
  return (
    <ul
      ref={list}
      id={`${id}-list`}
      role="listbox"
      aria-label={listLabel}
      class={css['list']}
      popover="manual"
    >
      {suggestions.map(({ value, label, detail, picture }, index) => (
        // The field keeps the focus and the keys; a click is the mouse's way to the same.
        <li
          key={value}
          id={optionId(id, index)}
          role="option"
          aria-selected={index === at}
          class={css['option']}
          onMouseDown={(event) => event.preventDefault()}
          onClick={() => onChoose(value)}
        >
          {picture} <span>{label}</span> <span class="muted">{detail}</span>
        </li>
      ))}
    </ul>
  );
}

/** Between the field and its list, and the least between the list and the edge of the window. */
const GAP = 4;

/** The list floats over what is below the field, which stays where it is; or above, where more room is. */
function placeAt(list: HTMLElement | null, field: HTMLElement | null): void {
  if (list === null || field === null) return;
  const { top, bottom, left, width } = field.getBoundingClientRect();
  const room = { above: top - 2 * GAP, below: innerHeight - bottom - 2 * GAP };
  const isBelow = room.below >= Math.min(room.above, list.scrollHeight);
  Object.assign(list.style, {
    left: `${left}px`,
    width: `${width}px`,
    maxHeight: `min(40vh, ${isBelow ? room.below : room.above}px)`,
    top: isBelow ? `${bottom + GAP}px` : 'auto',
    bottom: isBelow ? 'auto' : `${innerHeight - top + GAP}px`,
  });
}

function optionId(id: string, index: number): string {
  return `${id}-option-${index}`;
}
