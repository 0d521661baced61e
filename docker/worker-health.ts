/**
 * Health check of a worker container, or with the argument `sandbox` of a sandbox worker: Temporal has
 * recently seen this host's worker poll its task queue.
 */
import { hostname } from 'node:os';
import { loadServerEnv } from '../config/env.ts';
import { createTemporalClient, temporalSettings } from '../temporal/client.ts';

const isSandbox = process.argv[2] === 'sandbox';
const [workflowQueue, activityQueue] = [1, 2];
const timeoutMs = 5_000;

const env = loadServerEnv();
const client = createTemporalClient(temporalSettings(env));
const { pollers } = await client.withDeadline(Date.now() + timeoutMs, () =>
  client.workflowService.describeTaskQueue({
    namespace: env.TEMPORAL_NAMESPACE,
    taskQueue: { name: (isSandbox ? env.SANDBOX_TASK_QUEUE : undefined) ?? env.TEMPORAL_TASK_QUEUE },
    taskQueueType: isSandbox ? activityQueue : workflowQueue,
  }),
);
const mine = pollers?.some(({ identity }) => identity?.endsWith(`@${hostname()}`)) ?? false;
process.exit(mine ? 0 : 1);
