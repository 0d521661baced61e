/**
 * Reads human tasks. Lists query the table to which decisions are written, so callers read their own writes.
 */
import type { EntityManager } from '../../db/orm.ts';
import { isAdmin, type Actor } from '../auth/actor.ts';
import { forbidden } from '../errors.ts';
import {
  findTask,
  withDetails,
  withListedDetails,
  type HumanTaskView,
  type ListedTaskRow,
} from './human-task.ts';
import { countQuery, listQuery, type TaskFilters, type TaskPosition } from './list-query.ts';
import { checkSees } from './policy.ts';

export { claim, release } from './handover.ts';
export { comment, loadForComment } from './comment.ts';
export { decide } from './decide.ts';
export { delegate } from './delegate.ts';
export { loadForChange } from './locked-task.ts';

/** The caller's tasks: as assignee, as claimant, or as a candidate by user, role or group. */
export async function listTasks(
  em: EntityManager,
  actor: Actor,
  filters: TaskFilters,
  position: TaskPosition,
  limit: number,
): Promise<HumanTaskView[]> {
  if (filters.scope === 'all' && !isAdmin(actor)) throw forbidden("Only admins may list everyone's tasks.");
  const { sql, values } = listQuery(actor, filters, position, limit);
  return withListedDetails(em, actor, await em.execute<ListedTaskRow[]>(sql, values), filters.view);
}

export interface TaskCounts {
  open: number;
  overdue: number;
  claimed_by_me: number;
}

/** Each up to `MAX_COUNT`. */
export async function countTasks(em: EntityManager, actor: Actor): Promise<TaskCounts> {
  const { sql, values } = countQuery(actor);
  const [counts] = await em.execute<TaskCounts[]>(sql, values);
  return counts ?? { open: 0, overdue: 0, claimed_by_me: 0 };
}

export async function getTask(em: EntityManager, actor: Actor, id: string): Promise<HumanTaskView> {
  const task = await findTask(em, id);
  checkSees(actor, task);
  const [found] = await withDetails(em, actor, [task]);
  if (!found) throw new Error('A task that was read has no view');
  return found;
}
