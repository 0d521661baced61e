/** Reads of runs, their tasks and their log. All lists are keyset-paged, newest or first entry first, without OFFSET or COUNT. */
import type { EntityManager } from '@mikro-orm/postgresql';
import type { Actor } from '../auth/actor.ts';
import { isAdmin } from '../auth/actor.ts';
import { notFound } from '../errors.ts';
import { maySeeRun } from './policy.ts';
import { RUN_COLUMNS } from './row.ts';
import type { AsJson, EventRow, RunRow, TaskRow } from './row.ts';

const EVENT_COLUMNS = 'seq, at, level, type, task, message, data';

export interface RunFilter {
  status?: string[] | undefined;
  workflow_id?: string | undefined;
  agent_id?: string | undefined;
  parent_run_id?: string | undefined;
  created_after?: string | undefined;
  created_before?: string | undefined;
  q?: string | undefined;
  /** Id of the last run of the page before. */
  after?: string | undefined;
  limit: number;
}

/** The actor's runs (an admin's: all), newest first. Reads one more than `limit`, which tells whether there is a next page. */
export async function listRuns(em: EntityManager, actor: Actor, filter: RunFilter): Promise<RunRow[]> {
  const where: string[] = [];
  const params: unknown[] = [];
  const add = (sql: string, value: unknown): void => {
    where.push(sql);
    params.push(value);
  };
  if (!isAdmin(actor)) add('r.owner_id = ?', actor.id);
  if (filter.status) add('r.status = any(?::text[])', `{${filter.status.join(',')}}`);
  if (filter.workflow_id) add('r.workflow_id = ?', filter.workflow_id);
  if (filter.agent_id) {
    where.push('(r.agent_id = ? or exists (select 1 from run_pin p where p.run_id = r.id and p.agent_id = ?))');
    params.push(filter.agent_id, filter.agent_id);
  }
  if (filter.parent_run_id) add('r.parent_run_id = ?', filter.parent_run_id);
  if (filter.created_after) add('r.created_at > ?::timestamptz', filter.created_after);
  if (filter.created_before) add('r.created_at < ?::timestamptz', filter.created_before);
  if (filter.q) add(`r.workflow_name ilike ? escape '\\'`, `%${filter.q.replace(/[\\%_]/g, '\\$&')}%`);
  if (filter.after) add('r.id < ?', filter.after);
  return em.execute<RunRow[]>(
    `select ${RUN_COLUMNS} from run r ${where.length > 0 ? `where ${where.join(' and ')}` : ''} order by r.id desc limit ?`,
    [...params, filter.limit + 1],
  );
}

/** @throws not_found also for a run of somebody else. */
export async function getRun(em: EntityManager, actor: Actor, id: string): Promise<RunRow> {
  const [run] = await em.execute<RunRow[]>(`select ${RUN_COLUMNS} from run r where r.id = ?`, [id]);
  if (!run || !maySeeRun(actor, run)) throw notFound('run');
  return run;
}

/** The last tasks that started, in start order, and the end of the log: one statement. */
export async function readTail(em: EntityManager, runId: string, limits: { tasks: number; events: number }): Promise<{ tasks: AsJson<TaskRow>[]; events: AsJson<EventRow>[] }> {
  const [row] = await em.execute<{ tasks: AsJson<TaskRow>[] | null; events: AsJson<EventRow>[] | null }[]>(
    `select (select json_agg(t order by t.seq, t.reference)
               from (select * from run_task where run_id = ? order by seq desc, reference desc limit ?) t) as tasks,
            (select json_agg(e order by e.seq)
               from (select ${EVENT_COLUMNS} from run_event where run_id = ? order by seq desc limit ?) e) as events`,
    [runId, limits.tasks, runId, limits.events],
  );
  return { tasks: row?.tasks ?? [], events: row?.events ?? [] };
}

/** Tasks in start order, after the one whose `started` event has the number `afterSeq`. */
export async function tasksAfter(em: EntityManager, runId: string, afterSeq: number, limit: number): Promise<TaskRow[]> {
  return em.execute<TaskRow[]>(`select * from run_task where run_id = ? and seq > ? order by seq limit ?`, [runId, afterSeq, limit]);
}

export interface EventFilter {
  after: number;
  limit: number;
  /** This level and the graver ones. */
  levels?: string[] | undefined;
  task?: string | undefined;
}

export async function eventsAfter(em: EntityManager, runId: string, filter: EventFilter): Promise<EventRow[]> {
  const params: unknown[] = [runId, filter.after];
  let more = '';
  if (filter.levels) {
    more += ' and level = any(?::text[])';
    params.push(`{${filter.levels.join(',')}}`);
  }
  if (filter.task) {
    more += ' and task = ?';
    params.push(filter.task);
  }
  return em.execute<EventRow[]>(`select ${EVENT_COLUMNS} from run_event where run_id = ? and seq > ?${more} order by seq limit ?`, [
    ...params,
    filter.limit,
  ]);
}
