/** The rows of human tasks and what hangs on them, as the services read them. Keys are the columns'; times RFC 3339 in UTC. */
import { textArray, type EntityManager } from '../../db/orm.ts';
import type { Candidates } from './principals.ts';
import type { Quorum, TaskStatus } from './state-machine.ts';

export interface DecisionOption {
  id: string;
  label: string;
  requires_comment: boolean;
}

export interface HumanTask {
  id: string;
  run_id: string;
  workflow_id: string | null;
  workflow_name: string;
  owner_id: string;
  initiator_id: string;
  /** JSON pointer in the definition. */
  task: string;
  task_name: string;
  title: string;
  description: string | null;
  subject: unknown;
  form_schema: Record<string, unknown> | null;
  decisions: DecisionOption[];
  status: TaskStatus;
  priority: number;
  assignee: string | null;
  assignee_key: string | null;
  candidates: Candidates;
  principals: string[];
  claimed_by: string | null;
  claimed_at: string | null;
  due_at: string | null;
  expires_at: string | null;
  escalation_level: number;
  quorum: Quorum | null;
  created_at: string;
  updated_at: string;
  /** Of the row: another after each change. */
  row_version: string;
}

/** `delivered`: whether the run has been told; null for a vote that did not decide. */
export interface Decision {
  id: string;
  decision: string;
  payload: unknown;
  comment: string | null;
  decided_by: string;
  decided_at: string;
  delivered: boolean | null;
}

export interface Comment {
  id: string;
  comment: string;
  created_by: string;
  created_at: string;
}

export type Tally = Record<string, number>;

/** A task with all that its record shows. */
export interface HumanTaskView extends HumanTask {
  tally: Tally | null;
  comments: Comment[];
  decision: Decision | null;
}

/** So many of a task's comments are in its record, the latest ones. */
const COMMENTS_SHOWN = 100;

export const TASK_COLUMNS = `t.id, t.run_id, t.workflow_id, t.workflow_name, t.owner_id, t.initiator_id, t.task, t.task_name, t.title,
  t.description, t.subject, t.form_schema, t.decisions, t.status, t.priority, t.assignee, t.assignee_key, t.candidates,
  to_json(t.principals) as principals, t.claimed_by, ${iso('t.claimed_at')} as claimed_at, ${iso('t.due_at')} as due_at,
  ${iso('t.expires_at')} as expires_at, t.escalation_level, t.quorum, ${iso('t.created_at')} as created_at, ${iso('t.updated_at')} as updated_at, t.xmin::text as row_version`;

const DECISION_COLUMNS = `d.id, d.task_id, d.decision, d.payload, d.comment, d.decided_by, ${iso('d.decided_at')} as decided_at,
  (d.delivered_at is not null or d.received_at is not null) as delivered`;

/** SQL of a time as RFC 3339 in UTC, to the millisecond. */
export function iso(column: string): string {
  return `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
}

export async function findTask(em: EntityManager, id: string): Promise<HumanTask | null> {
  const [row] = await em.execute<HumanTask[]>(`select ${TASK_COLUMNS} from hitl_task t where t.id = ?`, [id]);
  return row ?? null;
}

/** Adds decisions, tallies and comments, in one query each for all tasks together. */
export async function withDetails(em: EntityManager, tasks: HumanTask[]): Promise<HumanTaskView[]> {
  const decided = tasks.filter((task) => task.status === 'decided').map((task) => task.id);
  const voting = tasks.filter((task) => task.quorum !== null).map((task) => task.id);
  const [decisions, tallies, comments] = [
    await findDecisions(em, decided),
    await readTallies(em, voting),
    await readComments(em, tasks.map((task) => task.id)),
  ];
  return tasks.map((task) => ({
    ...task,
    tally: task.quorum && Object.fromEntries(task.decisions.map(({ id }) => [id, tallies.get(`${task.id} ${id}`) ?? 0])),
    comments: comments.get(task.id) ?? [],
    decision: decisions.get(task.id) ?? null,
  }));
}

export async function findDecisions(em: EntityManager, taskIds: string[]): Promise<Map<string, Decision>> {
  if (taskIds.length === 0) return new Map();
  const rows = await em.execute<(Decision & { task_id: string })[]>(
    `select ${DECISION_COLUMNS} from hitl_decision d where d.task_id = any(?::uuid[])`,
    [textArray(taskIds)],
  );
  return new Map(rows.map(({ task_id, ...decision }) => [task_id, decision]));
}

async function readTallies(em: EntityManager, taskIds: string[]): Promise<Map<string, number>> {
  if (taskIds.length === 0) return new Map();
  const rows = await em.execute<{ task_id: string; decision: string; votes: number }[]>(
    `select task_id, decision, count(*)::int as votes from hitl_vote where task_id = any(?::uuid[]) group by task_id, decision`,
    [textArray(taskIds)],
  );
  return new Map(rows.map((row) => [`${row.task_id} ${row.decision}`, row.votes]));
}

async function readComments(em: EntityManager, taskIds: string[]): Promise<Map<string, Comment[]>> {
  if (taskIds.length === 0) return new Map();
  const rows = await em.execute<(Comment & { task_id: string })[]>(
    `select c.task_id, c.id, c.comment, c.created_by, ${iso('c.created_at')} as created_at
       from unnest(?::uuid[]) as wanted (id)
       cross join lateral (select * from hitl_comment where task_id = wanted.id order by id desc limit ?) c
      order by c.task_id, c.id`,
    [textArray(taskIds), COMMENTS_SHOWN],
  );
  const byTask = new Map<string, Comment[]>();
  for (const { task_id, ...comment } of rows) {
    const known = byTask.get(task_id);
    if (known) known.push(comment);
    else byTask.set(task_id, [comment]);
  }
  return byTask;
}
