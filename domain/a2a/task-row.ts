/** A2A tasks as rows, the source for all bindings, streams and push notifications. */
import type { EntityManager } from '../../db/orm.ts';
import type { A2AMessage } from '../../contracts/a2a/objects.ts';
import type { ServedTask, StoredMessage } from '../../contracts/a2a/served-task.ts';
import type { WaitingOn } from '../../contracts/run-events.ts';
import { isUuid } from '../../contracts/uuid.ts';
import { areLarge, isLarge, listedColumns } from '../../db/large-fields.ts';
import { isAdmin, type Actor } from '../auth/actor.ts';
import { maySee, type Owned } from '../auth/ownership.ts';
import { AppError } from '../errors.ts';
import { INSIDE_COLUMNS, type InsideOfRun } from '../runs/policy.ts';
import { questionOf, type AskedTask } from '../../contracts/a2a/question.ts';

export interface TaskRow extends ServedTask, InsideOfRun {
  agent_id: string;
  agent: Owned;
  waiting_on: WaitingOn[];
  last_seq: number;
}

/** SQL: whose the agent of the task `t` is. */
const AGENT = `(select json_build_object('owner_id', a.owner_id, 'team_id', a.team_id,
    'visibility', a.visibility) from agent a where a.id = t.agent_id)`;

const SMALL_COLUMNS = `t.id, t.agent_id, t.owner_id, t.context_id, t.state, t.state_at, t.paused,
  to_json(t.accepted_output_modes) as accepted_output_modes,
  r.status, r.waiting_on, r.last_seq, ${INSIDE_COLUMNS}, ${AGENT} as agent`;

export const TASK_ROW = `${SMALL_COLUMNS}, t.metadata, r.output, r.error`;

/** For lists: large fields are null and named in `omitted`; GetTask returns them. */
export const LISTED_TASK_ROW = `${SMALL_COLUMNS}, ${listedColumns([
  { name: 'metadata', column: 't.metadata' },
  { name: 'output', column: 'r.output' },
  { name: 'error', column: 'r.error' },
])}`;

export function taskNotFound(id: string): AppError {
  return new AppError(
    'not_found',
    'task_not_found',
    `Task not found: this agent has no task ${JSON.stringify(id)} of yours.`,
  );
}

/** Checks that the task is the actor's to see; reads no content. @throws task_not_found */
export async function requireTask(
  em: EntityManager,
  actor: Actor,
  agentId: string,
  id: string,
): Promise<void> {
  const [row] = await em.execute<Pick<TaskRow, 'owner_id' | 'agent'>[]>(
    `select t.owner_id, ${AGENT} as agent from a2a_task t where t.id = ? and t.agent_id = ?`,
    [id, agentId],
  );
  if (!row || !maySeeTask(actor, row)) throw taskNotFound(id);
}

/** Whose the task is, and admins, while they see the agent. */
export function maySeeTask(
  actor: Actor,
  { owner_id: owner, agent }: Pick<TaskRow, 'owner_id' | 'agent'>,
): boolean {
  return (owner === actor.id && maySee(actor, agent)) || isAdmin(actor);
}

/**
 * Reads state, output and `last_seq` in one statement, so they belong to one snapshot. @throws
 * task_not_found, also for another user's task, and for one of an agent that the actor does not see any more
 */
export async function getTaskRow(
  em: EntityManager,
  actor: Actor,
  agentId: string,
  id: string,
): Promise<TaskRow> {
  const [row] = isUuid(id)
    ? await em.execute<TaskRow[]>(
        `select ${TASK_ROW} from a2a_task t join run r on r.id = t.id where t.id = ? and t.agent_id = ?`,
        [id, agentId],
      )
    : [];
  if (!row || !maySeeTask(actor, row)) throw taskNotFound(id);
  return row;
}

interface MessageRow {
  id: string;
  task_id: string;
  seq: number;
  /** A client's message, or a question that an earlier version has stored. */
  message: A2AMessage | null;
  /** The agent's question: its human tasks. */
  asked: AskedTask[] | null;
}

/** Read beyond the requested history, because the question is near the end but not always last. */
const BEYOND_HISTORY = 20;

const IS_LARGE_MESSAGE = `(case when m.asked is null then ${isLarge('m.message')} else
    (select ${areLarge(['q.description', 'q.subject', 'q.form_schema', 'q.decisions'])}
       from hitl_task q where q.id = any(m.asked)) end)`;

/** SQL: the tasks with the ids in the column `asked`, as JSON. */
function selectAsked(asked: string): string {
  return `(select json_agg(q order by q.id)
     from (select id, task_name, title, description, subject, form_schema, decisions, expires_at
             from hitl_task where id = any(${asked})) q)`;
}

/**
 * The messages of tasks, each task's up to the event with which its row was read, in order. `historyLength`
 * limits them to the last ones, plus the task's question.
 */
export async function readMessages(
  em: EntityManager,
  tasks: readonly Pick<TaskRow, 'id' | 'context_id' | 'last_seq'>[],
  historyLength?: number,
  { listed = false } = {},
): Promise<Map<string, StoredMessage[]>> {
  const byTask = new Map<string, StoredMessage[]>(tasks.map(({ id }) => [id, []]));
  if (tasks.length === 0) return byTask;
  const rows = await em.execute<MessageRow[]>(
    `select m.id, m.task_id, m.seq, m.message,
            case when m.asked is not null then ${selectAsked('m.asked')} end as asked
       from json_to_recordset(?::json) as t (id uuid, last_seq int)
            cross join lateral (select * from a2a_message m
              where m.task_id = t.id and m.seq <= t.last_seq
                    ${listed ? `and not ${IS_LARGE_MESSAGE}` : ''}
              order by m.seq desc, m.id desc limit ?) m
      order by m.task_id, m.seq, m.id`,
    [
      JSON.stringify(tasks.map(({ id, last_seq }) => ({ id, last_seq }))),
      historyLength === undefined ? null : historyLength + BEYOND_HISTORY,
    ],
  );
  const contexts = new Map(tasks.map(({ id, context_id }) => [id, context_id]));
  for (const { message, asked, ...row } of rows) {
    const context = contexts.get(row.task_id) ?? '';
    byTask.get(row.task_id)?.push({
      task_id: row.task_id,
      seq: row.seq,
      message: message ?? questionOf({ ...row, context_id: context }, asked ?? []),
    });
  }
  return byTask;
}
