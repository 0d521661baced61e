/** How many tasks wait for the user, kept current by events. */
import { useEffect } from 'preact/hooks';

import type { HumanTaskSummary } from '../../../client/index.ts';
import { client } from './api.ts';
import { onChange, onReconnect } from './live.ts';
import { cache, useQuery } from './query.ts';

const KEY = ['task summary'];
export const UNREAD_KEY = ['unread'];
/** The server counts no further. */
export const MAX_COUNT = 1_000;
export const MAX_UNREAD = 100;
/** Many events in a short time are one count. */
const READ_PAUSE_MS = 500;
const EVERY_MS = 60_000;

export function useTaskCounts(): HumanTaskSummary | undefined {
  useRefreshed(KEY);
  const { data } = useQuery({
    queryKey: KEY,
    queryFn: ({ signal }) => client.call('getHumanTaskSummary', { signal }),
    // Nobody followed the events while no screen showed them.
    refetchOnMount: 'always',
    // Deadlines pass without an event.
    refetchInterval: EVERY_MS,
  });
  return data;
}

/** How many notifications the user has not read. */
export function useUnread(): number {
  useRefreshed(UNREAD_KEY);
  const { data } = useQuery({
    queryKey: UNREAD_KEY,
    queryFn: ({ signal }) => client.call('getNotificationSummary', { signal }),
    refetchOnMount: 'always',
    refetchInterval: EVERY_MS,
  });
  return data?.unread ?? 0;
}

/** Reads anew after events of tasks. */
function useRefreshed(queryKey: string[]): void {
  useEffect(() => {
    let due: ReturnType<typeof setTimeout> | undefined;
    const readSoon = () => {
      due ??= setTimeout(() => {
        due = undefined;
        void cache.invalidateQueries({ queryKey });
      }, READ_PAUSE_MS);
    };
    const ends = [onChange(({ kind }) => kind === 'task' && readSoon()), onReconnect(readSoon)];
    return () => {
      clearTimeout(due);
      for (const end of ends) end();
    };
  }, []);
}
