/**
 * Wakes readers of runs' logs, with the process's one LISTEN connection. Watchers also wake by a timer, more
 * often while the connection is down, so a lost notification delays an event but never loses it.
 */
import { Listener } from './listener.ts';

interface RunWatch {
  /** Resolves at the next notification or after `timeoutMs`; at once if one arrived since the last call. */
  next(timeoutMs: number): Promise<void>;
  close(): void;
}

export interface RunEventWatcher {
  /** `runId`: a run's id, `ANY_RUN` for all runs, or `endOf(id)`. */
  watch(runId: string): RunWatch;
  /**
   * `taken` gets what calls of any run produce, as `notificationOf` writes it, once the promise has resolved.
   * What comes while the connection is down is lost. The promise never rejects.
   */
  takePartials(taken: (notification: string) => void): Promise<void>;
  /** Wakes all watchers, so that streams can end. */
  stop(): Promise<void>;
}

export const ANY_RUN = '*';

/** Watches only for the end of a run. */
export function endOf(runId: string): string {
  return `${runId} ended`;
}

const POLL_MS = 1_000;
const SLOW_POLL_MS = 5_000;

export function createRunEventWatcher(
  url: string,
  logger: { warn(details: object, message: string): void },
): RunEventWatcher {
  const watches = new Map<string, Set<() => void>>();
  const wake = (runId: string): void => watches.get(runId)?.forEach((awake) => awake());
  const wakeAll = (): void => watches.forEach((set) => set.forEach((awake) => awake()));
  const listener = new Listener({
    url,
    channel: 'run_event',
    notified(payload) {
      const [runId = '', what] = payload.split(' ');
      wake(what === 'ended' ? endOf(runId) : runId);
      wake(ANY_RUN);
    },
    connected: wakeAll,
    lost: wakeAll,
    failed: (error) => logger.warn({ err: error }, 'cannot listen for run events, polling'),
  });

  let takePartial: (notification: string) => void = () => {};
  const partials = new Listener({
    url,
    channel: 'run_partial',
    notified: (notification) => takePartial(notification),
    connected: () => {},
    lost: () => {},
    failed: (error) => logger.warn({ err: error }, 'cannot listen for what calls produce'),
  });

  return {
    takePartials(taken) {
      takePartial = taken;
      return partials.connect();
    },
    watch(runId) {
      void listener.connect();
      const watch = new Watch(listener);
      const awake = (): void => watch.wake();
      const set = watches.get(runId) ?? new Set();
      watches.set(runId, set.add(awake));
      return {
        next: (timeoutMs) => watch.next(timeoutMs),
        close() {
          set.delete(awake);
          if (set.size === 0) watches.delete(runId);
          watch.release();
        },
      };
    },
    async stop() {
      const stopping = Promise.all([listener.stop(), partials.stop()]);
      wakeAll();
      await stopping;
    },
  };
}

/** One reader that waits for notifications. */
class Watch {
  readonly #listener: Listener;
  #isPending = false;
  #resolve: (() => void) | null = null;

  constructor(listener: Listener) {
    this.#listener = listener;
  }

  wake(): void {
    this.#isPending = true;
    this.#resolve?.();
  }

  /** Ends a wait without a notification. */
  release(): void {
    this.#resolve?.();
  }

  async next(timeoutMs: number): Promise<void> {
    void this.#listener.connect();
    if (!this.#isPending) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#resolve = resolve;
      const pollMs = this.#listener.isConnected ? SLOW_POLL_MS : POLL_MS;
      const timer = setTimeout(resolve, Math.min(timeoutMs, pollMs));
      await promise;
      clearTimeout(timer);
      this.#resolve = null;
    }
    this.#isPending = false;
  }
}
