/**
 * Health check of a worker container, or with the argument `sandbox` of a sandbox worker: Temporal has
 * recently seen this host's worker poll its task queue, or workers may not while writes are paused.
 */
import { hostname } from 'node:os';
import { loadServerEnv } from '../config/env.ts';
import { createTemporalClient, temporalSettings } from '../temporal/client.ts';

const isSandbox = process.argv[2] === 'sandbox';
const [workflowQueue, activityQueue] = [1, 2];
const TIMEOUT_MS = 5_000;

const env = loadServerEnv();
const client = createTemporalClient(temporalSettings(env));
const { pollers } = await client.withDeadline(Date.now() + TIMEOUT_MS, () =>
  client.workflowService.describeTaskQueue({
    namespace: env.TEMPORAL_NAMESPACE,
    taskQueue: { name: (isSandbox ? env.SANDBOX_TASK_QUEUE : undefined) ?? env.TEMPORAL_TASK_QUEUE },
    taskQueueType: isSandbox ? activityQueue : workflowQueue,
  }),
);
const mine = pollers?.some(({ identity }) => identity?.endsWith(`@${hostname()}`)) ?? false;
process.exit(mine || (await isPaused()) ? 0 : 1);

/** Loads the database's client only here: the check runs often. */
async function isPaused(): Promise<boolean> {
  const { createOrm } = await import('../db/orm.ts');
  const { readWritePause } = await import('../domain/operations/write-pause.ts');
  const orm = createOrm({
    url: env.DATABASE_URL,
    applicationName: 'cadenza-health',
    poolSize: 1,
    connectionTimeoutMs: TIMEOUT_MS,
    statementTimeoutMs: TIMEOUT_MS,
  });
  return readWritePause(orm.em.fork()).then(
    (pause) => pause !== null,
    () => false,
  );
}
