/** Tells streams that a person's notifications have changed. */
import { setTimeout as sleep } from 'node:timers/promises';

import type { Notifications } from '../../db/notifications.ts';

export interface NotificationFeeds {
  /** Resolves at the person's next change, or after `ms`. */
  next(userId: string, ms: number, signal: AbortSignal): Promise<void>;
}

/** Without a connection that notifies, streams look this often. */
const POLL_MS = 5_000;

export function createNotificationFeeds(notifications: Notifications | undefined): NotificationFeeds {
  const waiting = new Map<string, Set<() => void>>();
  let isSubscribed = false;
  const wake = (userId: string | null): void => {
    const sets = userId === null ? [...waiting.values()] : [waiting.get(userId) ?? []];
    for (const set of sets) for (const resume of set) resume();
  };
  return {
    async next(userId, ms, signal) {
      if (!isSubscribed) {
        isSubscribed = true;
        notifications?.subscribe(wake);
      }
      const woken = new AbortController();
      const resume = (): void => woken.abort();
      const set = waiting.get(userId) ?? new Set();
      waiting.set(userId, set.add(resume));
      const pauseMs = notifications?.isConnected === true ? ms : Math.min(ms, POLL_MS);
      await sleep(pauseMs, undefined, { signal: AbortSignal.any([signal, woken.signal]) }).catch(() => {});
      set.delete(resume);
      if (set.size === 0) waiting.delete(userId);
    },
  };
}
