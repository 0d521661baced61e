/** The spans of runs and tasks, recorded when they have ended. Their ids are known from the beginning. */
import { shownErrorType } from '../contracts/dsl-error.ts';
import { spanOfEvent } from '../domain/events/event-trace.ts';
import type { EndedRun, EndedTask } from '../domain/runs/ended-spans.ts';
import {
  contextOf,
  failed,
  parseTrace,
  parseTraceparent,
  shownName,
  tracer,
  type Attributes,
  type Span,
  type SpanContext,
} from '../tracing/context.ts';
import { spanOfRun } from '../tracing/run-context.ts';
import { runSpanId, taskSpanId, withSpanId } from '../tracing/span-ids.ts';

export function recordRun(run: EndedRun): void {
  const parent = parseTrace(run);
  if (parent === null) return;
  const { run_id: id, retry_of: retryOf, retried_traceparent: traceparent } = run;
  const retried = retryOf === null ? null : spanOfRun({ id: retryOf, traceparent, tracestate: null });
  record(run, {
    id: runSpanId(id),
    parent,
    name: `run ${run.workflow_name}`,
    linked: [retried, ...(run.heard ?? []).map(spanOfEvent)],
    attributes: {
      'cadenza.run.id': id,
      'cadenza.run.status': run.status,
      'cadenza.run.retry_of': retryOf ?? undefined,
      'cadenza.workflow.id': run.workflow_id ?? undefined,
      'cadenza.workflow.name': run.workflow_name,
    },
  });
}

export function recordTask(task: EndedTask): void {
  const { run_id: id, traceparent, tracestate, around, reference, visit } = task;
  const parent = spanOfRun({ id, traceparent, tracestate }, around ?? undefined);
  if (parent === null) return;
  record(task, {
    id: taskSpanId(id, { reference, visit }),
    parent,
    name: `${task.type} ${task.name}`,
    linked: [parseTraceparent(task.decision_traceparent), ...(task.heard ?? []).map(spanOfEvent)],
    attributes: {
      'cadenza.run.id': id,
      'cadenza.task.name': task.name,
      'cadenza.task.type': task.type,
      'cadenza.task.reference': reference,
      'cadenza.task.visit': visit,
      'cadenza.task.attempt': task.attempt,
      'cadenza.task.status': task.status,
      'cadenza.child_run.id': task.child_run_id ?? undefined,
      'cadenza.human_task.id': task.hitl_task_id ?? undefined,
      'gen_ai.agent.id': task.agent_id ?? undefined,
    },
  });
}

interface Recorded {
  id: string;
  parent: SpanContext;
  name: string;
  linked: readonly (SpanContext | null)[];
  attributes: Attributes;
}

function record(
  ended: Pick<EndedTask, 'status' | 'error' | 'finished_at'> & { created_at?: Date; started_at?: Date },
  { id, parent, name, linked, attributes }: Recorded,
): void {
  const startTime = ended.started_at ?? ended.created_at ?? ended.finished_at;
  const links = linked.flatMap((context) => (context === null ? [] : [{ context }]));
  const span: Span = withSpanId(id, () =>
    tracer().startSpan(shownName(name), { startTime, attributes, links }, contextOf(parent)),
  );
  if (ended.status === 'faulted') failed(span, shownErrorType(ended.error));
  // The clocks of the workflow and of the database may differ.
  span.end(new Date(Math.max(ended.finished_at.getTime(), startTime.getTime())));
}
