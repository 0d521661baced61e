/** What a user may do with a run that they see, by the rules of the actions themselves. */
import { isTerminal, type RunStatus } from '../../contracts/run-events.ts';
import { hasRole, isAdmin, type Actor } from '../auth/actor.ts';
import { maySeeRun } from './policy.ts';
import type { RunRow } from './row.ts';

export const RUN_ACTIONS = ['cancel', 'suspend', 'resume', 'retry', 'terminate'] as const;
export type RunAction = (typeof RUN_ACTIONS)[number];
export type CommandKind = 'cancel' | 'suspend' | 'resume';

export function runActions(
  actor: Actor,
  run: Pick<RunRow, 'owner_id' | 'status' | 'open_command' | 'has_checkpoint'>,
): RunAction[] {
  if (!maySeeRun(actor, run)) return [];
  return RUN_ACTIONS.filter((action) => {
    switch (action) {
      case 'terminate':
        return isAdmin(actor) && !isTerminal(run.status);
      case 'retry':
        return hasRole(actor, 'builder') && mayRetry(run);
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
