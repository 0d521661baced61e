import { WorkflowExecutionAlreadyStartedError, type Client } from '@temporalio/client';
import { defineSearchAttributeKey, SearchAttributeType, type SearchAttributePair } from '@temporalio/common';
import {
  RUN_WORKFLOW,
  runWorkflowId,
  SEARCH_ATTRIBUTES,
  type RunArgs,
  type RunStart,
} from '../contracts/temporal.ts';
import { shareOfOwner } from './shares.ts';

/** Temporal shows a summary of at most this length. */
const MAX_SUMMARY_LENGTH = 200;
const MAX_KEYWORD_LENGTH = 200;

/** Succeeds if the run was started before. */
export async function startRun(client: Client, taskQueue: string, args: RunArgs): Promise<void> {
  const run = args.start;
  try {
    await client.workflow.start(RUN_WORKFLOW, {
      workflowId: runWorkflowId(run.run_id),
      taskQueue,
      args: [args],
      ...(args.search_attributes ? { typedSearchAttributes: attributesOf(run) } : {}),
      priority: shareOfOwner(run.owner_id),
      workflowIdConflictPolicy: 'USE_EXISTING',
      // Without it, a second start after the run's end would execute everything again.
      workflowIdReusePolicy: 'REJECT_DUPLICATE',
      staticSummary: `Run of ${run.name}`.slice(0, MAX_SUMMARY_LENGTH),
      staticDetails:
        `Run \`${run.run_id}\`` + (run.workflow_id === null ? '' : ` of workflow \`${run.workflow_id}\``),
    });
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  }
}

function attributesOf(run: RunStart): SearchAttributePair[] {
  const keyword = (name: string, value: string): SearchAttributePair => ({
    key: defineSearchAttributeKey(name, SearchAttributeType.KEYWORD),
    value,
  });
  return [
    keyword(SEARCH_ATTRIBUTES.owner, run.owner_id),
    keyword(SEARCH_ATTRIBUTES.workflow, run.workflow_id ?? run.name.slice(0, MAX_KEYWORD_LENGTH)),
    keyword(SEARCH_ATTRIBUTES.status, 'running'),
  ];
}
