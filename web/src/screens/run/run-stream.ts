/** Follows a run's log, and draws the events of one frame together. */
import { effect, signal, untracked, type ReadonlySignal } from '@preact/signals';

import { isPartial, type LogEntry, type PartialOutput } from '../../../../client/index.ts';
import { client } from '../../data/api.ts';
import { isVisible } from '../../data/visible.ts';
import { withPartials, type LiveOutputs } from './live-output.ts';

export interface RunStream {
  /** Without gaps: the entry at `index` has the number `after + 1 + index`. */
  log: ReadonlySignal<{ after: number; events: readonly LogEntry[] }>;
  /** What running calls have produced so far. */
  live: ReadonlySignal<LiveOutputs>;
  error: ReadonlySignal<unknown>;
  /** Begins anew after an entry. From the first one on, the log is kept as a whole. */
  startAfter(seq: number): void;
  close(): void;
}

/** More events of a run are shown when somebody asks for them. */
export const MAX_EVENTS = 20_000;
/** A log that grows is shortened by many events at once. */
const SLACK = 2_000;
const FRAME_MS = 16;
const LIVE_MS = 100;
/** The steps are folded anew each time, so a long log is drawn less often. */
const EVENTS_PER_MS = 40;

/** @param onEvents called when events have come */
export function followRun(id: string, onEvents: () => void): RunStream {
  const log = signal<{ after: number; events: readonly LogEntry[] }>({ after: 0, events: [] });
  const live = liveOutputs();
  const error = signal<unknown>(null);
  /** Each value is another beginning. */
  const begin = signal({ isWhole: false });
  let fresh: LogEntry[] = [];
  let timer: ReturnType<typeof setTimeout> | null = null;
  // Not an animation frame: those stop in a tab that is not visible.
  const flush = () => {
    timer = null;
    const events = [...log.value.events, ...fresh];
    const tooMany =
      begin.value.isWhole || events.length <= MAX_EVENTS + SLACK ? 0 : events.length - MAX_EVENTS;
    log.value = { after: log.value.after + tooMany, events: tooMany === 0 ? events : events.slice(tooMany) };
    fresh = [];
    onEvents();
  };
  const read = async (signal: AbortSignal) => {
    const { after, events } = log.value;
    const last = after + events.length + fresh.length;
    const stream = client.events('streamRunEvents', {
      path: { id },
      signal,
      ...(last === 0 ? {} : { lastEventId: String(last) }),
    });
    try {
      for await (const { data } of stream) {
        if (isPartial(data)) {
          live.add(data);
          continue;
        }
        fresh.push(data);
        timer ??= setTimeout(flush, FRAME_MS + log.value.events.length / EVENTS_PER_MS);
      }
    } catch (thrown) {
      error.value = thrown;
    }
  };
  const stop = effect(() => {
    const abort = new AbortController();
    // A tab that comes back goes on after the last event that it has.
    if (begin.value && isVisible.value) untracked(() => void read(abort.signal));
    return () => abort.abort();
  });
  return {
    log,
    live: live.outputs,
    error,
    startAfter(seq) {
      if (timer !== null) clearTimeout(timer);
      timer = null;
      fresh = [];
      log.value = { after: seq, events: [] };
      begin.value = { isWhole: seq === 0 };
    },
    close() {
      stop();
      if (timer !== null) clearTimeout(timer);
      live.close();
    },
  };
}

function liveOutputs() {
  const outputs = signal<LiveOutputs>(new Map());
  let partials: PartialOutput[] = [];
  let timer: ReturnType<typeof setTimeout> | null = null;
  const show = () => {
    timer = null;
    outputs.value = withPartials(outputs.value, partials);
    partials = [];
  };
  return {
    outputs,
    add(partial: PartialOutput) {
      partials.push(partial);
      timer ??= setTimeout(show, LIVE_MS);
    },
    close() {
      if (timer !== null) clearTimeout(timer);
    },
  };
}
