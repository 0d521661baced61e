import { runWorkflowId } from '../../../contracts/temporal.ts';
import type { EntityManager } from '../../../db/orm.ts';
import type { Actor } from '../../../domain/auth/actor.ts';
import { readTail, type RunTail, type TaskGroup, type TaskVisit } from '../../../domain/runs/queries.ts';
import type { AsJson, EventRow, ListedRunRow, RunRow, TaskRow } from '../../../domain/runs/row.ts';
import { traceOfRun } from '../../../tracing/run-context.ts';
import { presentListed, type FieldsOf } from '../../listed.ts';
import { optionalTime, time } from '../../times.ts';
import { maySeeInside } from '../../../domain/runs/policy.ts';
import { runActions } from '../../../domain/runs/rights.ts';
import type { runFields } from './schemas.ts';

export interface RunPresenter {
  actor: Actor;
  baseUrl: string;
  /** URL of Temporal's UI without a trailing slash, or null. */
  temporalUiUrl: string | null;
  namespace: string;
  /** With `{trace_id}`, or null. */
  traceUrl: string | null;
}

/** Of a full record. */
export const TAIL_LIMITS = { tasks: 500, events: 200 };

/** The full record, with its latest tasks and log entries. */
export async function presentRun(
  em: EntityManager,
  presenter: RunPresenter,
  run: RunRow,
): Promise<Record<string, unknown>> {
  return presentWithTail(presenter, run, await readTail(em, run.id, TAIL_LIMITS));
}

export function presentWithTail(
  presenter: RunPresenter,
  run: RunRow,
  tail: RunTail,
): Record<string, unknown> {
  const { tasks, events: logs } = maySeeInside(presenter.actor, run) ? tail : { tasks: [], events: [] };
  return {
    ...presentFields(presenter, { ...run, input_params: run.input }),
    tasks: tasks.map(presentTask),
    logs: logs.map(presentEvent),
    logs_next: `${presenter.baseUrl}/runs/${run.id}/logs?after=${logs.at(-1)?.seq ?? 0}`,
  };
}

/** A run in a list, without tasks and log. */
export function presentRunSummary(presenter: RunPresenter, run: ListedRunRow): Record<string, unknown> {
  return presentListed<typeof runFields>(presentFields(presenter, run), run.omitted);
}

function presentFields(
  presenter: RunPresenter,
  run: Omit<ListedRunRow, 'omitted'>,
): FieldsOf<typeof runFields> {
  const workflowId = runWorkflowId(run.id);
  return {
    id: run.id,
    workflow_id: run.workflow_id,
    workflow_revision: run.workflow_revision,
    workflow_name: run.workflow_name,
    status: run.status,
    input_params: run.input_params,
    output: run.output,
    error: run.error,
    owner_id: run.owner_id,
    team_id: run.team_id,
    by_grant: run.by_grant,
    parent_run_id: run.parent_run_id,
    retry_of: run.retry_of,
    key: run.key,
    tags: run.tags,
    labels: run.labels,
    scheduled_at: optionalTime(run.scheduled_at),
    started_by: run.started_by,
    waiting_on: run.waiting_on,
    waiting_count: run.waiting_count,
    usage: run.usage,
    budget_id: run.budget_id,
    temporal: {
      workflow_id: workflowId,
      run_id: run.temporal_run_id,
      url:
        presenter.temporalUiUrl === null
          ? null
          : `${presenter.temporalUiUrl}/namespaces/${presenter.namespace}/workflows/${workflowId}`,
    },
    ...traceOf(presenter, run.traceparent),
    can: runActions(presenter.actor, run),
    last_seq: run.last_seq,
    created_at: time(run.created_at),
    started_at: optionalTime(run.started_at),
    finished_at: optionalTime(run.finished_at),
  };
}

/** There is something to look at only if the trace is sampled. */
function traceOf(
  { traceUrl }: RunPresenter,
  traceparent: string | null,
): { trace_id: string | null; trace_url: string | null } {
  const trace = traceOfRun(traceparent);
  const url = trace?.isSampled ? traceUrl?.replaceAll('{trace_id}', trace.id) : null;
  return { trace_id: trace?.id ?? null, trace_url: url ?? null };
}

export function presentTask(task: TaskRow | AsJson<TaskRow>): Record<string, unknown> {
  const {
    reference,
    name,
    type,
    status,
    visit,
    attempt,
    agent_id,
    agent_version,
    hitl_task_id,
    child_run_id,
    usage,
    error,
    items,
  } = task;
  return {
    reference,
    name,
    type,
    status,
    visit,
    attempt,
    started_at: time(task.started_at),
    finished_at: optionalTime(task.finished_at),
    ...Object.fromEntries(
      Object.entries({ agent_id, agent_version, hitl_task_id, child_run_id, usage, error, items }).filter(
        ([, value]) => value !== null,
      ),
    ),
  };
}

export function presentTaskGroup(group: TaskGroup): Record<string, unknown> {
  const { reference, name, type, count, completed, faulted, cancelled, unfinished, last_visit } = group;
  const { slowest_visit: visit, slowest_ms: slowestMs } = group;
  return {
    reference,
    name,
    type,
    count,
    completed,
    faulted,
    cancelled,
    unfinished,
    last_visit,
    slowest: visit === null ? null : { visit, duration_ms: slowestMs },
    total_ms: group.total_ms,
    started_at: time(group.started_at),
    finished_at: optionalTime(group.finished_at),
  };
}

/** A task with its input and output, as far as the log has them. */
export function presentTaskVisit(task: TaskVisit): Record<string, unknown> {
  const data = { ...task.started, ...task.completed };
  const names = ['input', 'output'];
  return {
    ...presentTask(task),
    ...Object.fromEntries(names.filter((name) => name in data).map((name) => [name, data[name]])),
    omitted: names.filter((name) => data[`${name}_omitted`] === true),
  };
}

export function presentEvent(event: EventRow | AsJson<EventRow>): Record<string, unknown> {
  const { seq, level, type, task, message, data } = event;
  return { seq, at: time(event.at), level, type, task, message, data };
}
