/** Implements the Temporal port with the SDK's client, for api and worker. */
import { randomUUID } from 'node:crypto';
import { WorkflowFailedError, type Client } from '@temporalio/client';
import type { ServerEnv } from '../config/env.ts';
import type { CheckContainerInput, CheckedContainer } from '../contracts/activities.ts';
import {
  CHECK_CONTAINER_WORKFLOW,
  DELIVER_WORKFLOW,
  deliverWorkflowId,
  runSignal,
  runWorkflowId,
  TASK_QUEUE,
  wakeSignal,
  type CheckContainerArgs,
  type RunArgs,
  type RunSignal,
  type RunStart,
} from '../contracts/temporal.ts';
import { TemporalUnavailable, type DueTarget, type TemporalGateway } from '../domain/ports.ts';
import { abnormallyClosed, closeReason, troubled } from './closed-executions.ts';
import { isUnavailable, isUnknownSearchAttribute, orRefused, unlessGone } from './grpc-failures.ts';
import { historyRetentionMs, removeHistory } from './histories.ts';
import { inTime } from './in-time.ts';
import { namespaceId } from './namespace.ts';
import { scheduleCalls } from './schedules.ts';
import { PLATFORM_SHARES, shareOfDeliveries } from './shares.ts';
import { startRun } from './start-run.ts';

export interface GatewayOptions {
  client: Client;
  /** Default: `cadenza`. */
  taskQueue?: string;
  /** Base URL of the API without a trailing slash, for the URLs of runs in their events. */
  baseUrl: string;
  /** Maximum number of events in a run's log. Default: the workflow code's own limit. */
  maxRunEvents?: number;
  /** The longest timeout of a short call; 0 and absent: a run makes none. */
  shortCallMs?: number;
  /** The task queue of processes that need a container engine. Default: the run's own. */
  processQueue?: string | undefined;
  /** How long a call to Temporal may take. Default: `CALL_TIMEOUT_MS`. */
  callTimeoutMs?: number;
}

/** How long a call may take, unless told otherwise. */
export const CALL_TIMEOUT_MS = 5_000;
/** A call that ends by its deadline says why. */
const OVERDUE_MS = 500;

/** The gateway of a process with these settings. */
export function gatewayOf(
  client: Client,
  env: Pick<
    ServerEnv,
    'TEMPORAL_TASK_QUEUE' | 'BASE_URL' | 'RUN_MAX_EVENTS' | 'RUN_SHORT_CALL_MS' | 'SANDBOX_TASK_QUEUE'
  >,
): TemporalGateway {
  return createGateway({
    client,
    taskQueue: env.TEMPORAL_TASK_QUEUE,
    baseUrl: env.BASE_URL,
    maxRunEvents: env.RUN_MAX_EVENTS,
    shortCallMs: env.RUN_SHORT_CALL_MS,
    processQueue: env.SANDBOX_TASK_QUEUE,
  });
}

export function createGateway(options: GatewayOptions): TemporalGateway {
  const { client, taskQueue = TASK_QUEUE, callTimeoutMs = CALL_TIMEOUT_MS } = options;
  /** The search attributes that the server has, as far as is known; old servers report no problems. */
  const has = { runAttributes: true, reportedProblems: true };
  const call = <T>(run: () => Promise<T>): Promise<T> => callServer(client, callTimeoutMs, run);
  const handle = (runId: string) => client.workflow.getHandle(runWorkflowId(runId));

  return {
    start: (run) =>
      call(() =>
        tryAttributes(
          has.runAttributes,
          (attributes) => startRun(client, taskQueue, runArgs(run, options, attributes)),
          () => (has.runAttributes = false),
        ),
      ),
    signal: (runId, signal) =>
      call(() =>
        unlessGone<'sent' | 'gone'>('gone', async () => {
          await handle(runId).signal<[RunSignal]>(runSignal, signal);
          return 'sent';
        }),
      ),
    cancel: (runId) => call(() => unlessGone(undefined, async () => void (await handle(runId).cancel()))),
    terminate: (runId, reason) =>
      call(() => unlessGone(undefined, async () => void (await handle(runId).terminate(reason)))),
    describe: (runId) =>
      call(() => unlessGone(null, async () => (await handle(runId).describe()).status.name.toLowerCase())),
    removeHistory: (runId) => orRefused(() => removeHistory(client, call, runWorkflowId(runId))),
    namespaceId: () => call(() => namespaceId(client)),
    historyRetentionMs: () => orRefused(() => call(() => historyRetentionMs(client))),
    closeReason: (runId) => call(() => unlessGone(null, () => closeReason(handle(runId)))),
    abnormallyClosed: (since) =>
      call(() =>
        tryAttributes(has.runAttributes, (attributes) =>
          abnormallyClosed({ client, taskQueue }, since, attributes),
        ),
      ),
    workflowTaskAttempt: (runId) =>
      call(() =>
        unlessGone(0, async () => (await handle(runId).describe()).raw.pendingWorkflowTask?.attempt ?? 0),
      ),
    troubled: () =>
      call(() =>
        tryAttributes(
          has.reportedProblems,
          async (reported) => (reported ? troubled({ client, taskQueue }) : []),
          () => (has.reportedProblems = false),
        ),
      ),
    ...scheduleCalls(client, taskQueue, call),
    checkContainer: (agent, timeoutMs) => checkContainer(options, agent, timeoutMs),
    wakeDelivery: (target) => call(() => wakeDelivery(client, taskQueue, target)),
    ping: () =>
      call(() => client.workflowService.getSystemInfo({})).then(
        () => true,
        () => false,
      ),
  };
}

/** The check is a workflow of its own, because only workers reach the engine. */
async function checkContainer(
  { client, taskQueue = TASK_QUEUE, processQueue, callTimeoutMs = CALL_TIMEOUT_MS }: GatewayOptions,
  agent: CheckContainerInput,
  timeoutMs: number,
): Promise<CheckedContainer | null> {
  const args: CheckContainerArgs = {
    ...agent,
    timeout_ms: timeoutMs,
    ...(processQueue === undefined ? {} : { process_queue: processQueue }),
  };
  try {
    return await client.connection.withDeadline(Date.now() + timeoutMs + callTimeoutMs, () =>
      client.workflow.execute<(given: CheckContainerArgs) => Promise<CheckedContainer>>(
        CHECK_CONTAINER_WORKFLOW,
        {
          workflowId: `check-container-${randomUUID()}`,
          taskQueue,
          args: [args],
          workflowExecutionTimeout: timeoutMs,
          staticSummary: 'Check of a container agent',
        },
      ),
    );
  } catch (error) {
    if (error instanceof WorkflowFailedError) return null;
    throw isUnavailable(error) ? new TemporalUnavailable(String(error), { cause: error }) : error;
  }
}

/** One call with a time limit. Throws TemporalUnavailable if it may be repeated. */
async function callServer<T>(client: Client, timeoutMs: number, run: () => Promise<T>): Promise<T> {
  try {
    const call = client.connection.withDeadline(Date.now() + timeoutMs, run);
    return await inTime(call, timeoutMs + OVERDUE_MS);
  } catch (error) {
    throw isUnavailable(error) ? new TemporalUnavailable(String(error), { cause: error }) : error;
  }
}

/** Works with search attributes, and again without them on a server that does not have them. */
async function tryAttributes<T>(
  known: boolean,
  work: (attributes: boolean) => Promise<T>,
  onUnknown: () => void = () => {},
): Promise<T> {
  try {
    return await work(known);
  } catch (error) {
    if (!known || !isUnknownSearchAttribute(error)) throw error;
    onUnknown();
    return work(false);
  }
}

function runArgs(
  run: RunStart,
  { baseUrl, maxRunEvents, shortCallMs = 0, processQueue }: GatewayOptions,
  attributes: boolean,
): RunArgs & { run_id: string } {
  const limit = run.max_events ?? maxRunEvents;
  // Workflow code knows numbers only; without one it takes its own.
  const maxEvents = limit === 0 ? Number.MAX_SAFE_INTEGER : limit;
  return {
    run_id: run.run_id,
    start: run,
    run_url: `${baseUrl}/runs/${run.run_id}`,
    search_attributes: attributes,
    counts_sizes: true,
    ...(maxEvents === undefined ? {} : { max_events: maxEvents }),
    ...(shortCallMs > 0 ? { short_calls: { version: 3, hand_over_ms: shortCallMs } } : {}),
    ...(processQueue === undefined ? {} : { process_queue: processQueue }),
  };
}

async function wakeDelivery(
  client: Client,
  taskQueue: string,
  { id, holder_id: holderId }: DueTarget,
): Promise<void> {
  await client.workflow.signalWithStart(DELIVER_WORKFLOW, {
    workflowId: deliverWorkflowId(id),
    taskQueue,
    args: [id],
    signal: wakeSignal,
    priority: holderId === null ? PLATFORM_SHARES.notifications : shareOfDeliveries(holderId),
    staticSummary: 'Deliveries to one target',
  });
}
