/**
 * What a person may do with a human task now, and why not. Uses the same policy and state machine as the
 * actions themselves, in the same order.
 */
import { UNDECIDED } from '../../contracts/hitl.ts';
import { arrayLiteral, isOneOf } from '../../db/sql.ts';
import { isTerminal } from '../../contracts/run-events.ts';
import { hasRole, isAdmin, type AbsentPerson, type Actor } from '../auth/actor.ts';
import { maySeeRun } from '../runs/policy.ts';
import { giverOf } from './delegation.ts';
import { hasVotedOnTask, mayActOnTask, type HumanTaskView } from './human-task.ts';
import { heldState } from './held-state.ts';
import { teamsWith } from '../auth/ownership.ts';
import { actsAs, maySee, refusalToAct } from './policy.ts';
import { excludableWords, ownWords, principalsOf, teamWords } from './principals.ts';
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
  // The same for each action that decides, so it is asked once.
  const refused = refusalToAct(actor, task)?.code ?? null;
  const rights: TaskRights = { can: [], cannot: {} };
  for (const action of TASK_ACTIONS) {
    const reason = whyNot(actor, task, action, refused);
    if (reason === null) rights.can.push(action);
    else rights.cannot[action] = reason;
  }
  return rights;
}

function whyNot(
  actor: Actor,
  task: HumanTaskView,
  action: TaskAction,
  refusedToAct: string | null,
): string | null {
  switch (action) {
    case 'see_run':
      return maySeeRun(actor, task) ? null : 'not_found';
    case 'comment':
      if (!maySee(actor, task)) return 'not_found';
      if (!hasRole(actor, 'viewer')) return 'role_required';
      return isTerminal(task.run_status) ? 'run_finished' : null;
    default:
      return (
        refusedToAct ??
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
  const common = { by: actsAs(actor, task).id, self: actor.id, late: task.late };
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
  const as = actsAs(actor, task);
  const giver = giverOf(as, task);
  if (giver === null) return 'not_the_assignee';
  const command = {
    kind: 'delegate',
    by: as.id,
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
function stateOf(actor: Actor, task: HumanTaskView): TaskState {
  const { my_vote, represented, assignee_key, assignee_voted } = task;
  const votes = my_vote === null ? [] : [{ by: actor.id, decision: my_vote.decision }];
  votes.push(...represented.map((by) => ({ by, decision: '' })));
  if (assignee_voted && assignee_key !== null)
    votes.push({ by: assignee_key.slice('id:'.length), decision: '' });
  return { ...heldState(task), votes };
}

interface Condition {
  sql: string;
  values: unknown[];
}

/** SQL condition for the tasks of the actor, and of the absent people whose deputy they are. */
export function tasksOf(actor: Actor): Condition {
  const absent = (actor.deputyFor ?? []).map((person) => allOf([ownTasks(person), ofAbsence(person)]));
  return anyOf([ownTasks(actor), ...absent]);
}

/** Consistent with `isDeputyFor`: what was decided before is not for the deputy. */
function ofAbsence({ since }: AbsentPerson): Condition {
  return {
    sql: `(${isOneOf('t.status', UNDECIDED)} or t.updated_at >= ?::timestamptz)`,
    values: [since],
  };
}

/** SQL of `isConcerned`. */
function ownTasks(person: Actor): Condition {
  const words = principalsOf(person);
  const others = [...words].filter((word) => word !== `id:${person.id}`);
  const candidate = {
    sql: `(t.principals && ?::text[] and (coalesce(t.delegates ->> ?, '') <> 'candidate'
        or t.principals && ?::text[]))`,
    values: [arrayLiteral(words), person.id, arrayLiteral(others)],
  };
  if (!isAdmin(person)) return candidate;
  return anyOf([candidate, { sql: 't.claimed_by = ?::uuid', values: [person.id] }]);
}

/** SQL condition for the tasks that the actor has claimed and can still decide. */
export function claimedBy(actor: Actor): Condition {
  const claimed = { sql: 't.claimed_by = ?::uuid', values: [actor.id] };
  return allOf([claimed, approverOf(actor), ownTasks(actor)]);
}

/**
 * SQL condition for the undecided tasks that the actor can decide, consistent with `refusalToAct` and the
 * state machine. Together with `tasksOf`.
 */
export function decidableBy(actor: Actor): Condition {
  const role = approverOf(actor);
  const open = '(t.expires_at is null or t.expires_at > clock_timestamp())';
  const people = anyOf(
    [actor, ...(actor.deputyFor ?? [])].map((person) => allOf([ownTasks(person), freeFor(person)])),
  );
  // The caller looks for `tasksOf` anyway.
  if (actor.deputyFor === undefined) return allOf([role, { sql: open, values: [] }, freeFor(actor)]);
  return allOf([role, { sql: open, values: [] }, people, uninvolved(actor)]);
}

function freeFor(person: Actor): Condition {
  return allOf([
    {
      sql: `(t.claimed_by is null or t.claimed_by = ?::uuid or not ${mayActOnTask('t.claimed_by')})
        and not (jsonb_exists_any(t.delegations, array[?, ?])
          and exists (select from vote_holders(t.delegations, array[?, ?]) h (id)
                       where ${mayActOnTask('h.id')} or ${hasVotedOnTask('h.id')}))`,
      values: [person.id, ...ownWords(person), ...ownWords(person)],
    },
    uninvolved(person),
  ]);
}

/** Not excluded, and without a vote: a person counts once, whatever the path. */
function uninvolved(person: Actor): Condition {
  const sql = `(t.quorum is null or not (
      coalesce((t.quorum ->> 'exclude_initiator')::boolean, false)
      and ?::uuid = any(t.initiator_ids || t.initiator_id)
      or t.excluded && ?::text[]
      or ${hasVotedOnTask('?::uuid')}))`;
  return { sql, values: [person.id, arrayLiteral(excludableWords(person)), person.id] };
}

function anyOf(conditions: readonly Condition[]): Condition {
  return joined(conditions, ' or ');
}

function allOf(conditions: readonly Condition[]): Condition {
  return joined(conditions, ' and ');
}

function joined(conditions: readonly Condition[], word: string): Condition {
  return {
    sql: `(${conditions.map(({ sql }) => sql).join(word)})`,
    values: conditions.flatMap(({ values }) => values),
  };
}

/** SQL of `mayApprove`. */
function approverOf(actor: Actor): Condition {
  if (hasRole(actor, 'approver')) return { sql: 'true', values: [] };
  const teams = teamsWith(actor, 'approver');
  if (teams.length === 0) return { sql: 'false', values: [] };
  return {
    sql: '(t.team_id = any(?::uuid[]) or t.principals && ?::text[])',
    values: [arrayLiteral(teams), arrayLiteral(teamWords(actor))],
  };
}
