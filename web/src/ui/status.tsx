/** A status is always a mark, a word and a colour. */

import type { Status } from './statuses.ts';

const SHAPES: Record<Status, string> = {
  pending: 'M8 3.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9',
  running: 'M5 3.5v9l7.5-4.5z',
  waiting: 'M5.5 3.5v9M10.5 3.5v9',
  suspended: 'M4.5 4.5h7v7h-7z',
  cancelled: 'M4 8h8',
  faulted: 'M4.5 4.5l7 7M11.5 4.5l-7 7',
  completed: 'M3.5 8.5l3 3 6-7',
  open: 'M8 4.5a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7',
  claimed: 'M8 4.5a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7M8 7.5v1',
  decided: 'M3.5 8.5l3 3 6-7',
  expired: 'M4 8h8',
};

export function StatusMark({ status }: { status: Status }) {
  return (
    <svg class={`status-${status}`} width="16" height="16" viewBox="0 0 16 16" aria-hidden="true">
      <path
        d={SHAPES[status]}
        fill="none"
        stroke="currentColor"
        stroke-width="2"
        stroke-linecap="round"
        stroke-linejoin="round"
      />
    </svg>
  );
}

export function StatusText({ status }: { status: Status }) {
  return (
    <span class={`status-${status} status`}>
      <StatusMark status={status} /> {status}
    </span>
  );
}
