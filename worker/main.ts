/** The worker process: runs workflows and activities of one task queue. There can be any number of them. */
import { join } from 'node:path';
import { Runtime } from '@temporalio/worker';
import { createActiveCalls } from '../activities/active-calls.ts';
import { createPartialOutputs } from '../activities/partial-outputs.ts';
import { createShortCalls } from '../activities/short-calls.ts';
import { createActivities } from '../activities/index.ts';
import { createAnswerMemory } from '../adapters/egress/answer-memory.ts';
import { createDeliverySender } from '../adapters/egress/delivery-sender.ts';
import { createAdapters } from '../adapters/index.ts';
import { createProcessRunner } from '../adapters/sandbox/run-process.ts';
import { createSandbox } from '../adapters/sandbox/containers.ts';
import { loadServerEnv } from '../config/env.ts';
import { createLogger } from '../config/logger.ts';
import { processSettings } from '../config/process-settings.ts';
import { createRunEventWatcher } from '../db/run-event-watcher.ts';
import { createSigningKeys } from '../domain/auth/signing-keys.ts';
import { createDeliveryKinds } from './delivery-kinds.ts';
import { createCallbackAddress } from '../domain/jobs/callback-token.ts';
import { createFileLink } from '../domain/files/file-link.ts';
import { announceProcessPolicy } from '../domain/operations/process-policy.ts';
import { runLimits } from '../domain/runs/limits.ts';
import { createVerifiedTemporal } from '../domain/operations/verified-temporal.ts';
import { gatewayOf } from '../temporal/gateway.ts';
import { traceFields } from '../tracing/context.ts';
import { startTracing } from '../tracing/start.ts';
import { BUCKETS, createAgentMeter } from './agent-meter.ts';
import { bundleWorkflows } from './bundle.ts';
import { createWorker } from './create-worker.ts';
import { closeAll, createDrain } from './drain.ts';
import { startContainerReaper } from './container-reaper.ts';
import { connectNative, namespaceIsThere, persistently, temporalIsRight } from './connect.ts';
import { workerVersion } from './deployment.ts';
import { startEventMatcher } from './event-matcher.ts';
import { startEventPump } from './event-pump.ts';
import { startNotificationPump } from './notification-pump.ts';
import { createNotifications } from './notifications.ts';
import { createTaskMeter } from './task-meter.ts';
import { workerMemory } from './memory-slots.ts';
import { openResources } from './resources.ts';
import { startTracePump } from './trace-pump.ts';
import { watchWritePause } from './write-pause.ts';
import { createWritePauseWatch } from '../domain/operations/write-pause.ts';
import { ensureSchedules } from './schedule.ts';
import { temporalLogger } from './temporal-logger.ts';

const env = loadServerEnv();
const logger = createLogger({ level: env.LOG_LEVEL, name: 'worker', fields: traceFields });
const tracing = await startTracing(env, 'worker', logger);
Runtime.install({
  logger: temporalLogger(logger),
  shutdownSignals: [],
  ...(env.WORKER_METRICS_ADDRESS === undefined
    ? {}
    : {
        telemetryOptions: {
          metrics: {
            prometheus: {
              bindAddress: env.WORKER_METRICS_ADDRESS,
              unitSuffix: true,
              countersTotalSuffix: true,
              useSecondsForDurations: true,
              histogramBucketOverrides: { ...BUCKETS },
            },
          },
        },
      }),
});

let stop = (): void => process.exit(0);
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stop());

const resources = await openResources(env, logger);
const { orm, fork, files, settings, client, encryption, egress, installationId, endedCalls } = resources;
const { temporal, verify: verifyTemporal } = createVerifiedTemporal(gatewayOf(client, env), {
  fork,
  acceptNew: env.ACCEPT_NEW_TEMPORAL,
});
const adapters = createAdapters({ egress, mcpCommands: env.MCP_COMMANDS });
const processes = processSettings(env);
// Otherwise the sandbox workers have the engine (worker/sandbox.ts).
const hasEngine = env.SANDBOX_TASK_QUEUE === undefined;
const sandbox = hasEngine && processes.sandbox ? createSandbox(processes.sandbox, installationId) : null;
const keys = createSigningKeys(fork, encryption);
const kinds = createDeliveryKinds({ orm, encryption, keys, baseUrl: env.BASE_URL });
const sender = createDeliverySender(egress);
const notifications = createNotifications({
  orm,
  env,
  encryption,
  keys,
  sender,
  logger,
  undecidable: createTaskMeter(Runtime.instance().metricMeter),
});
const shortCalls = createShortCalls(env.TEMPORAL_TASK_QUEUE);
const memory = workerMemory(env.WORKER_MEMORY_MIB);
const activities = createActivities({
  orm,
  adapters,
  processes: createProcessRunner(egress, processes, sandbox),
  calls: createActiveCalls({ orm, logger, endedCalls }),
  shortCalls,
  partials: createPartialOutputs({ orm, logger }),
  temporal,
  logger,
  files,
  callbackAddress: (id, until) => createCallbackAddress({ keys, baseUrl: env.BASE_URL }, id, until),
  fileLink: async (id, seconds) => (await createFileLink({ keys, baseUrl: env.BASE_URL }, id, seconds)).url,
  limits: runLimits(env),
  agentCalls: createAgentMeter(Runtime.instance().metricMeter, env.METRICS_LABELS),
  answers: createAnswerMemory(env.WORKER_ANSWER_MIB * 1024 * 1024),
  retentionDays: env.RETENTION_DAYS,
  eventDays: env.EVENT_RETENTION_DAYS,
  deliveries: { kinds, sender, isShortOfMemory: () => memory() >= 1 },
  notifications,
  secret: resources.secret,
});

await resources.settled(verifyTemporal);
const { scripts, containers } = processes.policy;
await persistently(logger, () =>
  announceProcessPolicy(fork(), hasEngine ? { scripts, containers } : { scripts }),
);
const reaper = sandbox && startContainerReaper({ sandbox, fork, logger });
const [workflowBundle, connection] = await Promise.all([
  bundleWorkflows({ logger: temporalLogger(logger), cacheDir: join(env.DATA_DIR, 'bundles') }),
  connectNative(settings, logger),
]);
await temporalIsRight(verifyTemporal, logger);
await persistently(logger, async () =>
  ensureSchedules(client, {
    installationId: await installationId(),
    taskQueue: env.TEMPORAL_TASK_QUEUE,
  }),
);
await namespaceIsThere(connection, settings.namespace, logger);
const version = workerVersion(env);
const pause = await watchWritePause(createWritePauseWatch(fork));
const worker = await createWorker({
  version,
  connection,
  namespace: settings.namespace,
  taskQueue: env.TEMPORAL_TASK_QUEUE,
  activities,
  workflowBundle,
  dataConverter: resources.dataConverter,
  memory,
  shortCalls,
  isPaused: () => pause.isOn,
  ...(env.WORKER_CACHED_RUNS === undefined ? {} : { maxCachedRuns: env.WORKER_CACHED_RUNS }),
});
const runEvents = createRunEventWatcher(env.DATABASE_URL, logger);
const tracePump = tracing && startTracePump({ fork, tracing, runEvents, logger });
const pump = startEventPump({ orm, kinds, temporal, runEvents, logger, pause });
const notifier = startNotificationPump(
  { expand: notifications.expand, temporal, logger, pause },
  env.DATABASE_URL,
);
const matcher = startEventMatcher({ orm, temporal, limits: runLimits(env), logger }, pause, env.DATABASE_URL);
const drain = createDrain(worker, logger);
stop = () => drain.stop();
logger.info(
  {
    task_queue: env.TEMPORAL_TASK_QUEUE,
    namespace: settings.namespace,
    ...(version ? { deployment: version.deploymentName, build_id: version.buildId } : {}),
  },
  'worker ready',
);
await drain.run();
pause.stop();
reaper?.stop();
await closeAll(logger, [
  () => [
    sandbox?.close(),
    pump.stop(),
    matcher.stop(),
    tracePump?.stop(),
    notifier.stop(),
    runEvents.stop(),
    endedCalls.stop(),
  ],
  () => [notifications.deliver.mailer?.close()],
  () => [connection.close(), client.connection.close(), orm.close(true)],
]);
await tracing?.stop();
logger.info('worker stopped');
process.exit(0);
