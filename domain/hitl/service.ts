/** Reading human tasks. Lists read the table in which decisions are written, so everybody reads their own writes. */
import { textArray, type EntityManager } from '../../db/orm.ts';
import { isAdmin } from '../auth/actor.ts';
import type { Actor } from '../auth/actor.ts';
import { forbidden } from '../errors.ts';
import { findTask, TASK_COLUMNS, withDetails } from './human-task.ts';
import type { HumanTask, HumanTaskView } from './human-task.ts';
import { checkSees } from './policy.ts';
import { principalsOf } from './principals.ts';
import { UNDECIDED } from './state-machine.ts';
import type { TaskStatus } from './state-machine.ts';

export { claim, delegate, release } from './handover.ts';
export { comment } from './comment.ts';
export { decide } from './decide.ts';

export interface TaskFilters {
  /** `all`: everybody's, for admins. */
  scope: 'mine' | 'all';
  /** Default: those not yet decided. */
  status?: TaskStatus[] | undefined;
  priority?: number | undefined;
  /** Past its due time and not yet decided, or not. */
  overdue?: boolean | undefined;
  run_id?: string | undefined;
  workflow_id?: string | undefined;
  /** Part of title, description, task or workflow name, any case. */
  q?: string | undefined;
}

/** Sort key: priority from high to low, then age by id (UUIDv7). */
export type TaskPosition = readonly [negatedPriority: number, id: string];

export interface TaskPage {
  after?: TaskPosition | undefined;
  /** One more is read, to know whether there is a next page. */
  limit: number;
}

/** One query's text and values; apart so that a test can look at its plan. */
export function listQuery(actor: Actor, filters: TaskFilters, { after, limit }: TaskPage): { sql: string; values: unknown[] } {
  const parts: string[] = [];
  const values: unknown[] = [];
  const where = (sql: string, ...given: unknown[]): void => {
    parts.push(sql);
    values.push(...given);
  };
  const { status } = filters;
  if (status === undefined || isQueue(status)) where(`t.status in ('open', 'claimed')`);
  else where(`t.status in (${status.map(() => '?').join(', ')})`, ...status);
  if (filters.scope === 'mine') where(`t.principals && ?::text[]`, textArray(principalsOf(actor)));
  if (filters.priority !== undefined) where(`-t.priority = ?`, -filters.priority);
  if (filters.overdue === true) where(`t.status in ('open', 'claimed') and t.due_at < now()`);
  if (filters.overdue === false) where(`(t.status not in ('open', 'claimed') or t.due_at is null or t.due_at >= now())`);
  if (filters.run_id !== undefined) where(`t.run_id = ?`, filters.run_id);
  if (filters.workflow_id !== undefined) where(`t.workflow_id = ?`, filters.workflow_id);
  if (filters.q !== undefined) {
    where(`concat_ws(' ', t.title, t.description, t.task_name, t.workflow_name) ilike ?`, `%${filters.q.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`);
  }
  if (after) where(`(-t.priority, t.id) > (?::int, ?::uuid)`, ...after);
  const sql = `select ${TASK_COLUMNS} from hitl_task t where ${parts.join(' and ')} order by -t.priority, t.id limit ?`;
  return { sql, values: [...values, limit + 1] };
}

/** The caller's tasks: theirs as assignee, or where they are a candidate by user, role or group. */
export async function listTasks(em: EntityManager, actor: Actor, filters: TaskFilters, page: TaskPage): Promise<HumanTaskView[]> {
  if (filters.scope === 'all' && !isAdmin(actor)) throw forbidden('Only admins list the tasks of all.');
  const { sql, values } = listQuery(actor, filters, page);
  return withDetails(em, await em.execute<HumanTask[]>(sql, values));
}

export async function getTask(em: EntityManager, actor: Actor, id: string): Promise<HumanTaskView> {
  const task = await findTask(em, id);
  checkSees(actor, task);
  const [found] = await withDetails(em, [task]);
  if (!found) throw new Error('A task that was read has no view');
  return found;
}

function isQueue(status: TaskStatus[]): boolean {
  return status.length === UNDECIDED.length && UNDECIDED.every((one) => status.includes(one));
}
