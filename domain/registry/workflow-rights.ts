/** What a user may do with a workflow that they see. */
import type { Actor } from '../auth/actor.ts';
import { acting, mayMove } from '../auth/ownership.ts';
import {
  mayChangeWorkflow,
  mayPublishWorkflow,
  maySeeWorkflow,
  startRight,
  type Ownership,
} from './workflow-policy.ts';

export const WORKFLOW_ACTIONS = ['run', 'update', 'delete', 'publish', 'move'] as const;
export type WorkflowAction = (typeof WORKFLOW_ACTIONS)[number];

/** `publish`: in the marketplace. `verdict`: of the current revision, as its record shows it. */
export function workflowActions(
  caller: Actor,
  workflow: Ownership & { runner_keys: readonly string[] },
  verdict: { valid: boolean; runnable: boolean },
): WorkflowAction[] {
  if (!maySeeWorkflow(caller, workflow)) return [];
  const actor = acting(caller, 'builder');
  const may: Record<WorkflowAction, boolean> = {
    run: verdict.runnable && startRight(caller, workflow) !== null,
    update: mayChangeWorkflow(actor, workflow),
    delete: mayChangeWorkflow(actor, workflow),
    publish: mayPublishWorkflow(actor, workflow) && verdict.valid,
    move: mayMove(actor, workflow),
  };
  return WORKFLOW_ACTIONS.filter((action) => may[action]);
}
