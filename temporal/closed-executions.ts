/** What Temporal's list of executions shows of runs, and why an execution ended. */
import { WorkflowFailedError, type Client, type WorkflowHandle } from '@temporalio/client';
import { RUN_WORKFLOW, runWorkflowId, SEARCH_ATTRIBUTES } from '../contracts/temporal.ts';
import { isUnavailable } from './grpc-failures.ts';

/** Maximum length of a closed execution's reason. */
const MAX_REASON_LENGTH = 500;
/** Maximum length of the list; executions beyond it are found run by run. */
const MAX_CLOSED = 10_000;
const MAX_TROUBLED = 100;

/** Another installation may use the namespace: its runs are on another task queue. */
interface Listed {
  client: Client;
  taskQueue: string;
}

function ofQueue(taskQueue: string): string {
  return `WorkflowType = '${RUN_WORKFLOW}' and TaskQueue = '${taskQueue}'`;
}

/**
 * Why a closed execution failed. Its result is the failure, whose cause (decrypted by the client) has the
 * reason.
 */
export async function closeReason(handle: WorkflowHandle): Promise<string | null> {
  try {
    await handle.result();
    return null;
  } catch (error) {
    if (error instanceof WorkflowFailedError)
      return (error.cause?.message ?? error.message).slice(0, MAX_REASON_LENGTH);
    // An unreadable reason (its key is missing) must not keep the run's row open.
    if (!isUnavailable(error)) return null;
    throw error;
  }
}

/**
 * Lists closed executions whose run's row may still be open. Runs that fault or are cancelled set the status
 * attribute in their last workflow task, after their row was closed, so they are excluded.
 */
export async function abnormallyClosed(
  { client, taskQueue }: Listed,
  since: Date,
  attributes: boolean,
): Promise<{ runId: string; status: string }[]> {
  const prefix = runWorkflowId('');
  const { status } = SEARCH_ATTRIBUTES;
  const query =
    `${ofQueue(taskQueue)} and CloseTime > '${since.toISOString()}' and ` +
    `ExecutionStatus in ('Failed', 'Canceled', 'Terminated', 'TimedOut')` +
    (attributes ? ` and (${status} is null or ${status} not in ('faulted', 'cancelled'))` : '');
  const closed: { runId: string; status: string }[] = [];
  for await (const execution of client.workflow.list({ query })) {
    if (execution.workflowId.startsWith(prefix)) {
      closed.push({
        runId: execution.workflowId.slice(prefix.length),
        status: execution.status.name.toLowerCase(),
      });
    }
    if (closed.length >= MAX_CLOSED) break;
  }
  return closed;
}

/** Runs whose workflow tasks fail. Needs the attribute `TemporalReportedProblems` of the server. */
export async function troubled({ client, taskQueue }: Listed): Promise<string[]> {
  const prefix = runWorkflowId('');
  const query =
    `${ofQueue(taskQueue)} and ExecutionStatus = 'Running' and ` +
    `TemporalReportedProblems in ('category=WorkflowTaskFailed', 'category=WorkflowTaskTimedOut')`;
  const found: string[] = [];
  for await (const { workflowId } of client.workflow.list({ query, pageSize: MAX_TROUBLED })) {
    if (workflowId.startsWith(prefix)) found.push(workflowId.slice(prefix.length));
    if (found.length >= MAX_TROUBLED) break;
  }
  return found;
}
