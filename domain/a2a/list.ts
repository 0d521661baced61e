/** ListTasks: by last change of status, newest first, with keyset pages. */
import type { EntityManager } from '@mikro-orm/postgresql';
import * as z from 'zod';
import type { A2ATaskState } from '../../contracts/a2a.ts';
import type { Actor } from '../auth/actor.ts';
import { isAdmin } from '../auth/actor.ts';
import { invalid } from '../errors.ts';
import { TASK_ROW } from './task-row.ts';
import type { TaskRow } from './task-row.ts';

export interface TaskFilter {
  contextId?: string | undefined;
  state?: A2ATaskState | undefined;
  /** RFC 3339: changed then or later. */
  changedAfter?: string | undefined;
  pageToken?: string | undefined;
  pageSize: number;
}

export interface TaskPage {
  rows: TaskRow[];
  /** Empty: the last page. */
  nextPageToken: string;
  totalSize: number;
}

const position = z.tuple([z.string(), z.guid()]);

/** The caller's tasks of one agent; an admin's: all. */
export async function listTaskRows(em: EntityManager, actor: Actor, agentId: string, filter: TaskFilter): Promise<TaskPage> {
  const where = ['t.agent_id = ?'];
  const values: unknown[] = [agentId];
  const add = (sql: string, ...given: unknown[]): void => {
    where.push(sql);
    values.push(...given);
  };
  if (!isAdmin(actor)) add('t.owner_id = ?', actor.id);
  if (filter.contextId) add('t.context_id = ?', filter.contextId);
  if (filter.state) add('t.state = ?', filter.state);
  if (filter.changedAfter) add('t.state_at >= ?::timestamptz', filter.changedAfter);
  const [count] = await em.execute<{ n: number }[]>(`select count(*)::int as n from a2a_task t where ${where.join(' and ')}`, values);
  if (filter.pageToken) add('(t.state_at, t.id) < (?::timestamptz, ?::uuid)', ...decode(filter.pageToken));
  const rows = await em.execute<(TaskRow & { key: string })[]>(
    `select ${TASK_ROW}, to_char(t.state_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as key
       from a2a_task t join run r on r.id = t.id where ${where.join(' and ')} order by t.state_at desc, t.id desc limit ?`,
    [...values, filter.pageSize + 1],
  );
  const page = rows.slice(0, filter.pageSize);
  const last = page.at(-1);
  return {
    rows: page,
    nextPageToken: rows.length > filter.pageSize && last ? Buffer.from(JSON.stringify([last.key, last.id])).toString('base64url') : '',
    totalSize: count?.n ?? 0,
  };
}

function decode(token: string): [string, string] {
  try {
    return position.parse(JSON.parse(Buffer.from(token, 'base64url').toString('utf8')));
  } catch {
    throw invalid([{ pointer: '/pageToken', code: 'invalid', message: 'pageToken is not one of this list' }]);
  }
}
