/**
 * The sandbox worker: runs processes that need a container engine, from a task queue of their own
 * (SANDBOX_TASK_QUEUE). It runs no workflow code, calls no agents, and delivers nothing. There can be any
 * number of them for one engine.
 */
import { Runtime } from '@temporalio/worker';
import { createActiveCalls } from '../activities/active-calls.ts';
import { createProcessActivities } from '../activities/index.ts';
import { createShortCalls } from '../activities/short-calls.ts';
import { createSandbox } from '../adapters/sandbox/containers.ts';
import { createProcessRunner } from '../adapters/sandbox/run-process.ts';
import { loadSandboxEnv } from '../config/env.ts';
import { createLogger } from '../config/logger.ts';
import { processSettings } from '../config/process-settings.ts';
import { announceProcessPolicy } from '../domain/operations/process-policy.ts';
import { createWritePauseWatch } from '../domain/operations/write-pause.ts';
import { runLimits } from '../domain/runs/limits.ts';
import { createVerifiedTemporal } from '../domain/operations/verified-temporal.ts';
import { gatewayOf } from '../temporal/gateway.ts';
import { traceFields } from '../tracing/context.ts';
import { startTracing } from '../tracing/start.ts';
import { connectNative, namespaceIsThere, persistently, temporalIsRight } from './connect.ts';
import { startContainerReaper } from './container-reaper.ts';
import { createSandboxWorker } from './create-sandbox-worker.ts';
import { closeAll, createDrain } from './drain.ts';
import { openResources } from './resources.ts';
import { temporalLogger } from './temporal-logger.ts';
import { watchWritePause } from './write-pause.ts';

const env = loadSandboxEnv();
const logger = createLogger({ level: env.LOG_LEVEL, name: 'sandbox', fields: traceFields });
const tracing = await startTracing(env, 'sandbox', logger);
Runtime.install({ logger: temporalLogger(logger), shutdownSignals: [] });
let stop = (): void => process.exit(0);
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stop());

const resources = await openResources(env, logger);
const { orm, fork, files, settings, client, egress, endedCalls } = resources;
const processes = processSettings(env);
const sandbox = createSandbox(processes.sandbox, resources.installationId);
const { temporal, verify: verifyTemporal } = createVerifiedTemporal(gatewayOf(client, env), {
  fork,
  acceptNew: env.ACCEPT_NEW_TEMPORAL,
});
const activities = createProcessActivities({
  orm,
  processes: createProcessRunner(egress, processes, sandbox),
  calls: createActiveCalls({ orm, logger, endedCalls }),
  shortCalls: createShortCalls(),
  temporal,
  logger,
  files,
  limits: runLimits(env),
  secret: resources.secret,
});

await resources.settled(verifyTemporal);
await persistently(logger, () => announceProcessPolicy(fork(), { containers: processes.policy.containers }));
const reaper = startContainerReaper({ sandbox, fork, logger });
const connection = await connectNative(settings, logger);
await temporalIsRight(verifyTemporal, logger);
await namespaceIsThere(connection, settings.namespace, logger);
const pause = await watchWritePause(createWritePauseWatch(fork));
const worker = await createSandboxWorker({
  connection,
  namespace: settings.namespace,
  taskQueue: env.SANDBOX_TASK_QUEUE,
  activities,
  dataConverter: resources.dataConverter,
  concurrency: env.SANDBOX_CONCURRENCY,
  isPaused: () => pause.isOn,
});
const drain = createDrain(worker, logger);
stop = () => drain.stop();
logger.info({ task_queue: env.SANDBOX_TASK_QUEUE, namespace: settings.namespace }, 'sandbox worker ready');
await drain.run();
pause.stop();
reaper.stop();
await closeAll(logger, [
  () => [sandbox.close(), endedCalls.stop()],
  () => [connection.close(), client.connection.close(), orm.close(true)],
]);
await tracing?.stop();
logger.info('sandbox worker stopped');
process.exit(0);
