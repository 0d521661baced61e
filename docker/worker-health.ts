/** Health check of a worker's container: Temporal has heard of this host's worker on its task queue within the last minutes. */
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
