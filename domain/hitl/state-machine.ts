/**
 * The transitions of a human task. Pure, so that tests can compare it with a model. It assumes that policy.ts
 * has admitted the person. States: docs/interface.md#human-tasks; votes: docs/human-tasks.md#vote; expiry:
 * docs/architecture.md#human-decisions.
 */

import { UNDECIDED, type Quorum, type TaskStatus } from '../../contracts/hitl.ts';

export interface TaskState {
  status: TaskStatus;
  claimed_by: string | null;
  quorum: Quorum | null;
  /** With a quorum: who voted for what, and as whose deputy. */
  votes: readonly { by: string; decision: string; also?: string | null }[];
}

/**
 * `self`: the deputy who acts as `by`.
 * `late`: the task is past its expiry by the database's clock. `any`: an admin, who may also act on tasks
 * that others have claimed. `giver`: the person whose vote is delegated; `by` unless an admin acts for them.
 */
export type Command =
  | { kind: 'decide'; by: string; self?: string; decision: string; late: boolean }
  | { kind: 'claim'; by: string; late: boolean }
  | { kind: 'release'; by: string; any: boolean; late: boolean }
  | { kind: 'delegate'; by: string; giver: string; to: string; any: boolean; late: boolean }
  | { kind: 'expire' }
  | { kind: 'cancel' };

export type PersonCommand = Extract<Command, { by: string }>;

export type Refusal =
  | 'already_decided'
  | 'task_expired'
  | 'task_cancelled'
  | 'claimed_by_another'
  | 'already_voted'
  | 'quorum_not_claimable'
  | 'not_claimed';

/**
 * `voted`: the vote is stored and the task stays open. `unchanged`: the task was already in the wanted state.
 */
type Change =
  'voted' | 'decided' | 'claimed' | 'released' | 'delegated' | 'expired' | 'cancelled' | 'unchanged';

/** A refused command may still change the state: a command after the expiry expires the task. */
export type Step = { state: TaskState; change: Change } | { state: TaskState; refused: Refusal };

const CLOSED: Record<Exclude<TaskStatus, (typeof UNDECIDED)[number]>, Refusal> = {
  decided: 'already_decided',
  expired: 'task_expired',
  cancelled: 'task_cancelled',
};

export function isUndecided(status: TaskStatus): status is (typeof UNDECIDED)[number] {
  return (UNDECIDED as readonly TaskStatus[]).includes(status);
}

export function step(state: TaskState, command: Command): Step {
  const { status } = state;
  if (!isUndecided(status)) {
    const byRun = command.kind === 'expire' || command.kind === 'cancel';
    return byRun ? { state, change: 'unchanged' } : { state, refused: CLOSED[status] };
  }
  switch (command.kind) {
    case 'expire':
      return { state: { ...state, status: 'expired' }, change: 'expired' };
    case 'cancel':
      return { state: { ...state, status: 'cancelled' }, change: 'cancelled' };
    default:
      return command.late
        ? { state: { ...state, status: 'expired' }, refused: 'task_expired' }
        : byPerson(state, command);
  }
}

/** Why a person's command would be refused, whatever its arguments; null if it would not. */
export function refusal(state: TaskState, command: PersonCommand): Refusal | null {
  const result = step(state, command);
  return 'refused' in result ? result.refused : null;
}

function byPerson(state: TaskState, command: PersonCommand): Step {
  const held = state.claimed_by !== null && state.claimed_by !== command.by;
  switch (command.kind) {
    case 'decide':
      if (held) return { state, refused: 'claimed_by_another' };
      return state.quorum
        ? vote(state, state.quorum, command)
        : { state: { ...state, status: 'decided' }, change: 'decided' };
    case 'claim':
      if (state.quorum) return { state, refused: 'quorum_not_claimable' };
      if (held) return { state, refused: 'claimed_by_another' };
      if (state.claimed_by !== null) return { state, change: 'unchanged' };
      return { state: { ...state, status: 'claimed', claimed_by: command.by }, change: 'claimed' };
    case 'release':
      if (state.claimed_by === null) return { state, refused: 'not_claimed' };
      if (held && !command.any) return { state, refused: 'claimed_by_another' };
      return { state: { ...state, status: 'open', claimed_by: null }, change: 'released' };
    case 'delegate':
      if (held && !command.any) return { state, refused: 'claimed_by_another' };
      // A person who has voted cannot delegate the vote any more.
      if (hasVoted(state, command.giver)) return { state, refused: 'already_voted' };
      // A claim moves to the recipient.
      return {
        state: { ...state, claimed_by: state.claimed_by === null ? null : command.to },
        change: 'delegated',
      };
  }
}

function vote(
  state: TaskState,
  quorum: Quorum,
  { by, self = by, decision }: { by: string; self?: string; decision: string },
): Step {
  // A person counts once: as themself, as a deputy, and through a deputy.
  if (hasVoted(state, by) || hasVoted(state, self)) return { state, refused: 'already_voted' };
  const votes = [...state.votes, { by, decision }];
  const needed = decision === 'reject' ? quorum.rejections : quorum.approvals;
  const reached = votes.filter((cast) => cast.decision === decision).length >= needed;
  return reached
    ? { state: { ...state, votes, status: 'decided' }, change: 'decided' }
    : { state: { ...state, votes }, change: 'voted' };
}

function hasVoted(state: TaskState, by: string): boolean {
  return state.votes.some((cast) => cast.by === by || cast.also === by);
}
