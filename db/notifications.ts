/**
 * Notifications of the database that code subscribes to for as long as the process runs. They may be lost
 * with the connection; subscribers are told when that may have happened.
 */
import { Listener } from './listener.ts';

export interface Notifications {
  /** `notified` receives the payload, or null when notifications may have been lost. */
  subscribe(notified: (payload: string | null) => void): void;
  /** While false, notifications are lost. */
  readonly isConnected: boolean;
  stop(): Promise<void>;
}

interface Logger {
  warn(details: object, message: string): void;
}

const RECONNECT_MS = 1_000;

/** Of runs in which a call's task, or the run itself, was cancelled or faulted; the payload: the run's id. */
export function listenForEndedCalls(url: string, logger: Logger): Notifications {
  return createNotifications(url, logger, 'ended_call');
}

/** Of changes that decide who a caller is and what the caller may do, without a payload. */
export function listenForAccountChanges(url: string, logger: Logger): Notifications {
  return createNotifications(url, logger, 'account_change');
}

/** Of new jobs of external workers; the payload: the id of the agent. */
export function listenForJobs(url: string, logger: Logger): Notifications {
  return createNotifications(url, logger, 'job');
}

/** Of notifications of people; the payload: the id of the person. */
export function listenForNotifications(url: string, logger: Logger): Notifications {
  return createNotifications(url, logger, 'notification');
}

/** Connects at the first subscription, and again after the connection is lost. */
function createNotifications(url: string, logger: Logger, channel: string): Notifications {
  const subscribers = new Set<(payload: string | null) => void>();
  let reconnect: NodeJS.Timeout | undefined;
  let stopped = false;
  const publish = (payload: string | null): void => subscribers.forEach((notified) => notified(payload));
  const connectLater = (): void => {
    if (stopped || reconnect) return;
    reconnect = setTimeout(() => {
      reconnect = undefined;
      void listener.connect();
    }, RECONNECT_MS);
  };
  const listener = new Listener({
    url,
    channel,
    notified: publish,
    connected: () => publish(null),
    lost: connectLater,
    failed(error) {
      logger.warn({ err: error, channel }, 'cannot listen for notifications, trying again');
      connectLater();
    },
  });
  return {
    subscribe(notified) {
      subscribers.add(notified);
      void listener.connect();
    },
    get isConnected() {
      return listener.isConnected;
    },
    async stop() {
      stopped = true;
      clearTimeout(reconnect);
      await listener.stop();
    },
  };
}
