/**
 * Notifies this process of runs in which a call's task, or the run itself, was cancelled or faulted
 * (notifications `ended_call` of the database).
 */
import { Listener } from './listener.ts';

export interface EndedCallListener {
  /**
   * `ended` receives a run's id, or null if notifications may have been lost, so that any call may have
   * ended.
   */
  subscribe(ended: (runId: string | null) => void): void;
  stop(): Promise<void>;
}

const RECONNECT_MS = 1_000;

/** Connects at the first subscription, and again after the connection is lost. */
export function createEndedCallListener(
  url: string,
  logger: { warn(details: object, message: string): void },
): EndedCallListener {
  const subscribers = new Set<(runId: string | null) => void>();
  let reconnect: NodeJS.Timeout | undefined;
  let stopped = false;
  const publish = (runId: string | null): void => subscribers.forEach((ended) => ended(runId));
  const connectLater = (): void => {
    if (stopped || reconnect) return;
    reconnect = setTimeout(() => {
      reconnect = undefined;
      listener.connect();
    }, RECONNECT_MS);
  };
  const listener = new Listener({
    url,
    channel: 'ended_call',
    applicationName: 'cadenza-calls',
    notified: publish,
    connected: () => publish(null),
    lost: connectLater,
    failed(error) {
      logger.warn({ err: error }, 'cannot listen for ended calls, trying again');
      connectLater();
    },
  });

  return {
    subscribe(ended) {
      subscribers.add(ended);
      listener.connect();
    },
    async stop() {
      stopped = true;
      clearTimeout(reconnect);
      await listener.stop();
    },
  };
}
