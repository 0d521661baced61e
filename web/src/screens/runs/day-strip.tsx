/** The last 24 hours of the runs that the user may see. */
import { useRunStats } from '../../data/run-stats.ts';
import { RunStrip, RunSums } from '../../ui/run-strip/run-strip.tsx';
import css from './runs.module.css';

const HEIGHT = 32;

interface Props {
  /** Empty for all. */
  workflowId: string;
  teamId: string;
}

export function DayStrip({ workflowId, teamId }: Props) {
  const stats = useRunStats('hour', {
    workflowIds: workflowId === '' ? undefined : [workflowId],
    teamId: teamId === '' ? undefined : teamId,
  });
  const [series] = stats?.series ?? [];
  if (stats === undefined || series === undefined) return null;
  return (
    <div class={css['day']}>
      <RunStrip range={stats} buckets={series.buckets} height={HEIGHT} />
      <RunSums range={stats} buckets={series.buckets} />
    </div>
  );
}
