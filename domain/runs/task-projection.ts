/** `run_task`: the tasks that started, as the events tell them. Written only by the append. */
import type { EntityManager } from '@mikro-orm/postgresql';
import { EVENT } from '../../contracts/run-events.ts';
import type { TerminalStatus } from '../../contracts/run-events.ts';
import type { WrittenEvent } from './events.ts';

interface TaskRow {
  reference: string;
  visit: number;
  seq: number | null;
  name: string | null;
  type: string | null;
  status: string | null;
  attempt: number | null;
  started_at: string | null;
  finished_at: string | null;
  agent_id: string | null;
  agent_version: string | null;
  hitl_task_id: string | null;
  child_run_id: string | null;
  usage: unknown;
  error: unknown;
}

const STATUS: Record<string, string> = {
  [EVENT.taskStarted]: 'running',
  [EVENT.taskCompleted]: 'completed',
  [EVENT.taskFaulted]: 'faulted',
  [EVENT.taskCancelled]: 'cancelled',
  [EVENT.hitlCreated]: 'waiting',
  [EVENT.childCreated]: 'running',
  [EVENT.agentPinned]: 'running',
};

const text = (value: unknown): string | null => (typeof value === 'string' ? value : null);
const number = (value: unknown): number | null => (typeof value === 'number' ? value : null);

/** Folds the events of one append into one row a task, then writes all rows in one statement. */
export async function projectTasks(em: EntityManager, runId: string, events: WrittenEvent[]): Promise<void> {
  const rows = new Map<string, TaskRow>();
  for (const event of events) {
    const status = STATUS[event.type];
    const visit = number(event.data['visit']);
    if (status === undefined || event.task === null || visit === null) continue;
    const id = `${event.task}#${visit}`;
    const row = rows.get(id) ?? emptyRow(event.task, visit);
    rows.set(id, row);
    if (event.type !== EVENT.agentPinned) row.status = status;
    if (event.type === EVENT.taskStarted) {
      row.seq = event.seq;
      row.name = text(event.data['name']);
      row.type = text(event.data['type']);
      row.attempt = number(event.data['attempt']);
      row.started_at = event.at;
    } else if (status !== 'running' && status !== 'waiting') {
      row.finished_at = event.at;
    }
    row.agent_id = text(event.data['agent_id']) ?? row.agent_id;
    row.agent_version = text(event.data['agent_version']) ?? row.agent_version;
    row.hitl_task_id = text(event.data['hitl_task_id']) ?? row.hitl_task_id;
    row.child_run_id = text(event.data['child_run_id']) ?? row.child_run_id;
    row.usage = event.data['usage'] ?? row.usage;
    row.error = event.type === EVENT.taskFaulted ? event.data['error'] : row.error;
  }
  if (rows.size === 0) return;
  await em.execute(
    `insert into run_task as t (run_id, reference, visit, seq, name, type, status, attempt, started_at, finished_at,
                                agent_id, agent_version, hitl_task_id, child_run_id, usage, error)
     select ?::uuid, reference, visit, coalesce(seq, 0), coalesce(name, ''), coalesce(type, ''), coalesce(status, 'running'),
            coalesce(attempt, 1), coalesce(started_at, clock_timestamp()), finished_at,
            agent_id, agent_version, hitl_task_id, child_run_id, usage, error
       from json_to_recordset(?::json) as r (reference text, visit int, seq int, name text, type text, status text, attempt int,
            started_at timestamptz, finished_at timestamptz, agent_id uuid, agent_version text, hitl_task_id uuid,
            child_run_id uuid, usage jsonb, error json)
     on conflict (run_id, reference, visit) do update set
       status = excluded.status,
       finished_at = coalesce(excluded.finished_at, t.finished_at),
       agent_id = coalesce(excluded.agent_id, t.agent_id),
       agent_version = coalesce(excluded.agent_version, t.agent_version),
       hitl_task_id = coalesce(excluded.hitl_task_id, t.hitl_task_id),
       child_run_id = coalesce(excluded.child_run_id, t.child_run_id),
       usage = coalesce(excluded.usage, t.usage),
       error = coalesce(excluded.error, t.error)`,
    [runId, JSON.stringify([...rows.values()])],
  );
}

/** What had started and did not finish ends with the run. */
export async function closeOpenTasks(em: EntityManager, runId: string, end: TerminalStatus): Promise<void> {
  await em.execute(
    `update run_task set status = ?, finished_at = clock_timestamp() where run_id = ? and status in ('running', 'waiting', 'suspended')`,
    [end === 'faulted' ? 'faulted' : 'cancelled', runId],
  );
}

function emptyRow(reference: string, visit: number): TaskRow {
  return {
    reference,
    visit,
    seq: null,
    name: null,
    type: null,
    status: null,
    attempt: null,
    started_at: null,
    finished_at: null,
    agent_id: null,
    agent_version: null,
    hitl_task_id: null,
    child_run_id: null,
    usage: null,
    error: null,
  };
}
