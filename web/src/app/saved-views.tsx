import { useSignal } from '@preact/signals';

import { choices } from '../data/preferences.ts';
import { Dialog } from '../ui/dialog.tsx';
import { useKeys } from './keys.ts';
import { lazy } from './lazy.tsx';
import { query } from './router.ts';
import { filterIn, type ListName } from './screens.ts';
import css from './saved-views.module.css';
import { words } from './saved-views-words.ts';

const Panel = lazy(async () => (await import('./saved-views-panel.tsx')).SavedViewsPanel);

/** Names the saved view of a list that is shown, if it is one, and opens the others. */
export function SavedViews({ list }: { list: ListName }) {
  const isOpen = useSignal(false);
  const open = () => (isOpen.value = true);
  useKeys({ v: open }, words.shortcuts);
  const shown = filterIn(query.value);
  const current = (choices.value.views[list] ?? []).find(
    (view) => shown !== '' && filterIn(Object.fromEntries(new URLSearchParams(view.query))) === shown,
  );
  return (
    <>
      <button type="button" class={css['button']} aria-haspopup="dialog" title={current?.name} onClick={open}>
        <span class={css['shown']}>
          <span class={current === undefined ? undefined : 'hidden-text'}>{words.views}</span> {current?.name}
        </span>
        <kbd aria-hidden="true">v</kbd>
      </button>
      <Dialog open={isOpen.value} title={words.title} onClose={() => (isOpen.value = false)}>
        <Panel list={list} filter={shown} onClose={() => (isOpen.value = false)} />
      </Dialog>
    </>
  );
}
