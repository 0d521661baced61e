/**
 * The sandbox worker: runs processes that need a container engine, from a task queue of their own
 * (SANDBOX_TASK_QUEUE). It runs no workflow code, calls no agents, and delivers nothing. There can be any
 * number of them for one engine.
 */
import { Runtime, Worker } from '@temporalio/worker';
import { createActiveCalls } from '../activities/active-calls.ts';
import { createProcessActivities } from '../activities/index.ts';
import { createShortCalls } from '../activities/short-calls.ts';
import { createEgressPolicy } from '../adapters/egress/create-egress-policy.ts';
import { createFileStore } from '../adapters/file-stores/create-file-store.ts';
import { createSandbox } from '../adapters/sandbox/containers.ts';
import { createProcessRunner } from '../adapters/sandbox/run-process.ts';
import { loadSandboxEnv } from '../config/env.ts';
import { createLogger } from '../config/logger.ts';
import { ownServers } from '../config/own-servers.ts';
import { processSettings } from '../config/process-settings.ts';
import { listenForEndedCalls } from '../db/notifications.ts';
import { createOrm } from '../db/orm.ts';
import { createPayloadStore } from '../domain/files/payload-store.ts';
import { readInstallationId } from '../domain/operations/installation.ts';
import { announceProcessPolicy } from '../domain/operations/process-policy.ts';
import { settleStart } from '../domain/operations/settle-start.ts';
import { runLimits } from '../domain/runs/limits.ts';
import { createEncryption } from '../domain/secrets/encryption.ts';
import { resolveSecret } from '../domain/secrets/service.ts';
import { createTemporalClient, temporalSettings } from '../temporal/client.ts';
import { createDataConverter } from '../temporal/data-converter.ts';
import { createGateway } from '../temporal/gateway.ts';
import { connectNative } from './connect.ts';
import { startContainerReaper } from './container-reaper.ts';
import { temporalLogger } from './temporal-logger.ts';

const env = loadSandboxEnv();
const logger = createLogger({ level: env.LOG_LEVEL, name: 'sandbox' });
Runtime.install({ logger: temporalLogger(logger), shutdownSignals: [] });
let stop = (): void => process.exit(0);
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stop());

const orm = createOrm({
  url: env.DATABASE_URL,
  logger,
  poolSize: env.DATABASE_POOL_SIZE,
  connectionTimeoutMs: 30_000,
});
const fork = () => orm.em.fork();
const settings = temporalSettings(env);
const files = await createFileStore(env);
const payloads = {
  keys: env.ENCRYPTION_KEYS,
  store: createPayloadStore({ fork, files, inFiles: env.FILES_LARGE_VALUES }),
  acceptUnencrypted: env.ACCEPT_UNENCRYPTED_PAYLOADS,
  unreadable: (error: Error) => logger.error({ err: error }, 'cannot read a Temporal payload'),
};
const client = createTemporalClient(settings, createDataConverter(payloads));
const encryption = createEncryption(env.ENCRYPTION_KEYS);
const egress = createEgressPolicy({
  allow: env.EGRESS_ALLOW,
  hostMap: env.EGRESS_HOST_MAP,
  own: ownServers(env),
});
const processes = processSettings(env);
let installation: Promise<string> | null = null;
const sandbox = createSandbox(processes.sandbox, () => (installation ??= readInstallationId(fork())));
const endedCalls = listenForEndedCalls(env.DATABASE_URL, logger);
const activities = createProcessActivities({
  orm,
  processes: createProcessRunner(egress, processes, sandbox),
  calls: createActiveCalls({ orm, logger, endedCalls }),
  shortCalls: createShortCalls(),
  temporal: createGateway({ client, taskQueue: env.TEMPORAL_TASK_QUEUE, baseUrl: env.BASE_URL }),
  logger,
  files,
  limits: runLimits(env),
  secret: (ownerId, name) => resolveSecret(fork(), encryption, ownerId, name),
});

await settleStart({
  fork,
  files,
  keyIds: env.ENCRYPTION_KEYS.map(({ id }) => id),
  shared: env.FILES_LARGE_VALUES,
  logger,
  refuse(error) {
    logger.fatal(error.message);
    process.exit(1);
  },
});
await announceProcessPolicy(fork(), { containers: processes.policy.containers });
const reaper = startContainerReaper({ sandbox, fork, logger });
const connection = await connectNative(settings, logger);
const worker = await Worker.create({
  connection,
  namespace: settings.namespace,
  taskQueue: env.SANDBOX_TASK_QUEUE,
  activities,
  dataConverter: createDataConverter({ ...payloads, refusals: 'mark' }),
  // What has no turn here waits on the task queue, where every sandbox worker can take it.
  maxConcurrentActivityTaskExecutions: env.SANDBOX_CONCURRENCY,
  shutdownGraceTime: '10s',
  shutdownForceTime: '15s',
});
stop = () => {
  if (worker.getState() === 'RUNNING') worker.shutdown();
};
logger.info({ task_queue: env.SANDBOX_TASK_QUEUE, namespace: settings.namespace }, 'sandbox worker ready');
await worker.run();
reaper.stop();
await Promise.allSettled([sandbox.close(), endedCalls.stop()]);
await Promise.allSettled([connection.close(), client.connection.close(), orm.close(true)]);
logger.info('sandbox worker stopped');
process.exit(0);
