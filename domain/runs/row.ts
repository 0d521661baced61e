import { listedColumns, shortError, type ListView } from '../../db/large-fields.ts';
import type { DslError } from '../../contracts/dsl-error.ts';
import type { RunStatus, WaitingOn } from '../../contracts/run-events.ts';

/** What a run's workflow, as it is now, says about the rights to the run. */
interface RunWorkflow {
  owner_id: string;
  team_id: string | null;
  runner_keys: string[];
  visibility: 'private' | 'public';
  /** Whether its current revision can be run. */
  runnable: boolean;
}

/** A run's row as queries return it. */
export interface RunRow {
  id: string;
  workflow_id: string | null;
  workflow_revision: number | null;
  workflow_name: string;
  status: RunStatus;
  /** The first 100. */
  waiting_on: WaitingOn[];
  waiting_count: number;
  input: unknown;
  output: unknown;
  error: DslError | null;
  owner_id: string;
  /** The team of its workflow. */
  team_id: string | null;
  /** Its owner started it as a runner of the workflow. */
  by_grant: boolean;
  parent_run_id: string | null;
  root_run_id: string;
  retry_of: string | null;
  key: string | null;
  tags: string[];
  labels: Record<string, string>;
  /** The time of its workflow's schedule; null if the schedule did not start it. */
  scheduled_at: Date | null;
  /** Ids of the first events that started it. */
  started_by: string[] | null;
  agent_id: string | null;
  /** The sums of its invocations' usage numbers, by name. */
  usage: Record<string, unknown>;
  /** The run whose budget it has: itself, its root run, or the run that it retries. */
  budget_id: string | null;
  last_seq: number;
  /** Of its first execution; null until that has written an event. */
  temporal_run_id: string | null;
  /** W3C `traceparent` of what has started it; null without a trace. */
  traceparent: string | null;
  /** The last command that its workflow has not received yet. */
  open_command: string | null;
  /** Whether there is a state from which it can be retried. */
  has_checkpoint: boolean;
  /** Null for the run of an agent. */
  workflow: RunWorkflow | null;
  created_at: Date;
  started_at: Date | null;
  finished_at: Date | null;
}

/** SQL: the open command of the run `r`. */
export const OPEN_COMMAND = `(select s.kind from run_signal s where s.run_id = r.id and s.received_at is null
    and s.kind in ('cancel', 'suspend', 'resume') order by s.id desc limit 1)`;

/** The columns of a run that are never large. */
const SMALL_COLUMNS = `r.id, r.workflow_id, r.workflow_revision, r.workflow_name, r.status, r.waiting_count,
  r.owner_id, r.team_id, r.by_grant, r.parent_run_id, r.root_run_id, r.retry_of, r.key, r.tags, r.labels,
  r.scheduled_at,
  to_json(r.started_by) as started_by, r.agent_id, r.budget_id, r.last_seq,
  r.traceparent,
  case when r.last_tx is null then log_data(r.id, 'run:started') ->> 'execution' else r.execution end
    as temporal_run_id,
  ${OPEN_COMMAND} as open_command,
  r.status = 'faulted' and exists (select from run_checkpoint c where c.run_id = r.id) as has_checkpoint,
  (select json_build_object('owner_id', w.owner_id, 'team_id', w.team_id,
                            'runner_keys', w.runner_keys, 'visibility', w.visibility,
                            'runnable', w.archived_at is null and v.runnable)
     from workflow w join workflow_revision v on v.workflow_id = w.id and v.revision = w.revision
    where w.id = r.workflow_id) as workflow,
  r.created_at, r.started_at, r.finished_at,
  (select coalesce(jsonb_object_agg(used.name, used.total), '{}')
     from (select k.name, sum((u.usage ->> k.name)::numeric) as total
             from usage_record u, lateral jsonb_object_keys(u.usage) as k (name)
            where u.run_id = r.id and jsonb_typeof(u.usage -> k.name) = 'number'
            group by k.name) used) as usage`;

export const RUN_COLUMNS = `${SMALL_COLUMNS}, r.waiting_on, r.input, r.output, r.error`;

/** A run in a list; large fields are not read. */
export interface ListedRunRow extends Omit<RunRow, 'input'> {
  input_params: unknown;
  omitted: string[];
}

const SIZED_COLUMNS = [
  { name: 'input_params', column: 'r.input' },
  ...['waiting_on', 'output', 'error'].map((name) => ({ name, column: `r.${name}` })),
];

export function listedRunColumns(view: ListView | undefined): string {
  return `${SMALL_COLUMNS}, ${listedColumns(SIZED_COLUMNS, { view })}`;
}

export interface TaskRow {
  reference: string;
  seq: number;
  visit: number;
  name: string;
  type: string;
  status: string;
  attempt: number;
  started_at: Date;
  finished_at: Date | null;
  agent_id: string | null;
  agent_version: string | null;
  hitl_task_id: string | null;
  child_run_id: string | null;
  usage: Record<string, unknown> | null;
  error: DslError | null;
  /** The indexes of the items of `call: map` around it, outermost first. */
  items: number[] | null;
}

/** In a list: the texts of a large error are cut. */
export const LISTED_TASK_COLUMNS = `run_id, reference, seq, visit, name, type, status, attempt, started_at,
  finished_at, agent_id, agent_version, hitl_task_id, child_run_id, usage, items,
  ${shortError('error')} as error`;

export interface EventRow {
  seq: number;
  at: Date;
  level: 'debug' | 'info' | 'warn' | 'error';
  type: string;
  task: string | null;
  message: string;
  data: Record<string, unknown>;
}

/** A row as JSON: times are strings. */
export type AsJson<T> = {
  [K in keyof T]: T[K] extends Date ? string : T[K] extends Date | null ? string | null : T[K];
};
