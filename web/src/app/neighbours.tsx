/**
 * The lists that somebody has seen last: a record leads to its neighbours there, and back to the list with
 * the same filter.
 */
import { useLayoutEffect } from 'preact/hooks';

import { whenUserLeaves } from '../data/session.ts';
import { focusDrawn } from '../ui/focus.ts';
import { useKeys } from './keys.ts';
import { navigate, query } from './router.ts';
import {
  agentAddress,
  agentsAddress,
  marketItemAddress,
  marketplaceAddress,
  runAddress,
  runsAddress,
  workflowAddress,
  workflowsAddress,
} from './routes.ts';
import css from './neighbours.module.css';
import { words } from './neighbours-words.ts';

const ADDRESSES = {
  runs: { all: runsAddress, one: runAddress },
  workflows: { all: workflowsAddress, one: workflowAddress },
  agents: { all: agentsAddress, one: agentAddress },
  marketplace: { all: marketplaceAddress, one: marketItemAddress },
} as const;
export type ListName = keyof typeof ADDRESSES;

const seen = new Map<ListName, { address: string; ids: readonly string[] }>();

whenUserLeaves(() => seen.clear());

/** Remembers what the list shows. @param records empty while they are read */
export function useSeenList(list: ListName, records: readonly { id: string }[]): void {
  useLayoutEffect(() => {
    const address = location.pathname + location.search;
    seen.set(list, { address, ids: records.map(({ id }) => id) });
  });
}

/** The list as it was seen last, else without a filter. */
export function listAddress(list: ListName): string {
  return seen.get(list)?.address ?? ADDRESSES[list].all();
}

export function unfilteredAddress(list: ListName): string {
  return ADDRESSES[list].all();
}

/** The way to the records before and after this one, with the keys [ and ]. */
export function Neighbours({ list, id }: { list: ListName; id: string }) {
  const ids = seen.get(list)?.ids ?? [];
  const at = ids.indexOf(id);
  const go = (by: 1 | -1) => {
    const next = ids[at + by];
    if (next === undefined) return false;
    navigate(ADDRESSES[list].one(next, { view: query.value['view'] }), 'replace');
    return true;
  };
  useKeys(at < 0 ? {} : { '[': () => go(-1), ']': () => go(1) }, words.shortcuts);
  if (at < 0) return null;
  const button = (by: 1 | -1, text: string, key: string) => (
    <button
      type="button"
      class="plain"
      title={text}
      data-by={by}
      disabled={ids[at + by] === undefined}
      onClick={() => {
        if (go(by)) focusDrawn(`.${css['neighbours']} [data-by="${by}"]`);
      }}
    >
      <span class="hidden-text">{text}</span>
      <kbd aria-hidden="true">{key}</kbd>
      <span class="touch-only" aria-hidden="true">
        {by < 0 ? '‹' : '›'}
      </span>
    </button>
  );
  return (
    <span class={css['neighbours']}>
      {button(-1, words.before, '[')}
      {words.place(at + 1, ids.length)}
      {button(1, words.after, ']')}
    </span>
  );
}
