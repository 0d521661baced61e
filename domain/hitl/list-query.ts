/** The queries behind lists and counts of human tasks. */
import { type TaskStatus, UNDECIDED } from '../../contracts/hitl.ts';
import type { ListView } from '../../db/large-fields.ts';
import { Conditions, containsPattern, isOneOf } from '../../db/sql.ts';
import { userIdOf, type Actor } from '../auth/actor.ts';
import { listedTaskColumns } from './human-task.ts';
import { claimedBy, decidableBy, tasksOf } from './rights.ts';
import { isUndecided } from './state-machine.ts';

export interface TaskFilters {
  view?: ListView | undefined;
  /**
   * `mine`: undecided tasks only if the caller can decide them now. `candidate`: all tasks for the caller.
   * `all`: everyone's tasks, for admins.
   */
  scope: 'mine' | 'candidate' | 'all';
  /** Default: undecided tasks. */
  status?: TaskStatus[] | undefined;
  priority?: number | undefined;
  /** Whether an undecided task is past its due time. */
  overdue?: boolean | undefined;
  /** Whether it is due before this time; tasks without a due time never are. */
  due_before?: string | undefined;
  /** Id of a user, or `me`. */
  claimed_by?: string | undefined;
  run_id?: string | undefined;
  workflow_id?: string | undefined;
  /** Of the run's workflow. */
  team_id?: string | undefined;
  /** Part of title, description (its first 16,384 characters), task name or workflow name, in any case. */
  q?: string | undefined;
}

export const TASK_SORTS = ['priority', 'due', 'created'] as const;
export type TaskSort = (typeof TASK_SORTS)[number];

/** Sort key of the previous page's last task. Age is that of the id (UUIDv7). */
export type TaskPosition =
  | { sort: 'priority'; after?: readonly [negatedPriority: number, id: string] | undefined }
  /** To the microsecond; null for a task without a due time. */
  | { sort: 'due'; after?: readonly [dueAt: string | null, id: string] | undefined }
  | { sort: 'created'; after?: readonly [id: string] | undefined };

/** By priority from high to low, by due time (tasks without one last), or by age alone; then by age. */
const ORDER: Record<TaskSort, { columns: readonly string[]; types: readonly string[] }> = {
  priority: { columns: ['-t.priority', 't.id'], types: ['int', 'uuid'] },
  due: { columns: [`coalesce(t.due_at, 'infinity')`, 't.id'], types: ['timestamptz', 'uuid'] },
  created: { columns: ['t.id'], types: ['uuid'] },
};

export interface Query {
  sql: string;
  values: unknown[];
}

/** The query's text and values, separate so that a test can check its plan. */
export function listQuery(actor: Actor, filters: TaskFilters, position: TaskPosition, limit: number): Query {
  const where = conditionsOf(actor, filters);
  const { columns, types } = ORDER[position.sort];
  if (position.after)
    where.add(
      `(${columns.join(', ')}) > (${types.map((type) => `?::${type}`).join(', ')})`,
      ...position.after.map((value) => value ?? 'infinity'),
    );
  const sql = `select ${listedTaskColumns(filters.view)} from hitl_task t
     where ${where.sql}
     order by ${columns.join(', ')} limit ?`;
  return { sql, values: [...where.values, limit] };
}

/** Numbers above this are not counted. */
export const MAX_COUNT = 1_000;

/** Counts what the actor can decide, what of it is overdue, and what they have claimed. */
export function countQuery(actor: Actor): Query {
  const claimed = claimedBy(actor);
  const counts = [
    ['open', conditionsOf(actor, { scope: 'mine' })],
    ['overdue', conditionsOf(actor, { scope: 'mine', overdue: true })],
    ['claimed_by_me', new Conditions().add(IS_UNDECIDED).add(claimed.sql, ...claimed.values)],
  ] as const;
  const columns = counts.map(
    ([name, where]) =>
      `(select count(*)::int from (select from hitl_task t where ${where.sql} limit ${MAX_COUNT}) c) ` +
      `as ${name}`,
  );
  return { sql: `select ${columns.join(',\n ')}`, values: counts.flatMap(([, where]) => where.values) };
}

const IS_UNDECIDED = isOneOf('t.status', UNDECIDED);

function conditionsOf(actor: Actor, filters: TaskFilters): Conditions {
  const where = new Conditions();
  const { status } = filters;
  if (status === undefined || isQueue(status)) where.add(IS_UNDECIDED);
  else where.add(`t.status in (${status.map(() => '?').join(', ')})`, ...status);
  if (filters.scope !== 'all') {
    const { sql, values } = tasksOf(actor);
    where.add(sql, ...values);
  }
  if (filters.scope === 'mine') {
    const wanted = status ?? UNDECIDED;
    const { sql, values } = decidableBy(actor);
    if (wanted.every(isUndecided)) where.add(sql, ...values);
    else if (wanted.some(isUndecided)) where.add(`(not ${IS_UNDECIDED} or ${sql})`, ...values);
  }
  if (filters.priority !== undefined) where.add(`-t.priority = ?`, -filters.priority);
  if (filters.overdue === true) where.add(`${IS_UNDECIDED} and t.due_at < now()`);
  if (filters.overdue === false) where.add(`(not ${IS_UNDECIDED} or t.due_at is null or t.due_at >= now())`);
  if (filters.due_before !== undefined) where.add(`t.due_at < ?::timestamptz`, filters.due_before);
  if (filters.claimed_by !== undefined)
    where.add(`t.claimed_by = ?::uuid`, userIdOf(actor, filters.claimed_by));
  if (filters.run_id !== undefined) where.add(`t.run_id = ?`, filters.run_id);
  if (filters.workflow_id !== undefined) where.add(`t.workflow_id = ?`, filters.workflow_id);
  if (filters.team_id !== undefined) where.add(`t.team_id = ?::uuid`, filters.team_id);
  if (filters.q !== undefined) {
    where.add(
      `t.id in (select s.task_id from hitl_task_text s where s.text ilike ?)`,
      containsPattern(filters.q),
    );
  }
  return where;
}

function isQueue(status: TaskStatus[]): boolean {
  return status.length === UNDECIDED.length && UNDECIDED.every((undecided) => status.includes(undecided));
}
