/** What a user may do with a workflow that they see. */
import { hasRole, type Actor } from '../auth/actor.ts';
import { mayChangeWorkflow, mayPublishWorkflow, maySeeWorkflow, type Ownership } from './workflow-policy.ts';

export const WORKFLOW_ACTIONS = ['run', 'update', 'delete', 'publish'] as const;
export type WorkflowAction = (typeof WORKFLOW_ACTIONS)[number];

/** `publish`: in the marketplace. `verdict`: of the current revision, as its record shows it. */
export function workflowActions(
  actor: Actor,
  workflow: Ownership,
  verdict: { valid: boolean; runnable: boolean },
): WorkflowAction[] {
  if (!hasRole(actor, 'builder') || !maySeeWorkflow(actor, workflow)) return [];
  const may: Record<WorkflowAction, boolean> = {
    run: verdict.runnable,
    update: mayChangeWorkflow(actor, workflow),
    delete: mayChangeWorkflow(actor, workflow),
    publish: mayPublishWorkflow(actor, workflow) && verdict.valid,
  };
  return WORKFLOW_ACTIONS.filter((action) => may[action]);
}
