/** The buttons of a row that has too many for one line: the rarer ones are shown on demand. */
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';

import page from '../../ui/page.module.css';
import css from './settings.module.css';
import { words } from './words.ts';

interface Props {
  children: ComponentChildren;
  /**
   * In the row, and not in a menu above it: its dialogs stay open, and the table does not cut it. After the
   * button that opens it, as the keys go on from there.
   */
  more: ComponentChildren;
}

export function RowActs({ children, more }: Props) {
  const isOpen = useSignal(false);
  return (
    <span class={`${page['actions']} ${isOpen.value ? '' : css['line']}`}>
      {children}
      <button type="button" aria-expanded={isOpen.value} onClick={() => (isOpen.value = !isOpen.value)}>
        {words.moreActs}
      </button>
      {isOpen.value && more}
    </span>
  );
}
