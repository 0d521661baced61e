/**
 * What a person may do with a human task now, and why not. Uses the same policy and state machine as the
 * actions themselves, in the same order.
 */
import { isTerminal } from '../../contracts/run-events.ts';
import { hasRole, isAdmin, type Actor } from '../auth/actor.ts';
import { maySeeRun } from '../runs/policy.ts';
import { giverOf } from './delegation.ts';
import type { HumanTaskView } from './human-task.ts';
import { maySee, refusalToAct } from './policy.ts';
import { ownWords } from './principals.ts';
import { isUndecided, refusal, step, type TaskState } from './state-machine.ts';

export const TASK_ACTIONS = ['decide', 'claim', 'release', 'delegate', 'comment', 'see_run'] as const;
export type TaskAction = (typeof TASK_ACTIONS)[number];

export interface TaskRights {
  can: TaskAction[];
  /** For every other action, the `code` of the problem that it would meet. */
  cannot: Partial<Record<TaskAction, string>>;
}

/** The actor must see the task. */
export function taskRights(actor: Actor, task: HumanTaskView): TaskRights {
  const reasons = TASK_ACTIONS.map((action) => [action, whyNot(actor, task, action)] as const);
  return {
    can: reasons.flatMap(([action, reason]) => (reason === null ? [action] : [])),
    cannot: Object.fromEntries(
      reasons.flatMap(([action, reason]) => (reason === null ? [] : [[action, reason]])),
    ),
  };
}

function whyNot(actor: Actor, task: HumanTaskView, action: TaskAction): string | null {
  switch (action) {
    case 'see_run':
      return maySeeRun(actor, task) ? null : 'not_found';
    case 'comment':
      if (!maySee(actor, task)) return 'not_found';
      if (!hasRole(actor, 'viewer')) return 'role_required';
      return isTerminal(task.run_status) ? 'run_finished' : null;
    default:
      return (
        refusalToAct(actor, task)?.code ??
        (action === 'delegate' ? whyNotDelegate(actor, task) : whyNotByState(actor, task, action))
      );
  }
}

function whyNotByState(
  actor: Actor,
  task: HumanTaskView,
  kind: 'decide' | 'claim' | 'release',
): string | null {
  if (isOver(task)) return 'run_finished';
  const common = { by: actor.id, late: task.late };
  const state = stateOf(actor, task);
  switch (kind) {
    case 'decide':
      // The decision's value does not affect whether it is refused by state.
      return refusal(state, { ...common, kind, decision: '' });
    case 'release':
      return refusal(state, { ...common, kind, any: isAdmin(actor) });
    case 'claim': {
      const result = step(state, { ...common, kind });
      if ('refused' in result) return result.refused;
      return result.change === 'unchanged' ? 'already_claimed' : null;
    }
  }
}

function whyNotDelegate(actor: Actor, task: HumanTaskView): string | null {
  if (isOver(task)) return 'run_finished';
  const giver = giverOf(actor, task);
  if (giver === null) return 'not_the_assignee';
  const command = {
    kind: 'delegate',
    by: actor.id,
    giver: giver.id,
    to: '',
    any: isAdmin(actor),
    late: task.late,
  } as const;
  const refused = refusal(stateOf(actor, task), command);
  if (refused !== null) return refused;
  const others = [...task.principals, ...Object.keys(task.delegations)].filter(
    (word) => !giver.words.includes(word),
  );
  return task.delegate === 'candidates' && others.length === 0 ? 'no_other_candidate' : null;
}

function isOver({ run_status, status }: HumanTaskView): boolean {
  return isTerminal(run_status) && isUndecided(status);
}

/** The state with the votes that matter to the actor: their own and the assignee's. */
function stateOf(
  actor: Actor,
  { status, claimed_by, quorum, my_vote, assignee_key, assignee_voted }: HumanTaskView,
): TaskState {
  const votes = my_vote === null ? [] : [{ by: actor.id, decision: my_vote.decision }];
  if (assignee_voted && assignee_key !== null)
    votes.push({ by: assignee_key.slice('id:'.length), decision: '' });
  return { status, claimed_by, quorum, votes };
}

/**
 * SQL condition for the undecided tasks that the actor can decide, consistent with `refusalToAct` and the
 * state machine.
 */
export function decidableBy(actor: Actor): { sql: string; values: unknown[] } {
  if (!hasRole(actor, 'approver')) return { sql: 'false', values: [] };
  const sql = `(t.claimed_by is null or t.claimed_by = ?::uuid)
    and (t.expires_at is null or t.expires_at > clock_timestamp())
    and not jsonb_exists_any(t.delegations, array[?, ?])
    and (t.quorum is null or not (
      coalesce((t.quorum ->> 'exclude_initiator')::boolean, false)
      and ?::uuid = any(t.initiator_ids || t.initiator_id)
      or exists (select from hitl_vote v where v.task_id = t.id and v.voted_by = ?::uuid)))`;
  return { sql, values: [actor.id, ...ownWords(actor), actor.id, actor.id] };
}
