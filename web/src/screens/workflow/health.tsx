/** How the runs of a workflow went in the last 14 days. */
import { useRunStats } from '../../data/run-stats.ts';
import page from '../../ui/page.module.css';
import { RunStrip, RunSums } from '../../ui/run-strip/run-strip.tsx';
import { words } from './words.ts';
import css from './workflow.module.css';

const HEIGHT = 40;

export function Health({ workflowId }: { workflowId: string }) {
  const stats = useRunStats('day', { workflowIds: [workflowId] });
  const [series] = stats?.series ?? [];
  return (
    <section class={`${page['part']} ${css['health']}`}>
      <h2>{words.health}</h2>
      {stats !== undefined && series !== undefined && (
        <>
          <RunStrip range={stats} buckets={series.buckets} height={HEIGHT} />
          <RunSums range={stats} buckets={series.buckets} />
        </>
      )}
    </section>
  );
}
