/** A2A tasks as rows: what bindings, streams and webhooks are made from. */
import type { EntityManager } from '@mikro-orm/postgresql';
import type { A2AMessage, A2ATaskState } from '../../contracts/a2a.ts';
import type { DslError } from '../../contracts/dsl-error.ts';
import type { RunStatus, WaitingOn } from '../../contracts/run-events.ts';
import type { Actor } from '../auth/actor.ts';
import { isAdmin } from '../auth/actor.ts';
import { AppError } from '../errors.ts';

export interface TaskRow {
  id: string;
  agent_id: string;
  owner_id: string;
  context_id: string;
  state: A2ATaskState;
  state_at: Date;
  paused: boolean;
  accepted_output_modes: string[];
  metadata: Record<string, unknown> | null;
  status: RunStatus;
  waiting_on: WaitingOn[];
  output: unknown;
  error: DslError | null;
  last_seq: number;
}

export const TASK_ROW = `t.id, t.agent_id, t.owner_id, t.context_id, t.state, t.state_at, t.paused, to_json(t.accepted_output_modes) as accepted_output_modes,
  t.metadata, r.status, r.waiting_on, r.output, r.error, r.last_seq`;

export function taskNotFound(id: string): AppError {
  return new AppError('not_found', 'task_not_found', `Task not found: this agent has no task ${JSON.stringify(id)} of yours.`);
}

const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

/** One statement, so one snapshot: state, output and `last_seq` belong together. @throws task_not_found, also for another's. */
export async function getTaskRow(em: EntityManager, actor: Actor, agentId: string, id: string): Promise<TaskRow> {
  const [row] = UUID.test(id)
    ? await em.execute<TaskRow[]>(`select ${TASK_ROW} from a2a_task t join run r on r.id = t.id where t.id = ? and t.agent_id = ?`, [id, agentId])
    : [];
  if (!row || (row.owner_id !== actor.id && !isAdmin(actor))) throw taskNotFound(id);
  return row;
}

export interface StoredMessage {
  task_id: string;
  seq: number;
  message: A2AMessage;
}

/** Beside the history that was asked for: the question stands near the end, if it is not the end. */
const BEYOND_HISTORY = 20;

/**
 * Messages of tasks, each task's up to the event that its row was read with, in order. With `historyLength` the last ones: as
 * many, and the task's question.
 */
export async function readMessages(em: EntityManager, tasks: readonly Pick<TaskRow, 'id' | 'last_seq'>[], historyLength?: number): Promise<Map<string, StoredMessage[]>> {
  const byTask = new Map<string, StoredMessage[]>(tasks.map(({ id }) => [id, []]));
  if (tasks.length === 0) return byTask;
  const rows = await em.execute<StoredMessage[]>(
    `select m.task_id, m.seq, m.message
       from json_to_recordset(?::json) as t (id uuid, last_seq int)
            cross join lateral (select * from a2a_message m where m.task_id = t.id and m.seq <= t.last_seq order by m.seq desc, m.id desc limit ?) m
      order by m.task_id, m.seq, m.id`,
    [JSON.stringify(tasks.map(({ id, last_seq }) => ({ id, last_seq }))), historyLength === undefined ? null : historyLength + BEYOND_HISTORY],
  );
  for (const row of rows) byTask.get(row.task_id)?.push(row);
  return byTask;
}
