/** How many tasks wait for the user, kept current by events. */
import { useEffect } from 'preact/hooks';

import type { HumanTaskSummary } from '../../../client/index.ts';
import { client } from './api.ts';
import { onChange, onReconnect } from './live.ts';
import { cache, useQuery } from './query.ts';

const KEY = ['task summary'];
/** The server counts no further. */
export const MAX_COUNT = 1_000;
/** Many events in a short time are one count. */
const READ_PAUSE_MS = 500;

export function useTaskCounts(): HumanTaskSummary | undefined {
  useEffect(() => {
    let due: ReturnType<typeof setTimeout> | undefined;
    const readSoon = () => {
      due ??= setTimeout(() => {
        due = undefined;
        void cache.invalidateQueries({ queryKey: KEY });
      }, READ_PAUSE_MS);
    };
    const ends = [onChange(({ kind }) => kind === 'task' && readSoon()), onReconnect(readSoon)];
    return () => {
      clearTimeout(due);
      for (const end of ends) end();
    };
  }, []);
  const { data } = useQuery({
    queryKey: KEY,
    queryFn: ({ signal }) => client.call('getHumanTaskSummary', { signal }),
    // Deadlines pass without an event.
    refetchInterval: 60_000,
  });
  return data;
}
