import { runWorkflowId } from '../../../contracts/temporal.ts';
import type { EntityManager } from '../../../db/orm.ts';
import { readTail } from '../../../domain/runs/queries.ts';
import type { AsJson, EventRow, RunRow, TaskRow } from '../../../domain/runs/row.ts';

export interface RunPresenter {
  baseUrl: string;
  /** Temporal UI, without a slash at the end; null where there is none. */
  temporalUiUrl: string | null;
  namespace: string;
}

const MAX_TASKS = 500;
const MAX_LOGS = 200;

/** The whole record: with tasks and the end of the log. */
export async function presentRun(em: EntityManager, presenter: RunPresenter, run: RunRow): Promise<Record<string, unknown>> {
  const { tasks, events: logs } = await readTail(em, run.id, { tasks: MAX_TASKS, events: MAX_LOGS });
  return {
    ...presentRunSummary(presenter, run),
    tasks: tasks.map(presentTask),
    logs: logs.map(presentEvent),
    logs_next: `${presenter.baseUrl}/runs/${run.id}/logs?after=${logs.at(-1)?.seq ?? 0}`,
  };
}

export function presentRunSummary(presenter: RunPresenter, run: RunRow): Record<string, unknown> {
  const workflowId = runWorkflowId(run.id);
  return {
    id: run.id,
    workflow_id: run.workflow_id,
    workflow_revision: run.workflow_revision,
    workflow_name: run.workflow_name,
    status: run.status,
    input_params: run.input,
    output: run.output,
    error: run.error,
    owner_id: run.owner_id,
    parent_run_id: run.parent_run_id,
    retry_of: run.retry_of,
    waiting_on: run.waiting_on,
    usage: run.usage,
    temporal: {
      workflow_id: workflowId,
      run_id: run.temporal_run_id,
      url: presenter.temporalUiUrl === null ? null : `${presenter.temporalUiUrl}/namespaces/${presenter.namespace}/workflows/${workflowId}`,
    },
    created_at: time(run.created_at),
    started_at: optionalTime(run.started_at),
    finished_at: optionalTime(run.finished_at),
  };
}

export function presentTask(task: TaskRow | AsJson<TaskRow>): Record<string, unknown> {
  const { reference, name, type, status, visit, attempt, agent_id, agent_version, hitl_task_id, child_run_id, usage, error } = task;
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
      Object.entries({ agent_id, agent_version, hitl_task_id, child_run_id, usage, error }).filter(([, value]) => value !== null),
    ),
  };
}

export function presentEvent(event: EventRow | AsJson<EventRow>): Record<string, unknown> {
  const { seq, level, type, task, message, data } = event;
  return { seq, at: time(event.at), level, type, task, message, data };
}

function time(value: Date | string): string {
  return new Date(value).toISOString();
}

function optionalTime(value: Date | string | null): string | null {
  return value === null ? null : time(value);
}
