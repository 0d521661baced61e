/**
 * The trace of an event that came in: what its attributes say (CloudEvents "Distributed Tracing"), else the
 * request by which it came.
 */
import { parseTrace, type SpanContext, type TraceTexts } from '../../tracing/context.ts';
import type { Attributes } from './effort.ts';

export interface TracedEvent extends TraceTexts {
  event: Attributes;
}

/** Null without a trace. */
export function spanOfEvent({ event, traceparent, tracestate }: TracedEvent): SpanContext | null {
  return (
    parseTrace({ traceparent: event['traceparent'], tracestate: event['tracestate'] }) ??
    parseTrace({ traceparent, tracestate })
  );
}
