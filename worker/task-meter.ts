/** Human tasks in the metrics that the worker serves beside those of Temporal's SDK. */
import type { MetricMeter } from '@temporalio/common';

/** The SDK appends `_total` to the name. @returns counts a task that too few people may decide */
export function createTaskMeter(meter: MetricMeter): () => void {
  const counter = meter.createCounter(
    'cadenza_human_tasks_undecidable',
    undefined,
    'Human tasks that too few people might decide when they opened',
  );
  // Prometheus sees an increase only from a value that it knows.
  counter.add(0);
  return () => counter.add(1);
}
