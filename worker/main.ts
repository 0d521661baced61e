/** The worker process: workflows and activities of one task queue. Any number of copies. */
import { join } from 'node:path';
import { Runtime } from '@temporalio/worker';
import { createActivities } from '../activities/index.ts';
import { createDeliverySender } from '../adapters/delivery-sender.ts';
import { createAdapters } from '../adapters/index.ts';
import { createEgressPolicy } from '../adapters/egress.ts';
import { loadServerEnv } from '../config/env.ts';
import { createLogger } from '../config/logger.ts';
import { createOrm } from '../db/orm.ts';
import { createRunEventWatcher } from '../db/run-event-watcher.ts';
import { createSigningKeys } from '../domain/auth/signing-keys.ts';
import { createDeliveryKinds } from '../domain/delivery/kinds.ts';
import { createFileLink } from '../domain/files/file-link.ts';
import { createFileStore } from '../domain/files/create-file-store.ts';
import { createPayloadStore } from '../domain/files/payload-store.ts';
import { createEncryption } from '../domain/secrets/encryption.ts';
import { resolveSecret } from '../domain/secrets/service.ts';
import { createTemporalClient, temporalSettings } from '../temporal/client.ts';
import { createDataConverter } from '../temporal/data-converter.ts';
import { createGateway } from '../temporal/gateway.ts';
import { bundleWorkflows } from './bundle.ts';
import { createWorker } from './create-worker.ts';
import { connectNative } from './connect.ts';
import { startEventPump } from './event-pump.ts';
import { ensureSchedules } from './schedule.ts';
import { temporalLogger } from './temporal-logger.ts';

const env = loadServerEnv();
const logger = createLogger({ level: env.LOG_LEVEL, name: 'worker' });
Runtime.install({
  logger: temporalLogger(logger),
  shutdownSignals: [],
  ...(env.WORKER_METRICS_ADDRESS === undefined ? {} : { telemetryOptions: { metrics: { prometheus: { bindAddress: env.WORKER_METRICS_ADDRESS, unitSuffix: true, countersTotalSuffix: true, useSecondsForDurations: true } } } }),
});

let stop = (): void => process.exit(0);
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stop());

const orm = createOrm({ url: env.DATABASE_URL, logger });
const settings = temporalSettings(env);
const files = await createFileStore(env);
const dataConverter = createDataConverter({
  keys: env.ENCRYPTION_KEYS,
  store: createPayloadStore({ fork: () => orm.em.fork(), files, inFiles: env.FILES_LARGE_VALUES }),
  unreadable: (error) => logger.error({ err: error }, 'cannot decrypt a payload of Temporal'),
});
const client = createTemporalClient(settings, dataConverter);
const temporal = createGateway({ client, taskQueue: env.TEMPORAL_TASK_QUEUE, baseUrl: env.BASE_URL });
const encryption = createEncryption(env.ENCRYPTION_KEYS);
const egress = createEgressPolicy({ allow: env.EGRESS_ALLOW, hostMap: env.EGRESS_HOST_MAP });
const adapters = createAdapters({ egress });
const keys = createSigningKeys(() => orm.em.fork(), encryption);
const kinds = createDeliveryKinds({ orm, encryption, keys, baseUrl: env.BASE_URL });
const activities = createActivities({
  orm,
  adapters,
  temporal,
  logger,
  files,
  fileLink: async (id, seconds) => (await createFileLink({ keys, baseUrl: env.BASE_URL }, id, seconds)).url,
  retentionDays: env.RETENTION_DAYS,
  deliveries: { kinds, sender: createDeliverySender(egress) },
  secret: (ownerId, name) => resolveSecret(orm.em.fork(), encryption, ownerId, name),
});

const [workflowBundle, connection] = await Promise.all([bundleWorkflows({ logger: temporalLogger(logger), cacheDir: join(env.DATA_DIR, 'bundles') }), connectNative(settings, logger)]);
await ensureSchedules(client, env.TEMPORAL_TASK_QUEUE);
const worker = await createWorker({ connection, namespace: settings.namespace, taskQueue: env.TEMPORAL_TASK_QUEUE, activities, workflowBundle, dataConverter });
const runEvents = createRunEventWatcher(env.DATABASE_URL, logger);
const pump = startEventPump({ orm, kinds, temporal, runEvents, logger });
stop = () => {
  if (worker.getState() === 'RUNNING') worker.shutdown();
};
logger.info({ task_queue: env.TEMPORAL_TASK_QUEUE, namespace: settings.namespace }, 'worker ready');
await worker.run();
await Promise.allSettled([pump.stop(), runEvents.stop()]);
await Promise.allSettled([connection.close(), client.connection.close(), orm.close(true)]);
logger.info('worker stopped');
process.exit(0);
