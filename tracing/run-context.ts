/** The place of a run in its trace. Its row keeps the `traceparent` of what has started it. */
import type { SpanContext } from '@opentelemetry/api';
import { contextOf, formatTraceparent, parseTraceparent, type Context } from './context.ts';
import { runSpanId, taskSpanId, type TaskVisitRef } from './span-ids.ts';

export interface TracedRun {
  id: string;
  /** Null if the run began while nothing was recorded. */
  traceparent: string | null;
}

/** The span of the run, or of one of its tasks; null without a trace. */
export function spanOfRun({ id, traceparent }: TracedRun, task?: TaskVisitRef): SpanContext | null {
  const start = parseTraceparent(traceparent);
  return start && { ...start, spanId: task ? taskSpanId(id, task) : runSpanId(id) };
}

/** The context in which something is done for the run, or one of its tasks; null without a trace. */
export function contextOfRun(run: TracedRun, task?: TaskVisitRef): Context | null {
  const span = spanOfRun(run, task);
  return span && contextOf(span);
}

/** For a counterpart that works for the task of a run. */
export function traceparentOfTask(run: TracedRun, task: TaskVisitRef): string | null {
  const span = spanOfRun(run, task);
  return span && formatTraceparent(span);
}

/** 32 hexadecimal digits; null without a trace. `isSampled`: somebody can look at it. */
export function traceOfRun(traceparent: string | null): { id: string; isSampled: boolean } | null {
  const start = parseTraceparent(traceparent);
  return start && { id: start.traceId, isSampled: start.traceFlags === 1 };
}
