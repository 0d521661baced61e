/** A screen that lists records: title, filter with saved views, and the records or why there are none. */
import type { ComponentChildren } from 'preact';

import { ListState, type ShownList } from '../ui/list-state.tsx';
import page from '../ui/page.module.css';
import { useTitle } from '../ui/title.ts';
import { useKeys, type Keys, type KeyTexts } from './keys.ts';
import { unfilteredAddress, useSeenList, type ListName } from './neighbours.tsx';
import { navigate } from './router.ts';
import { SavedViews } from './saved-views.tsx';

interface Props<T> {
  name: ListName;
  title: string;
  list: ShownList<T>;
  /** Beside the title. */
  actions?: ComponentChildren;
  /** Above the filter. */
  summary?: ComponentChildren;
  /** The controls of the filter. */
  filters: ComponentChildren;
  /** The filter in words; empty parts are left out. */
  filter: readonly string[];
  /** Beside j and k, which go from one record to the next. */
  keys?: Keys;
  texts: KeyTexts;
  /** Why there are no records, and what to do. */
  empty: ComponentChildren;
  /** Between the filter and the records. */
  bar?: ComponentChildren;
  /** The records, in an element with the attribute `data-records`. */
  children: ComponentChildren;
}

export function ListScreen<T extends { id: string }>(props: Props<T>) {
  const { name, title, list, actions, summary, filters, filter, keys = {}, texts, bar, children } = props;
  useTitle(title);
  useSeenList(name, list.items.value);
  useKeys({ j: () => focusRecord(1), k: () => focusRecord(-1), ...keys }, texts);
  return (
    <div class={page['page']}>
      <div class={page['head']}>
        <h1>{title}</h1>
        <div class={page['actions']}>{actions}</div>
      </div>
      {summary}
      <search class={page['filters']}>
        {filters}
        <SavedViews list={name} />
      </search>
      {bar}
      <ListState
        list={list}
        filter={filter.filter((part) => part !== '').join(', ')}
        onClear={() => navigate(unfilteredAddress(name))}
        empty={props.empty}
      >
        {children}
      </ListState>
    </div>
  );
}

/** Goes from one record's first link or button to the next. */
export function focusRecord(by: 1 | -1): void {
  const records = [...document.querySelectorAll<HTMLElement>('[data-records] > *')];
  const targets = records.flatMap((record) => record.querySelector<HTMLElement>('a, button') ?? []);
  const at = records.findIndex((record) => record.contains(document.activeElement));
  targets[at < 0 ? 0 : Math.min(Math.max(at + by, 0), targets.length - 1)]?.focus();
}
