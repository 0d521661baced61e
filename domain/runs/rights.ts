/** What a user may do with a run that they see, by the rules of the actions themselves. */
import { isTerminal, type RunStatus } from '../../contracts/run-events.ts';
import { hasRole, isAdmin, type Actor } from '../auth/actor.ts';
import { maySeeWorkflow } from '../registry/workflow-policy.ts';
import { maySeeRun } from './policy.ts';
import type { RunRow } from './row.ts';

/** `run_again`: start its workflow anew, by the current revision. */
export const RUN_ACTIONS = [
  'cancel',
  'suspend',
  'resume',
  'retry',
  'retry_with_changes',
  'run_again',
  'terminate',
] as const;
export type RunAction = (typeof RUN_ACTIONS)[number];
export type CommandKind = 'cancel' | 'suspend' | 'resume';

export function runActions(
  actor: Actor,
  run: Pick<RunRow, 'owner_id' | 'status' | 'open_command' | 'has_checkpoint' | 'workflow'>,
): RunAction[] {
  if (!maySeeRun(actor, run)) return [];
  return RUN_ACTIONS.filter((action) => {
    switch (action) {
      case 'terminate':
        return isAdmin(actor) && !isTerminal(run.status);
      case 'retry':
        return hasRole(actor, 'builder') && mayRetry(run);
      case 'retry_with_changes':
        return hasRole(actor, 'builder') && mayRetry(run) && mayChangeRetry(actor, rightsOf(run));
      case 'run_again':
        return hasRole(actor, 'builder') && mayRunAgain(actor, run.workflow);
      default:
        return hasRole(actor, 'builder') && commandOutcome(action, run) === 'accepted';
    }
  });
}

export type CommandOutcome = 'accepted' | 'unchanged' | 'finished' | 'not_suspended';

/** The outcome of a command. `open_command`: the last command that the workflow has not received yet. */
export function commandOutcome(
  kind: CommandKind,
  run: { status: RunStatus; open_command: string | null },
): CommandOutcome {
  const { status, open_command: open } = run;
  if (isTerminal(status)) return kind === 'cancel' && status === 'cancelled' ? 'unchanged' : 'finished';
  if (open === kind) return 'unchanged';
  const suspended = open === null ? status === 'suspended' : open === 'suspend';
  if (kind === 'resume' && !suspended) return 'not_suspended';
  return kind === 'suspend' && suspended ? 'unchanged' : 'accepted';
}

/** A retry continues from the checkpoint that the fault left. */
function mayRetry({ status, has_checkpoint }: Pick<RunRow, 'status' | 'has_checkpoint'>): boolean {
  return status === 'faulted' && has_checkpoint;
}

/** Whose rights a run uses: those of its workflow's owner. */
function rightsOf({ owner_id, workflow }: Pick<RunRow, 'owner_id' | 'workflow'>): string {
  return workflow?.owner_id ?? owner_id;
}

/**
 * A changed retry passes by what the definition has before its place: checks, approvals. So only those who
 * may change the workflow, whose rights the run uses, may ask for one.
 */
export function mayChangeRetry(actor: Actor, ownerOfRights: string): boolean {
  return ownerOfRights === actor.id || isAdmin(actor);
}

function mayRunAgain(actor: Actor, workflow: RunRow['workflow']): boolean {
  return workflow !== null && workflow.runnable && maySeeWorkflow(actor, workflow);
}
