/** What can be done with the selected runs, asked before it is done. */
import type { Signal } from '@preact/signals';

import type { RunBatch } from '../../../../client/index.ts';
import { client } from '../../data/api.ts';
import { randomKey } from '../../data/random-key.ts';
import { Confirm } from '../../ui/confirm.tsx';
import { complain, tell } from '../../ui/toasts.tsx';
import { BULK_ACTIONS, BULK_KEYS, outcomeOf, runsFor, type BulkAction, type ListedRun } from './run-list.ts';
import css from './runs.module.css';
import { words } from './words.ts';

/** As many runs as one request takes. */
const MAX_RUNS = 100;

interface Props {
  selected: readonly ListedRun[];
  /** What the user is asked to confirm. */
  asking: Signal<BulkAction | null>;
  onClear: () => void;
  /** Runs that were acted on are no longer selected. */
  onDone: (results: RunBatch['results']) => void;
}

export function BulkBar({ selected, asking, onClear, onDone }: Props) {
  const action = asking.value;
  const chosen = action === null ? [] : runsFor(action, selected);
  const others = selected.length - chosen.length;
  return (
    <>
      {selected.length > 0 && (
        <div class={css['bulk']} role="toolbar" aria-label={words.selected(selected.length)}>
          <span>{words.selected(selected.length)}</span>
          {BULK_ACTIONS.filter((one) => runsFor(one, selected).length > 0).map((one) => (
            <button key={one} type="button" onClick={() => (asking.value = one)}>
              {words.actions[one]} <kbd aria-hidden="true">{BULK_KEYS[one]}</kbd>
            </button>
          ))}
          <button type="button" class="plain" onClick={onClear}>
            {words.clearSelection}
          </button>
        </div>
      )}
      <Confirm
        title={action === null ? null : words.asks[action](chosen.length)}
        text={
          action === null
            ? ''
            : [words.explains[action], others === 0 ? '' : words.leftAlone(others)].join(' ').trim()
        }
        act={action === null ? '' : words.verb[action](chosen.length)}
        back={words.back}
        onAct={async () => {
          if (action !== null) await actOn(action, chosen, onDone);
        }}
        onClose={() => (asking.value = null)}
      />
    </>
  );
}

/** @throws ApiError if a whole request is refused; what was done before it stays done */
async function actOn(action: BulkAction, runs: readonly ListedRun[], onDone: Props['onDone']): Promise<void> {
  const results: RunBatch['results'] = [];
  try {
    for (let at = 0; at < runs.length; at += MAX_RUNS) {
      const ids = runs.slice(at, at + MAX_RUNS).map(({ id }) => id);
      const answer = await client.call('actOnRuns', { body: { action, ids }, idempotencyKey: randomKey() });
      results.push(...answer.results);
    }
  } finally {
    onDone(results);
    const { done, refused } = outcomeOf(results);
    if (done > 0) tell(words.done[action](done));
    for (const [reason, count] of refused) complain(words.refused(count, reason));
  }
}
