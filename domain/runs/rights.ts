/** What a user may do with a run that they see, by the rules of the actions themselves. */
import { isTerminal, type RunStatus } from '../../contracts/run-events.ts';
import { hasRole, isAdmin, type Actor } from '../auth/actor.ts';
import { hasTeamRole, holderOf, holdersOf, mayUse } from '../auth/ownership.ts';
import { startRight } from '../registry/workflow-policy.ts';
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
  run: RunRights & Pick<RunRow, 'status' | 'open_command' | 'has_checkpoint'>,
): RunAction[] {
  if (!maySeeRun(actor, run)) return [];
  return RUN_ACTIONS.filter((action) => {
    switch (action) {
      case 'terminate':
        return isAdmin(actor) && !isTerminal(run.status);
      case 'retry':
        return maySteer(actor, run) && mayRetry(run);
      case 'retry_with_changes':
        return maySteer(actor, run) && mayRetry(run) && mayChangeRetry(actor, rightsOf(run));
      case 'run_again':
        return mayRunAgain(actor, run.workflow);
      default:
        return mayCommand(actor, run, action) && commandOutcome(action, run) === 'accepted';
    }
  });
}

type RunRights = Pick<RunRow, 'owner_id' | 'team_id' | 'by_grant' | 'workflow'>;

/**
 * Whether somebody who sees the run may intervene: builders of its team, or by their own role. Who started a
 * team's run and has left the team since may not make it go on.
 */
export function maySteer(actor: Actor, run: Pick<RunRights, 'team_id' | 'by_grant' | 'workflow'>): boolean {
  if (hasTeamRole(actor, run.team_id, 'builder') || isAdmin(actor)) return true;
  if (!hasRole(actor, 'builder') || actor.teamsOnly === true || run.by_grant) return false;
  return run.team_id === null || (run.workflow !== null && mayUse(actor, run.workflow));
}

/** What somebody has started as a runner, as a member of a team or by calling an agent, they may cancel. */
export function mayCommand(actor: Actor, run: RunRights, kind: CommandKind): boolean {
  if (maySteer(actor, run)) return true;
  const isStarted = run.by_grant || run.team_id !== null || run.workflow === null;
  return kind === 'cancel' && isStarted && run.owner_id === actor.id;
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

/** Whose rights a run uses: those of its workflow's team, else of its owner. */
function rightsOf({ owner_id, workflow }: Pick<RunRow, 'owner_id' | 'workflow'>): string {
  return workflow === null ? owner_id : holderOf(workflow);
}

/**
 * A changed retry passes by what the definition has before its place: checks, approvals. So only those who
 * may change the workflow, whose rights the run uses, may ask for one.
 */
export function mayChangeRetry(actor: Actor, ownerOfRights: string): boolean {
  return holdersOf(actor, 'builder').includes(ownerOfRights) || isAdmin(actor);
}

function mayRunAgain(actor: Actor, workflow: RunRow['workflow']): boolean {
  return workflow !== null && workflow.runnable && startRight(actor, workflow) !== null;
}
