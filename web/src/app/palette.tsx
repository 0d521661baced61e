/**
 * The palette: goes to a screen, a view or a record, or does something, by its name. The field is here at
 * once, so that nothing typed is lost; what it finds is loaded when it is first opened.
 */
import { useSignal, type Signal } from '@preact/signals';
import { useLayoutEffect, useRef } from 'preact/hooks';

import { lazy } from './lazy.tsx';
import type { Entry } from './palette-entries.ts';
import { optionId, PALETTE_LIST } from './palette-state.ts';
import css from './palette.module.css';
import { words } from './words.ts';

const MAX_TEXT = 100;

const List = lazy(async () => (await import('./palette-list.tsx')).PaletteList);

export function Palette({ isOpen }: { isOpen: Signal<boolean> }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    if (isOpen.value) dialog.current?.showModal();
    else dialog.current?.close();
  }, [isOpen.value]);
  return (
    // Esc and the buttons of the keyboard do the same as a click beside the dialog.
    <dialog
      ref={dialog}
      class={css['palette']}
      aria-label={isOpen.value ? words.palette : undefined}
      onClose={() => {
        // The event comes a moment after the closing. By then the palette may have been opened again.
        if (dialog.current?.open !== true) isOpen.value = false;
      }}
      onClick={({ target }) => {
        if (target === dialog.current) isOpen.value = false;
      }}
    >
      {isOpen.value && <Content onClose={() => (isOpen.value = false)} />}
    </dialog>
  );
}

function Content({ onClose }: { onClose: () => void }) {
  const text = useSignal('');
  const active = useSignal(0);
  const entries = useSignal<readonly Entry[] | null>(null);
  /** Enter came before there was an entry. */
  const isAwaited = useSignal(false);
  const choose = (entry: Entry) => {
    onClose();
    // The dialog is closed by then, and has given the focus back.
    queueMicrotask(() => entry.act());
  };
  const first = entries.value?.[0];
  useLayoutEffect(() => {
    if (isAwaited.value && first !== undefined) choose(first);
  }, [isAwaited.value, first]);
  const onKeyDown = (event: KeyboardEvent) => {
    const shown = entries.value ?? [];
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const entry = shown[active.value];
    if (by !== undefined) active.value = (active.value + by + shown.length) % Math.max(shown.length, 1);
    else if (event.key === 'Enter' && entry !== undefined) choose(entry);
    else if (event.key === 'Enter') isAwaited.value = true;
    else if (event.key === 'k' && (event.metaKey || event.ctrlKey)) onClose();
    else return;
    event.preventDefault();
  };
  const count = entries.value?.length ?? 0;
  return (
    <>
      <input
        type="text"
        role="combobox"
        aria-label={words.palette}
        placeholder={words.palette}
        aria-autocomplete="list"
        aria-expanded={count > 0}
        aria-controls={PALETTE_LIST}
        aria-activedescendant={count > 0 ? optionId(active.value) : undefined}
        autocomplete="off"
        autocapitalize="none"
        spellcheck={false}
        maxLength={MAX_TEXT}
        autofocus
        value={text}
        onInput={({ currentTarget }) => {
          text.value = currentTarget.value;
          active.value = 0;
          isAwaited.value = false;
        }}
        onKeyDown={onKeyDown}
      />
      <List text={text} active={active} entries={entries} onChoose={choose} />
    </>
  );
}
