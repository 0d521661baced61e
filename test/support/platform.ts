/**
 * The whole platform in one test file: the real API and a real worker, on a separate database and Temporal
 * namespace.
 */
import { join } from 'node:path';
import { NativeConnection, Runtime, type WorkflowBundle } from '@temporalio/worker';
import type { DataConverter } from '@temporalio/common';
import { pino } from 'pino';
import { createActiveCalls } from '../../activities/active-calls.ts';
import { createPartialOutputs } from '../../activities/partial-outputs.ts';
import { createShortCalls } from '../../activities/short-calls.ts';
import { createActivities } from '../../activities/index.ts';
import { createProcessRunner } from '../../adapters/sandbox/run-process.ts';
import { createSandbox } from '../../adapters/sandbox/containers.ts';
import { createEgressPolicy } from '../../adapters/egress/create-egress-policy.ts';
import type { HostLookup } from '../../adapters/egress/egress.ts';
import { createAnswerMemory } from '../../adapters/egress/answer-memory.ts';
import { createDeliverySender } from '../../adapters/egress/delivery-sender.ts';
import { createAdapters } from '../../adapters/index.ts';
import { processSettings } from '../../config/process-settings.ts';
import { encryptionKeys } from '../../config/env-types.ts';
import { listenForEndedCalls } from '../../db/notifications.ts';
import { createOrm } from '../../db/orm.ts';
import { createRunEventWatcher } from '../../db/run-event-watcher.ts';
import { createSigningKeys } from '../../domain/auth/signing-keys.ts';
import { createDeliveryKinds } from '../../worker/delivery-kinds.ts';
import { reconcileDeliveries } from '../../domain/delivery/reconcile.ts';
import { STANDARD_RETRY, type RetryPolicy } from '../../domain/delivery/retry.ts';
import { announceProcessPolicy } from '../../domain/operations/process-policy.ts';
import { readInstallationId } from '../../domain/operations/installation.ts';
import { createCallbackAddress } from '../../domain/jobs/callback-token.ts';
import { createFileLink } from '../../domain/files/file-link.ts';
import { createLocalFileStore } from '../../adapters/file-stores/local-file-store.ts';
import { reportEvaluations } from '../../domain/evaluations/report.ts';
import { failLostJobs } from '../../domain/jobs/finish.ts';
import { createPayloadStore } from '../../domain/files/payload-store.ts';
import type { FileStore } from '../../domain/files/ports.ts';
import { runLimits } from '../../domain/runs/limits.ts';
import { reconcile } from '../../domain/runs/reconcile.ts';
import { reconcileNotifications } from '../../domain/notifications/reconcile.ts';
import { reconcileSchedules } from '../../domain/schedules/reconcile.ts';
import { createEncryption } from '../../domain/secrets/encryption.ts';
import { resolveSecret } from '../../domain/secrets/service.ts';
import { createTemporalClient } from '../../temporal/client.ts';
import { createDataConverter } from '../../temporal/data-converter.ts';
import { createGateway } from '../../temporal/gateway.ts';
import { createPayloadCodec } from '../../temporal/payload-codec.ts';
import { bundleWorkflows } from '../../worker/bundle.ts';
import { createNotifications } from '../../worker/notifications.ts';
import { startNotificationPump } from '../../worker/notification-pump.ts';
import { startEventMatcher } from '../../worker/event-matcher.ts';
import { startEventPump } from '../../worker/event-pump.ts';
import { watchWritePause } from '../../worker/write-pause.ts';
import { createWritePauseWatch } from '../../domain/operations/write-pause.ts';
import { createWorker } from '../../worker/create-worker.ts';
import { workerMemory } from '../../worker/memory-slots.ts';
import { ownServers } from '../../config/own-servers.ts';
import { temporalLogger } from '../../worker/temporal-logger.ts';
import {
  filesOf,
  patience,
  startTestApp,
  testKeys,
  type Client,
  type TestApp,
  type TestAppOptions,
} from './app.ts';
import { closeInSteps, connectionsOf } from './closing.ts';
import { oncePerRun, runFolder } from './run-folder.ts';
import { createTestDatabase, testTemporal, type TestTemporal } from './servers.ts';

export interface TestPlatform extends TestApp {
  /** One pass of the reconciler, which has no schedule here. */
  reconcile(): Promise<void>;
  /** Runs a definition to its end as `builder`. */
  runToEnd(definition: unknown, input?: Record<string, unknown>): Promise<RunRecord>;
  /** Stops this worker; `startWorker` starts another, with other keys if told to. */
  stopWorker(): Promise<void>;
  startWorker(options?: {
    dataConverter?: DataConverter;
    maxActivities?: number;
    workflowBundle?: WorkflowBundle;
  }): Promise<void>;
  /** The worker's codec: reads what client and worker encrypted. */
  dataConverter: DataConverter;
  /** For a worker in a separate process. */
  temporal: Omit<TestTemporal, 'uiUrl'>;
}

// Tests read any property of a response.
export type RunRecord = Record<string, any>;

/** Default: the servers of the test run. Benchmarks bring durable ones. */
interface PlatformServers {
  database: { url: string; drop(): Promise<void> };
  temporal: TestTemporal;
}

export interface PlatformOptions extends Pick<
  TestAppOptions,
  'env' | 'strictResponses' | 'consoleFolder' | 'keepsCallers'
> {
  servers?: PlatformServers;
  /** Default: a folder of the test run. */
  files?: FileStore;
  /** Default: loopback, where the tests' own servers are. */
  egressAllow?: string[];
  worker?: boolean;
  /** Replaces DNS. */
  lookup?: HostLookup;
  /** Replaces the product's codec: recorded histories have to be readable without a key. */
  dataConverter?: DataConverter;
  /**
   * Gets the log of the worker, a JSON line at a time, from `warn` on. For the first platform of a file only.
   */
  log?: (line: string) => void;
  /** Overrides the standard retry, because tests cannot wait for hours. */
  deliveryRetry?: Partial<RetryPolicy>;
  /** How long a call to Temporal may take. Default: longer than any takes on a busy machine. */
  temporalCallMs?: number;
}

/** The source of events of runs. */
export const TEST_BASE_URL = 'https://cadenza.test';

let runtimeInstalled = false;

async function serversOfTest(): Promise<PlatformServers> {
  const [database, temporal] = await Promise.all([createTestDatabase(), testTemporal()]);
  return { database, temporal };
}

export async function startTestPlatform(options: PlatformOptions = {}): Promise<TestPlatform> {
  const { log } = options;
  const logger = log
    ? pino({ level: 'warn' }, { write: log })
    : pino({ level: process.env['TEST_LOG'] ?? 'silent' });
  const { database, temporal } = options.servers ?? (await serversOfTest());
  const orm = createOrm({ url: database.url, ...patience });
  const keys = encryptionKeys().parse(options.env?.['ENCRYPTION_KEYS'] ?? testKeys);
  const files = options.files ?? createLocalFileStore(options.env?.['FILES_DIR'] ?? filesOf(database.url));
  const payloads = { keys, store: createPayloadStore({ fork: () => orm.em.fork(), files, inFiles: true }) };
  const dataConverter = options.dataConverter ?? createDataConverter({ ...payloads, refusals: 'mark' });
  const clientConverter = options.dataConverter ?? createDataConverter(payloads);
  const egressAllow = options.egressAllow ?? ['127.0.0.0/8', '::1', 'localhost'];
  const client = createTemporalClient(
    { address: temporal.address, namespace: temporal.namespace },
    clientConverter,
  );
  const maxRunEvents = options.env?.['RUN_MAX_EVENTS'];
  const gateway = createGateway({
    client,
    taskQueue: temporal.taskQueue,
    baseUrl: TEST_BASE_URL,
    // No reconciler repeats a start or a signal that took too long: the run would stay pending.
    callTimeoutMs: options.temporalCallMs ?? 60_000,
    ...(maxRunEvents === undefined ? {} : { maxRunEvents: Number(maxRunEvents) }),
    processQueue: options.env?.['SANDBOX_TASK_QUEUE'],
    shortCallMs: Number(options.env?.['RUN_SHORT_CALL_MS'] ?? process.env['TEST_SHORT_CALL_MS'] ?? 500),
  });
  const payloadCodec = options.dataConverter
    ? undefined
    : createPayloadCodec({ ...payloads, acceptUnencrypted: true });
  const app = await startTestApp({
    files,
    temporal: gateway,
    databaseUrl: database.url,
    ...(payloadCodec ? { payloadCodec } : {}),
    ...(options.consoleFolder ? { consoleFolder: options.consoleFolder } : {}),
    env: { EGRESS_ALLOW: egressAllow.join(','), ...options.env },
    strictResponses: options.strictResponses ?? true,
    ...(options.keepsCallers ? { keepsCallers: true } : {}),
  });
  const encryption = createEncryption(app.env.ENCRYPTION_KEYS);
  const egress = createEgressPolicy({
    allow: egressAllow,
    hostMap: app.env.EGRESS_HOST_MAP,
    own: ownServers({
      ...app.env,
      DATABASE_URL: database.url,
      TEMPORAL_ADDRESS: temporal.address,
      TEMPORAL_UI_URL: app.env.TEMPORAL_UI_URL ?? (temporal.uiUrl || undefined),
    }),
    ...(options.lookup ? { lookup: options.lookup } : {}),
  });
  const signingKeys = createSigningKeys(() => orm.em.fork(), encryption);
  const kinds = createDeliveryKinds({ orm, encryption, keys: signingKeys, baseUrl: app.env.BASE_URL });
  const runEvents = createRunEventWatcher(database.url, logger);
  const processes = processSettings(app.env);
  const sandbox =
    processes.sandbox && createSandbox(processes.sandbox, () => readInstallationId(orm.em.fork()));
  await announceProcessPolicy(orm.em.fork(), processes.policy);
  const endedCalls = listenForEndedCalls(database.url, logger);
  const sender = createDeliverySender(egress);
  const retry = { ...STANDARD_RETRY, ...options.deliveryRetry };
  const notifications = createNotifications({
    orm,
    env: app.env,
    encryption,
    keys: signingKeys,
    sender,
    retry,
  });
  const shortCalls = createShortCalls(temporal.taskQueue);
  const memory = workerMemory(app.env.WORKER_MEMORY_MIB);
  const activities = createActivities({
    orm,
    calls: createActiveCalls({ orm, logger, endedCalls }),
    shortCalls,
    partials: createPartialOutputs({ orm, logger }),
    adapters: createAdapters({ egress }),
    processes: createProcessRunner(egress, processes, sandbox),
    temporal: gateway,
    logger,
    files,
    callbackAddress: (id, until) =>
      createCallbackAddress({ keys: signingKeys, baseUrl: app.env.BASE_URL }, id, until),
    fileLink: async (id, seconds) =>
      (await createFileLink({ keys: signingKeys, baseUrl: app.env.BASE_URL }, id, seconds)).url,
    limits: runLimits(app.env),
    answers: createAnswerMemory(app.env.WORKER_ANSWER_MIB * 1024 * 1024),
    retentionDays: app.env.RETENTION_DAYS,
    eventDays: app.env.EVENT_RETENTION_DAYS,
    deliveries: { kinds, sender, retry, isShortOfMemory: () => memory() >= 1 },
    notifications,
    secret: (ownerId, name) => resolveSecret(orm.em.fork(), encryption, ownerId, name),
  });
  // The connection ends the runtime, which the next test file needs anew: nothing may fail between them.
  if (!runtimeInstalled) Runtime.install({ logger: temporalLogger(logger), shutdownSignals: [] });
  runtimeInstalled = true;
  const connection = await NativeConnection.connect({ address: temporal.address });

  let running: { shutdown(): void; done: Promise<void> } | null = null;
  const startWorker: TestPlatform['startWorker'] = async (other = {}) => {
    const pause = await watchWritePause(createWritePauseWatch(() => orm.em.fork()));
    const workflowBundle = await bundleOncePerRun();
    const { namespace, taskQueue } = temporal;
    const worker = await createWorker({
      connection,
      namespace,
      taskQueue,
      activities,
      workflowBundle,
      dataConverter,
      memory,
      shortCalls,
      isPaused: () => pause.isOn,
      ...other,
    });
    const pump = startEventPump({ orm, kinds, temporal: gateway, runEvents, logger, pause });
    const matching = { orm, temporal: gateway, limits: runLimits(app.env), logger };
    const matcher = startEventMatcher(matching, pause, database.url);
    const { expand } = notifications;
    const notifier = startNotificationPump({ expand, temporal: gateway, logger, pause }, database.url);
    const stopped = (): Promise<unknown> => {
      pause.stop();
      return Promise.all([pump.stop(), matcher.stop(), notifier.stop()]);
    };
    running = { shutdown: () => worker.shutdown(), done: worker.run().finally(stopped) };
  };
  const stopWorker = async (): Promise<void> => {
    running?.shutdown();
    await running?.done;
    running = null;
  };
  if (options.worker !== false) await startWorker();

  const close = (): Promise<void> => {
    const connections = (): Promise<unknown> => connectionsOf(database.url);
    return closeInSteps([
      { name: 'stopWorker', work: stopWorker, limitMs: 60_000, details: connections },
      { name: 'runEvents.stop', work: () => runEvents.stop(), details: connections },
      { name: 'mailer.close', work: async () => notifications.deliver.mailer?.close() },
      { name: 'endedCalls.stop', work: () => endedCalls.stop(), details: connections },
      { name: 'sandbox.close', work: async () => sandbox?.close() },
      { name: 'connection.close', work: () => connection.close() },
      { name: 'client.connection.close', work: () => client.connection.close() },
      // Its steps have limits of their own.
      { name: 'app.close', work: () => app.close(), limitMs: 200_000 },
      { name: 'orm.close', work: () => orm.close(true), details: connections },
      { name: 'database.drop', work: () => database.drop(), details: connections },
    ]);
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
      await failLostJobs({ orm, temporal: gateway });
      await reportEvaluations({ orm }, () => {});
      await reconcileSchedules(
        { orm, temporal: gateway, limits: runLimits(app.env) },
        { heartbeat: () => {} },
      );
      await reconcileDeliveries({ orm, kinds, temporal: gateway }, { heartbeat: () => {}, overdueMs: 0 });
      const { expand } = notifications;
      await reconcileNotifications({ expand, temporal: gateway }, { heartbeat: () => {}, overdueMs: 0 });
    },
    runToEnd: async (definition, input = {}) => runToEnd(await app.as('builder'), definition, input),
  };
}

const ENDED = ['completed', 'faulted', 'cancelled'];

/** Creates a workflow, runs it, and waits for its end. */
export async function runToEnd(
  client: Client,
  definition: unknown,
  input: Record<string, unknown> = {},
): Promise<RunRecord> {
  return startRun(client, definition, input, 30);
}

/** Waits for the end of a run that a request with `Prefer: wait` may have returned before. */
export async function endOf(client: Client, run: RunRecord): Promise<RunRecord> {
  let now = run;
  // On a busy machine long runs take minutes.
  for (let i = 0; i < 8 && !ENDED.includes(now['status']); i++)
    now = (await client.get(`/runs/${run['id']}`, { headers: { prefer: 'wait=30' } })).body;
  if (!ENDED.includes(now['status']))
    throw new Error(`the run is ${now['status']}: ${JSON.stringify(now['logs'])}`);
  return now;
}

/** `waitSeconds`: waits for the end, by `Prefer: wait` at first. */
export async function startRun(
  client: Client,
  definition: unknown,
  input: Record<string, unknown> = {},
  waitSeconds = 0,
): Promise<RunRecord> {
  const created = await client.post('/workflows', { name: 'test', definition });
  if (created.status !== 201 || !created.body.runnable) throw new Error(JSON.stringify(created.body));
  const headers = waitSeconds > 0 ? { prefer: `wait=${waitSeconds}` } : {};
  const started = await client.post(
    `/workflows/${created.body.id}/run`,
    { input_params: input },
    { headers },
  );
  if (started.status !== 201) throw new Error(JSON.stringify(started.body));
  return waitSeconds > 0 ? endOf(client, started.body) : started.body;
}

/** Reads until `ready` accepts the result; fails after `timeoutMs` with the last result. */
export async function until<T>(
  read: () => Promise<T>,
  ready: (value: T) => boolean,
  timeoutMs = 120_000,
): Promise<T> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const value = await read();
    if (ready(value)) return value;
    if (Date.now() > deadline) throw new Error(`not reached: ${JSON.stringify(value)}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Where it is kept as a worker keeps it. */
export function bundlesOfRun(): string {
  return join(runFolder(), 'bundles');
}

/** The current workflow code, bundled by the first test file that asks. */
export async function bundleOncePerRun(): Promise<WorkflowBundle> {
  return JSON.parse(
    await oncePerRun('workflow-bundle.json', async () =>
      JSON.stringify(await bundleWorkflows({ cacheDir: bundlesOfRun() })),
    ),
  ) as WorkflowBundle;
}
