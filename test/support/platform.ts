/** The whole platform in one test file: the real API and a real worker, on a database and a Temporal namespace of their own. */
import { NativeConnection, Runtime } from '@temporalio/worker';
import type { WorkflowBundle } from '@temporalio/worker';
import type { DataConverter } from '@temporalio/common';
import { pino } from 'pino';
import { createActivities } from '../../activities/index.ts';
import { createEgressPolicy, type HostLookup } from '../../adapters/egress.ts';
import { createDeliverySender } from '../../adapters/delivery-sender.ts';
import { createAdapters } from '../../adapters/index.ts';
import { encryptionKeys } from '../../config/env-types.ts';
import { createOrm } from '../../db/orm.ts';
import { createRunEventWatcher } from '../../db/run-event-watcher.ts';
import { createSigningKeys } from '../../domain/auth/signing-keys.ts';
import { createDeliveryKinds } from '../../domain/delivery/kinds.ts';
import { reconcileDeliveries } from '../../domain/delivery/reconcile.ts';
import { standardRetry, type RetryPolicy } from '../../domain/delivery/retry.ts';
import { createFileLink } from '../../domain/files/file-link.ts';
import { createLocalFileStore } from '../../domain/files/local-file-store.ts';
import { createPayloadStore } from '../../domain/files/payload-store.ts';
import type { FileStore } from '../../domain/files/ports.ts';
import { reconcile } from '../../domain/runs/reconcile.ts';
import { createEncryption } from '../../domain/secrets/encryption.ts';
import { resolveSecret } from '../../domain/secrets/service.ts';
import { createTemporalClient } from '../../temporal/client.ts';
import { createDataConverter } from '../../temporal/data-converter.ts';
import { createGateway } from '../../temporal/gateway.ts';
import { bundleWorkflows } from '../../worker/bundle.ts';
import { startEventPump } from '../../worker/event-pump.ts';
import { createWorker } from '../../worker/create-worker.ts';
import { temporalLogger } from '../../worker/temporal-logger.ts';
import { filesOf, startTestApp, testKeys } from './app.ts';
import type { Client, TestApp, TestAppOptions } from './app.ts';
import { oncePerRun } from './run-folder.ts';
import { createTestDatabase, testTemporal, type TestTemporal } from './servers.ts';

export interface TestPlatform extends TestApp {
  /** One pass of the reconciler, which no schedule runs here. */
  reconcile(): Promise<void>;
  /** Runs a definition as `builder` to its end. */
  runToEnd(definition: unknown, input?: Record<string, unknown>): Promise<RunRecord>;
  /** Stops this worker; `startWorker` starts another, with other keys if told to. */
  stopWorker(): Promise<void>;
  startWorker(options?: { dataConverter?: DataConverter }): Promise<void>;
  /** As client and worker have it: reads what they encrypted. */
  dataConverter: DataConverter;
  /** For a worker in a process of its own. */
  temporal: Omit<TestTemporal, 'uiUrl'>;
}

// Tests look into answers freely.
export type RunRecord = Record<string, any>;

/** Default: those of the test run. Benchmarks bring durable ones. */
export interface PlatformServers {
  database: { url: string; drop(): Promise<void> };
  temporal: TestTemporal;
}

export interface PlatformOptions extends Pick<TestAppOptions, 'env' | 'strictResponses'> {
  servers?: PlatformServers;
  /** Default: a folder of the test run. */
  files?: FileStore;
  /** Default: loopback, where the tests' own servers are. */
  egressAllow?: string[];
  worker?: boolean;
  /** Instead of DNS. */
  lookup?: HostLookup;
  /** Instead of the product's: recorded histories are to stay readable without a key. */
  dataConverter?: DataConverter;
  /** Over the standard one: tests cannot wait for hours. */
  deliveryRetry?: Partial<RetryPolicy>;
}

/** Where runs say that they are: their source in events. */
export const TEST_BASE_URL = 'https://cadenza.test';

let runtimeInstalled = false;

async function ownServers(): Promise<PlatformServers> {
  const [database, temporal] = await Promise.all([createTestDatabase(), testTemporal()]);
  return { database, temporal };
}

export async function startTestPlatform(options: PlatformOptions = {}): Promise<TestPlatform> {
  const logger = pino({ level: process.env['TEST_LOG'] ?? 'silent' });
  if (!runtimeInstalled) Runtime.install({ logger: temporalLogger(logger), shutdownSignals: [] });
  runtimeInstalled = true;
  const { database, temporal } = options.servers ?? (await ownServers());
  const orm = createOrm({ url: database.url });
  const keys = encryptionKeys().parse(options.env?.['ENCRYPTION_KEYS'] ?? testKeys);
  const files = options.files ?? createLocalFileStore(options.env?.['FILES_DIR'] ?? filesOf(database.url));
  const dataConverter = options.dataConverter ?? createDataConverter({ keys, store: createPayloadStore({ fork: () => orm.em.fork(), files, inFiles: true }) });
  const client = createTemporalClient({ address: temporal.address, namespace: temporal.namespace }, dataConverter);
  const gateway = createGateway({ client, taskQueue: temporal.taskQueue, baseUrl: TEST_BASE_URL });
  const [payloadCodec] = dataConverter.payloadCodecs ?? [];
  const app = await startTestApp({ files, temporal: gateway, databaseUrl: database.url, ...(payloadCodec ? { payloadCodec } : {}), ...(options.env ? { env: options.env } : {}), strictResponses: options.strictResponses ?? true });
  const encryption = createEncryption(app.env.ENCRYPTION_KEYS);
  const egress = createEgressPolicy({ allow: options.egressAllow ?? ['127.0.0.0/8', '::1', 'localhost'], hostMap: app.env.EGRESS_HOST_MAP, ...(options.lookup ? { lookup: options.lookup } : {}) });
  const signingKeys = createSigningKeys(() => orm.em.fork(), encryption);
  const kinds = createDeliveryKinds({ orm, encryption, keys: signingKeys, baseUrl: app.env.BASE_URL });
  const runEvents = createRunEventWatcher(database.url, logger);
  const activities = createActivities({
    orm,
    adapters: createAdapters({ egress }),
    temporal: gateway,
    logger,
    files,
    fileLink: async (id, seconds) => (await createFileLink({ keys: signingKeys, baseUrl: app.env.BASE_URL }, id, seconds)).url,
    retentionDays: app.env.RETENTION_DAYS,
    deliveries: { kinds, sender: createDeliverySender(egress), retry: { ...standardRetry, ...options.deliveryRetry } },
    secret: (ownerId, name) => resolveSecret(orm.em.fork(), encryption, ownerId, name),
  });
  const connection = await NativeConnection.connect({ address: temporal.address });

  let running: { shutdown(): void; done: Promise<void> } | null = null;
  const startWorker: TestPlatform['startWorker'] = async (other = {}) => {
    const workflowBundle = await bundleOncePerRun();
    const { namespace, taskQueue } = temporal;
    const worker = await createWorker({ connection, namespace, taskQueue, activities, workflowBundle, dataConverter, ...other });
    const pump = startEventPump({ orm, kinds, temporal: gateway, runEvents, logger });
    running = { shutdown: () => worker.shutdown(), done: worker.run().finally(() => pump.stop()) };
  };
  const stopWorker = async (): Promise<void> => {
    running?.shutdown();
    await running?.done;
    running = null;
  };
  if (options.worker !== false) await startWorker();

  const close = async (): Promise<void> => {
    await stopWorker();
    await runEvents.stop();
    await connection.close();
    await client.connection.close();
    await app.close();
    await orm.close(true);
    await database.drop();
  };
  return {
    ...app,
    close,
    temporal,
    dataConverter,
    startWorker,
    stopWorker,
    reconcile: async () => {
      await reconcile({ orm, temporal: gateway }, { now: new Date(), heartbeat: () => {} });
      await reconcileDeliveries({ orm, kinds, temporal: gateway }, { heartbeat: () => {}, overdueMs: 0 });
    },
    runToEnd: async (definition, input = {}) => runToEnd(await app.as('builder'), definition, input),
  };
}

const ENDED = ['completed', 'faulted', 'cancelled'];

/** Creates the workflow, runs it, waits for its end. */
export async function runToEnd(client: Client, definition: unknown, input: Record<string, unknown> = {}): Promise<RunRecord> {
  let run = await startRun(client, definition, input, 30);
  // A busy machine: long runs may take another minute or two.
  for (let i = 0; i < 3 && !ENDED.includes(run['status']); i++) run = (await client.get(`/runs/${run['id']}`, { headers: { prefer: 'wait=30' } })).body;
  if (!ENDED.includes(run['status'])) throw new Error(`the run is ${run['status']}: ${JSON.stringify(run['logs'])}`);
  return run;
}

export async function startRun(client: Client, definition: unknown, input: Record<string, unknown> = {}, waitSeconds = 0): Promise<RunRecord> {
  const created = await client.post('/workflows', { name: 'test', definition });
  if (created.status !== 201 || !created.body.runnable) throw new Error(JSON.stringify(created.body));
  const headers = waitSeconds > 0 ? { prefer: `wait=${waitSeconds}` } : {};
  const started = await client.post(`/workflows/${created.body.id}/run`, { input_params: input }, { headers });
  if (started.status !== 201) throw new Error(JSON.stringify(started.body));
  return started.body;
}

/** Asks until `ready` gives something; fails after `timeoutMs` with the last answer. */
export async function until<T>(read: () => Promise<T>, ready: (value: T) => boolean, timeoutMs = 20_000): Promise<T> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const value = await read();
    if (ready(value)) return value;
    if (Date.now() > deadline) throw new Error(`not reached: ${JSON.stringify(value)}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Today's workflow code, bundled by the first test file that asks. */
export async function bundleOncePerRun(): Promise<WorkflowBundle> {
  return JSON.parse(await oncePerRun('workflow-bundle.json', async () => JSON.stringify(await bundleWorkflows()))) as WorkflowBundle;
}
