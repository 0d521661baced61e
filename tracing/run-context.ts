/** The place of a run in its trace. Its row keeps the `traceparent` of what has started it. */
import type { SpanContext } from '@opentelemetry/api';
import {
  contextOf,
  formatTrace,
  NO_TRACE,
  parseTrace,
  parseTraceparent,
  type Context,
  type TraceTexts,
} from './context.ts';
import { runSpanId, taskSpanId, type TaskVisitRef } from './span-ids.ts';

/** Its texts are null if it began while nothing was recorded. */
export interface TracedRun extends TraceTexts {
  id: string;
}

/** The span of the run, or of one of its tasks; null without a trace. */
export function spanOfRun({ id, ...texts }: TracedRun, task?: TaskVisitRef): SpanContext | null {
  const start = parseTrace(texts);
  return start && { ...start, spanId: task ? taskSpanId(id, task) : runSpanId(id) };
}

/** The context in which something is done for the run, or one of its tasks; null without a trace. */
export function contextOfRun(run: TracedRun, task?: TaskVisitRef): Context | null {
  const span = spanOfRun(run, task);
  return span && contextOf(span);
}

/** For a counterpart that works for the run, or one of its tasks. */
export function traceTextsOfRun(run: TracedRun, task?: TaskVisitRef): TraceTexts {
  const span = spanOfRun(run, task);
  return span ? formatTrace(span) : NO_TRACE;
}

/** CloudEvents "Distributed Tracing": the attributes of an event; none without a trace. */
export function traceAttributes({ traceparent, tracestate }: TraceTexts): Partial<Record<string, string>> {
  if (traceparent === null) return {};
  return { traceparent, ...(tracestate === null ? {} : { tracestate }) };
}

/** 32 hexadecimal digits; null without a trace. `isSampled`: somebody can look at it. */
export function traceOfRun(traceparent: string | null): { id: string; isSampled: boolean } | null {
  const start = parseTraceparent(traceparent);
  return start && { id: start.traceId, isSampled: start.traceFlags === 1 };
}
