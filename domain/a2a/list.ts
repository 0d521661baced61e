/** The tasks of ListTasks: by last change of status, newest first. */
import type { EntityManager } from '../../db/orm.ts';
import type { A2ATaskState } from '../../contracts/a2a/objects.ts';
import { Conditions, type KeysetPage } from '../../db/sql.ts';
import { isAdmin, type Actor } from '../auth/actor.ts';
import { LISTED_TASK_ROW, type TaskRow } from './task-row.ts';

export interface TaskFilter {
  contextId?: string | undefined;
  state?: A2ATaskState | undefined;
  /** RFC 3339: tasks that changed at this time or later. */
  changedAfter?: string | undefined;
}

export interface ListedTask extends TaskRow {
  /** `state_at` in microseconds, by which the list is sorted: a JavaScript date would round it. */
  changed: string;
}

/** The caller's tasks of one agent; all of the agent's tasks for an admin. */
export async function listTaskRows(
  em: EntityManager,
  actor: Actor,
  agentId: string,
  filter: TaskFilter,
  page: KeysetPage<readonly [changed: string, id: string]>,
): Promise<ListedTask[]> {
  const where = conditions(actor, agentId, filter);
  if (page.after) where.add('(t.state_at, t.id) < (?::timestamptz, ?::uuid)', ...page.after);
  return em.execute<ListedTask[]>(
    `select ${LISTED_TASK_ROW},
            to_char(t.state_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as changed
       from a2a_task t join run r on r.id = t.id
      where ${where.sql}
      order by t.state_at desc, t.id desc limit ?`,
    [...where.values, page.limit],
  );
}

/** The protocol wants the number of tasks on all pages. */
export async function countTasks(
  em: EntityManager,
  actor: Actor,
  agentId: string,
  filter: TaskFilter,
): Promise<number> {
  const where = conditions(actor, agentId, filter);
  const [count] = await em.execute<{ n: number }[]>(
    `select count(*)::int as n from a2a_task t where ${where.sql}`,
    where.values,
  );
  return count?.n ?? 0;
}

function conditions(actor: Actor, agentId: string, filter: TaskFilter): Conditions {
  const where = new Conditions().add('t.agent_id = ?', agentId);
  if (!isAdmin(actor)) where.add('t.owner_id = ?', actor.id);
  if (filter.contextId) where.add('t.context_id = ?', filter.contextId);
  if (filter.state) where.add('t.state = ?', filter.state);
  if (filter.changedAfter) where.add('t.state_at >= ?::timestamptz', filter.changedAfter);
  return where;
}
