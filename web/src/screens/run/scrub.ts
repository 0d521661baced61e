/** At which event the run is shown. The address has it as `at`; without it, the page follows the run. */
import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';

import { query, setQuery } from '../../app/router.ts';

export interface Scrub {
  /** `seq` of the last event that is shown. */
  at: number;
  /** `seq` of the first event of the log that the page has. */
  first: number;
  /** `seq` of the last event of the log. */
  last: number;
  /** Shows whatever comes. */
  isLive: boolean;
  go: (to: number) => void;
  move: (by: number) => void;
  live: () => void;
}

/** Browsers allow few changes of the address a second; dragging makes many. */
const WRITE_MS = 250;

export function useScrub(first: number, last: number): Scrub {
  /** What the address does not have yet. */
  const moving = useSignal<{ at: number | null } | null>(null);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const written = positionIn(query.value['at']);
  const wanted = moving.value === null ? written : moving.value.at;
  const isLive = wanted === null;
  // What the address names may be before what the page has of a long log.
  const at = isLive ? last : Math.min(Math.max(wanted, first), last);
  const set = (to: number | null) => {
    moving.value = { at: to };
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      setQuery({ at: to === null ? undefined : String(to) }, 'replace');
      moving.value = null;
    }, WRITE_MS);
  };
  /** At the end, the page follows the run. */
  const go = (to: number) => set(to >= last ? null : Math.max(to, first));
  /** Read at the time of the key, so that quick keys add up. */
  const move = (by: number) => {
    const from = moving.value === null ? positionIn(query.value['at']) : moving.value.at;
    go((from ?? last) + by);
  };
  return { at, first, last, isLive, go, move, live: () => set(null) };
}

function positionIn(text: string | undefined): number | null {
  const at = Number(text ?? '');
  return Number.isInteger(at) && at > 0 ? at : null;
}
