import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode } from '@temporalio/worker';
import type { Logger as TemporalLogger, WorkflowBundleWithSourceMap } from '@temporalio/worker';

/** The workflows' code as the sandbox runs it. */
export function bundleWorkflows(logger?: TemporalLogger): Promise<WorkflowBundleWithSourceMap> {
  return bundleWorkflowCode({
    workflowsPath: fileURLToPath(new URL('../workflows/index.ts', import.meta.url)),
    ...(logger ? { logger } : {}),
  });
}
