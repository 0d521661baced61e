/** Follows a run's log, and draws the events of one frame together. */
import { signal, type ReadonlySignal } from '@preact/signals';

import type { LogEntry } from '../../../../client/index.ts';
import { client } from '../../data/api.ts';

export interface RunStream {
  events: ReadonlySignal<readonly LogEntry[]>;
  error: ReadonlySignal<unknown>;
  close(): void;
}

const FRAME_MS = 16;
/** The steps are folded anew each time, so a long log is drawn less often. */
const EVENTS_PER_MS = 40;

/** @param onEvents called when events have come */
export function followRun(id: string, onEvents: () => void): RunStream {
  const events = signal<readonly LogEntry[]>([]);
  const error = signal<unknown>(null);
  const abort = new AbortController();
  let fresh: LogEntry[] = [];
  let timer: ReturnType<typeof setTimeout> | null = null;
  // Not an animation frame: those stop in a tab that is not visible.
  const flush = () => {
    timer = null;
    events.value = [...events.value, ...fresh];
    fresh = [];
    onEvents();
  };
  void (async () => {
    try {
      const stream = client.events('streamRunEvents', { path: { id }, signal: abort.signal });
      for await (const { data } of stream) {
        fresh.push(data);
        timer ??= setTimeout(flush, FRAME_MS + events.value.length / EVENTS_PER_MS);
      }
    } catch (thrown) {
      error.value = thrown;
    }
  })();
  return {
    events,
    error,
    close: () => {
      abort.abort();
      if (timer !== null) clearTimeout(timer);
    },
  };
}
