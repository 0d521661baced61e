/** The port to Temporal on the SDK's client. Used by api and worker alike. */
import { isGrpcServiceError, WorkflowExecutionAlreadyStartedError, WorkflowNotFoundError } from '@temporalio/client';
import type { Client } from '@temporalio/client';
import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import type { SearchAttributePair } from '@temporalio/common';
import { DELIVER_WORKFLOW, deliverWorkflowId, RUN_WORKFLOW, runSignal, runWorkflowId, SEARCH_ATTRIBUTES, TASK_QUEUE, wakeSignal } from '../contracts/temporal.ts';
import type { RunSignal, RunStart } from '../contracts/temporal.ts';
import { FileStoreUnavailable } from '../domain/files/ports.ts';
import { TemporalUnavailable } from '../domain/ports.ts';
import type { TemporalGateway } from '../domain/ports.ts';

export interface GatewayOptions {
  client: Client;
  /** Default: the product's own. */
  taskQueue?: string;
  /** Of the API, without a slash at the end: runs name themselves in their events. */
  baseUrl: string;
}

const CALL_TIMEOUT_MS = 5_000;
/** Codes of gRPC. */
const NOT_FOUND = 5;
/** CANCELLED, DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED, ABORTED, INTERNAL, UNAVAILABLE: worth asking again. */
const PASSING = [1, 4, 8, 10, 13, 14];

export function createGateway({ client, taskQueue = TASK_QUEUE, baseUrl }: GatewayOptions): TemporalGateway {
  const call = async <T>(run: () => Promise<T>): Promise<T> => {
    try {
      return await client.connection.withDeadline(Date.now() + CALL_TIMEOUT_MS, run);
    } catch (error) {
      throw isUnavailable(error) ? new TemporalUnavailable(String(error), { cause: error }) : error;
    }
  };
  let attributes = true;
  const handle = (runId: string) => client.workflow.getHandle(runWorkflowId(runId));
  return {
    start: (run) =>
      call(async () => {
        try {
          return await start(client, taskQueue, run, `${baseUrl}/runs/${run.run_id}`, attributes);
        } catch (error) {
          if (!attributes || !isUnknownAttribute(error)) throw error;
          // A server on which nobody registered them: runs go on without.
          attributes = false;
          return start(client, taskQueue, run, `${baseUrl}/runs/${run.run_id}`, attributes);
        }
      }),
    signal: (runId, signal) =>
      call(() =>
        unlessGone<'sent' | 'gone'>('gone', async () => {
          await handle(runId).signal<[RunSignal]>(runSignal, signal);
          return 'sent';
        }),
      ),
    terminate: (runId, reason) => call(() => unlessGone(undefined, async () => void (await handle(runId).terminate(reason)))),
    describe: (runId) => call(() => unlessGone(null, async () => (await handle(runId).describe()).status.name.toLowerCase())),
    abnormallyClosed: (since) => call(() => abnormallyClosed(client, since)),
    wakeDelivery: (targetId) =>
      call(async () => {
        await client.workflow.signalWithStart(DELIVER_WORKFLOW, {
          workflowId: deliverWorkflowId(targetId),
          taskQueue,
          args: [targetId],
          signal: wakeSignal,
          staticSummary: 'Deliveries to one target',
        });
      }),
    ping: () =>
      call(() => client.workflowService.getSystemInfo({})).then(
        () => true,
        () => false,
      ),
  };
}

async function start(client: Client, taskQueue: string, run: RunStart, runUrl: string, attributes: boolean): Promise<void> {
  try {
    await client.workflow.start(RUN_WORKFLOW, {
      workflowId: runWorkflowId(run.run_id),
      taskQueue,
      args: [{ run_id: run.run_id, start: run, run_url: runUrl, search_attributes: attributes }],
      ...(attributes ? { typedSearchAttributes: attributesOf(run) } : {}),
      workflowIdConflictPolicy: 'USE_EXISTING',
      // Without it a second start after the end would run everything again.
      workflowIdReusePolicy: 'REJECT_DUPLICATE',
      staticSummary: `Run of ${run.name}`.slice(0, 200),
      staticDetails: `Run \`${run.run_id}\`${run.workflow_id === null ? '' : ` of workflow \`${run.workflow_id}\``}`,
    });
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  }
}

function attributesOf(run: RunStart): SearchAttributePair[] {
  const keyword = (name: string, value: string): SearchAttributePair => ({ key: defineSearchAttributeKey(name, SearchAttributeType.KEYWORD), value });
  return [
    keyword(SEARCH_ATTRIBUTES.owner, run.owner_id),
    keyword(SEARCH_ATTRIBUTES.workflow, run.workflow_id ?? run.name.slice(0, 200)),
    keyword(SEARCH_ATTRIBUTES.status, 'running'),
  ];
}

/** INVALID_ARGUMENT that names a search attribute. */
function isUnknownAttribute(error: unknown): boolean {
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    if (isGrpcServiceError(cause) && Number(cause.code) === 3 && /search attribute/i.test(cause.message)) return true;
  }
  return false;
}

async function unlessGone<T>(gone: T, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof WorkflowNotFoundError || (isGrpcServiceError(error) && Number(error.code) === NOT_FOUND)) return gone;
    throw error;
  }
}

async function abnormallyClosed(client: Client, since: Date): Promise<{ runId: string; status: string }[]> {
  const prefix = runWorkflowId('');
  const query =
    `WorkflowType = '${RUN_WORKFLOW}' and CloseTime > '${since.toISOString()}' and ` +
    `ExecutionStatus in ('Failed', 'Canceled', 'Terminated', 'TimedOut')`;
  const closed: { runId: string; status: string }[] = [];
  for await (const execution of client.workflow.list({ query })) {
    if (execution.workflowId.startsWith(prefix)) {
      closed.push({ runId: execution.workflowId.slice(prefix.length), status: execution.status.name.toLowerCase() });
    }
  }
  return closed;
}

function isUnavailable(error: unknown): boolean {
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    if (isGrpcServiceError(cause) && PASSING.includes(Number(cause.code))) return true;
    // A large value could not be put aside: the row stays, as if Temporal were away.
    if (cause instanceof FileStoreUnavailable) return true;
  }
  return false;
}
