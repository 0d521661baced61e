/**
 * Which version of the workers executes a workflow, if the workers have versions (docs/adr/0041). A run stays
 * with the version that began its execution.
 */
import { workflowInfo, type ContinueAsNewOptions } from '@temporalio/workflow';
import { getActivator } from '@temporalio/workflow/lib/global-attributes.js';

/** Lets the workflow go to the current version once the workflow task that runs now has ended. */
export function leaveVersion(): void {
  // Temporal refuses it from workers without versions.
  if (isVersioned()) getActivator().versioningBehavior = 'AUTO_UPGRADE';
}

/** Lets the next execution begin with the current version. For the workflow task that continues as new. */
export function onCurrentVersion(): Pick<ContinueAsNewOptions, 'initialVersioningBehavior'> {
  // Servers before 1.30 do not know the option. They go by what the last workflow task says.
  leaveVersion();
  return isVersioned() ? { initialVersioningBehavior: 'AUTO_UPGRADE' } : {};
}

function isVersioned(): boolean {
  return (workflowInfo().currentDeploymentVersion?.deploymentName ?? '') !== '';
}
