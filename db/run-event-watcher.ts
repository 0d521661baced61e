/**
 * Wakes readers of runs' logs. One LISTEN connection a process; while it is away, and now and then in any case, watchers
 * wake by time: a notification that was lost costs a second, never an event.
 */
import pg from 'pg';

export interface RunWatch {
  /** Resolves at the next notification, or after `timeoutMs`; at once if one came since the last call. */
  next(timeoutMs: number): Promise<void>;
  close(): void;
}

export interface RunEventWatcher {
  /** A run's id; `anyRun` for all of them; `endOf(id)`. */
  watch(runId: string): RunWatch;
  /** Wakes everybody, so that streams can end. */
  stop(): Promise<void>;
}

export const anyRun = '*';

/** Instead of a run's id: only its end wakes. */
export function endOf(runId: string): string {
  return `${runId} ended`;
}

const CHANNEL = 'run_event';
const POLL_MS = 1_000;
const SLOW_POLL_MS = 5_000;

export function createRunEventWatcher(url: string, logger: { warn(details: object, message: string): void }): RunEventWatcher {
  const watches = new Map<string, Set<() => void>>();
  let client: pg.Client | null = null;
  let connecting: Promise<void> | null = null;
  let stopped = false;

  const wake = (runId: string): void => watches.get(runId)?.forEach((awake) => awake());
  const wakeAll = (): void => watches.forEach((set) => set.forEach((awake) => awake()));

  const connect = async (): Promise<void> => {
    const fresh = new pg.Client({ connectionString: url, application_name: 'cadenza-listen', keepAlive: true });
    const lost = (): void => {
      if (client === fresh) client = null;
      wakeAll();
    };
    fresh.on('error', lost);
    fresh.on('end', lost);
    fresh.on('notification', ({ payload = '' }) => {
      const [runId = '', what] = payload.split(' ');
      wake(what === 'ended' ? endOf(runId) : runId);
      wake(anyRun);
    });
    try {
      await fresh.connect();
      await fresh.query(`listen ${CHANNEL}`);
      if (stopped) return await fresh.end();
      client = fresh;
      wakeAll();
    } catch (error) {
      logger.warn({ err: error }, 'cannot listen for run events, polling');
      await fresh.end().catch(() => {});
    }
  };

  const ensureConnected = (): void => {
    if (client || connecting || stopped) return;
    connecting = connect().finally(() => {
      connecting = null;
    });
  };

  const watch = (runId: string): RunWatch => {
    ensureConnected();
    let pending = false;
    let resolve: (() => void) | null = null;
    const awake = (): void => {
      pending = true;
      resolve?.();
    };
    const set = watches.get(runId) ?? new Set();
    watches.set(runId, set.add(awake));
    return {
      async next(timeoutMs) {
        ensureConnected();
        if (!pending) {
          const limit = Math.min(timeoutMs, client ? SLOW_POLL_MS : POLL_MS);
          let timer: NodeJS.Timeout | undefined;
          await new Promise<void>((done) => {
            resolve = done;
            timer = setTimeout(done, limit);
          });
          clearTimeout(timer);
          resolve = null;
        }
        pending = false;
      },
      close() {
        set.delete(awake);
        if (set.size === 0) watches.delete(runId);
        resolve?.();
      },
    };
  };

  const stop = async (): Promise<void> => {
    stopped = true;
    wakeAll();
    await connecting;
    await client?.end().catch(() => {});
  };

  return { watch, stop };
}
