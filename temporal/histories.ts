/** Removes what Temporal keeps of a run that has ended: its executions with their histories. */
import type { Client } from '@temporalio/client';
import { unlessGone } from './grpc-failures.ts';

/** Makes one call, with a time limit. */
type Call = <T>(run: () => Promise<T>) => Promise<T>;

/** WORKFLOW_EXECUTION_STATUS_RUNNING */
const RUNNING = 1;

/**
 * A run that continued as new has a chain of executions, each of which names the one before. The oldest is
 * removed first, so that whatever is left after a failure is found again.
 */
export async function removeHistory(
  client: Client,
  call: Call,
  workflowId: string,
): Promise<'removed' | 'running' | 'none'> {
  const { namespace } = client.options;
  const newest = await call(() => newestOf(client, workflowId));
  if (newest === null) return 'none';
  if (newest.isRunning) return 'running';
  const chain = new Set([newest.runId]);
  for (let runId = newest.runId; runId !== '';) {
    const after = runId;
    runId = await call(() => executionBefore(client, workflowId, after));
    if (chain.has(runId)) throw new Error(`Temporal names ${runId} as an execution before itself`);
    if (runId !== '') chain.add(runId);
  }
  for (const runId of [...chain].toReversed()) {
    const workflowExecution = { workflowId, runId };
    await call(() =>
      unlessGone(null, () =>
        client.workflowService.deleteWorkflowExecution({ namespace, workflowExecution }),
      ),
    );
  }
  return 'removed';
}

async function newestOf(
  client: Client,
  workflowId: string,
): Promise<{ runId: string; isRunning: boolean } | null> {
  const { namespace } = client.options;
  const described = await unlessGone(null, () =>
    client.workflowService.describeWorkflowExecution({ namespace, execution: { workflowId } }),
  );
  const { execution, status } = described?.workflowExecutionInfo ?? {};
  return execution?.runId ? { runId: execution.runId, isRunning: status === RUNNING } : null;
}

/** Empty if it was the first, or if retention has removed the one before. */
async function executionBefore(client: Client, workflowId: string, runId: string): Promise<string> {
  const { namespace } = client.options;
  const read = await unlessGone(null, () =>
    client.workflowService.getWorkflowExecutionHistory({
      namespace,
      execution: { workflowId, runId },
      maximumPageSize: 1,
    }),
  );
  const [first] = read?.history?.events ?? [];
  return first?.workflowExecutionStartedEventAttributes?.continuedExecutionRunId ?? '';
}

export async function historyRetentionMs(client: Client): Promise<number> {
  const { namespace } = client.options;
  const { config } = await client.workflowService.describeNamespace({ namespace });
  return Number(config?.workflowExecutionRetentionTtl?.seconds ?? 0) * 1_000;
}
