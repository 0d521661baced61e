/** Calls of agents in the metrics that the worker serves beside those of Temporal's SDK. */
import type { MetricMeter } from '@temporalio/common';
import type { AgentCalls } from '../activities/agent-calls.ts';

/** The SDK appends the unit to the name: `cadenza_agent_call_seconds`. */
const NAME = 'cadenza_agent_call';

/** Bounds of the histograms of the worker, in seconds: from a quick service to an hour. */
export const BUCKETS: Readonly<Record<string, number[]>> = {
  [NAME]: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 3_600],
};

/** @param labels the most agents that have a label of their own, the first ones of this process */
export function createAgentMeter(meter: MetricMeter, labels: number): AgentCalls {
  const histogram = meter.createHistogram(NAME, 'float', 'seconds', 'Calls of agents by this worker');
  const named = new Set<string>();
  return {
    record(agentId, end, seconds) {
      if (named.size < labels) named.add(agentId);
      histogram.record(seconds, { agent: named.has(agentId) ? agentId : 'other', end });
    },
  };
}
