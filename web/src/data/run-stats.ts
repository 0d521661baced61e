/** Statistics of runs, kept current by events. */
import { useEffect } from 'preact/hooks';

import type { RunStats } from '../../../client/index.ts';
import { client } from './api.ts';
import { onChange, onReconnect } from './live.ts';
import { cache, useQuery } from './query.ts';

const KEY = 'run stats';
/** What the server answers at once. */
const MAX_WORKFLOWS = 200;
/** Many events in a short time are one request, and a busy server gets one in ten seconds. */
const READ_PAUSE_MS = 2_000;
const READ_EVERY_MS = 10_000;

interface Counted {
  /** A series for each; without them, one of all runs. */
  workflowIds?: readonly string[] | undefined;
  /** Only runs of this team's workflows. */
  teamId?: string | undefined;
}

export function useRunStats(by: RunStats['by'], { workflowIds, teamId }: Counted = {}): RunStats | undefined {
  const key = [KEY, by, workflowIds?.join(',') ?? '', teamId ?? ''];
  useEffect(() => {
    let due: ReturnType<typeof setTimeout> | undefined;
    let lastMs = -Infinity;
    const readSoon = () => {
      const pauseMs = Math.max(READ_PAUSE_MS, lastMs + READ_EVERY_MS - performance.now());
      due ??= setTimeout(() => {
        due = undefined;
        lastMs = performance.now();
        void cache.invalidateQueries({ queryKey: [KEY] });
      }, pauseMs);
    };
    const ends = [onChange(({ kind }) => kind === 'run' && readSoon()), onReconnect(readSoon)];
    return () => {
      clearTimeout(due);
      for (const end of ends) end();
    };
  }, []);
  const { data } = useQuery<RunStats>({
    queryKey: key,
    queryFn: ({ signal }) => readStats(by, { workflowIds, teamId }, signal),
    enabled: workflowIds === undefined || workflowIds.length > 0,
    // While a list grows, the rows that are there keep what they show.
    placeholderData: (before: RunStats | undefined) => before,
    // No screen that showed them followed the events meanwhile.
    refetchOnMount: 'always',
    // An hour or a day can end without an event.
    refetchInterval: 60_000,
  });
  return data;
}

/** A long list takes several requests. */
async function readStats(
  by: RunStats['by'],
  { workflowIds, teamId }: Counted,
  signal: AbortSignal,
): Promise<RunStats> {
  const read = (ids?: readonly string[]) =>
    client.call('getRunStats', {
      query: { by, workflow_id: ids?.join(','), team_id: teamId },
      signal,
    });
  if (workflowIds === undefined) return read();
  const parts = Array.from({ length: Math.ceil(workflowIds.length / MAX_WORKFLOWS) }, (_, index) =>
    workflowIds.slice(index * MAX_WORKFLOWS, (index + 1) * MAX_WORKFLOWS),
  );
  const [first, ...others] = await Promise.all(parts.map(read));
  if (first === undefined) throw new Error('Statistics were asked for no workflow');
  return { ...first, series: [first, ...others].flatMap(({ series }) => series) };
}
