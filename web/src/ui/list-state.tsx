/** What a list shows around its records: that it loads, that it is empty and why, or what went wrong. */
import type { ReadonlySignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';

import { useLate } from './late.ts';
import css from './list-state.module.css';
import { words } from './words.ts';
import { ProblemText } from './problem.tsx';

/** A list that is read page by page, live or not. */
export interface ShownList<T> {
  items: ReadonlySignal<readonly T[]>;
  /** Of the last reading; null if it went well. */
  error: ReadonlySignal<unknown>;
  isLoaded: ReadonlySignal<boolean>;
  isReading: ReadonlySignal<boolean>;
  hasMore: ReadonlySignal<boolean>;
  reload(): Promise<void>;
  more(): Promise<void>;
}

interface Props<T> {
  list: ShownList<T>;
  /** Why there are no records, and what to do. */
  empty: ComponentChildren;
  /** The filter in words, if there is one. */
  filter?: string;
  onClear?: () => void;
  /** The records. */
  children: ComponentChildren;
}

export function ListState<T>({ list, empty, filter = '', onClear, children }: Props<T>) {
  const error = list.error.value;
  const isLoading = !list.isLoaded.value && error === null;
  const showsSkeleton = useLate(isLoading);
  const isEmpty = list.items.value.length === 0;
  if (isLoading)
    return (
      <div aria-busy="true">
        {showsSkeleton && Array.from({ length: 6 }, (_, at) => <div key={at} class={css['skeleton']} />)}
      </div>
    );
  return (
    <div class={css['list']} aria-busy={list.isReading.value}>
      {error !== null && <ProblemText error={error} retry={() => void list.reload()} />}
      {!isEmpty && children}
      {isEmpty && error === null && (
        <div class={css['empty']}>
          {filter === '' ? empty : <p>{words.noneMatches(filter)}</p>}
          {filter !== '' && onClear !== undefined && (
            <button type="button" onClick={onClear}>
              {words.clear}
            </button>
          )}
        </div>
      )}
      {list.hasMore.value && (
        <button type="button" class={css['more']} onClick={() => void list.more()}>
          {words.more}
        </button>
      )}
    </div>
  );
}
