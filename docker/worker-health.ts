/** Health check of a worker container: Temporal has recently seen this host's worker poll its task queue. */
import { hostname } from 'node:os';
import { loadServerEnv } from '../config/env.ts';
import { createTemporalClient, temporalSettings } from '../temporal/client.ts';

const workflowQueue = 1;
const timeoutMs = 5_000;

const env = loadServerEnv();
const client = createTemporalClient(temporalSettings(env));
const { pollers } = await client.withDeadline(Date.now() + timeoutMs, () =>
  client.workflowService.describeTaskQueue({
    namespace: env.TEMPORAL_NAMESPACE,
    taskQueue: { name: env.TEMPORAL_TASK_QUEUE },
    taskQueueType: workflowQueue,
  }),
);
const mine = pollers?.some(({ identity }) => identity?.endsWith(`@${hostname()}`)) ?? false;
process.exit(mine ? 0 : 1);
