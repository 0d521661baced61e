/**
 * Traces, as all parts of Cadenza see them: OpenTelemetry's API, which does nothing until `startTracing` has
 * been called (docs/adr/0057). Names, ids and numbers go into spans; no bodies, credentials, SQL or texts of
 * errors.
 */
import {
  context,
  createTraceState,
  isSpanContextValid,
  propagation,
  ROOT_CONTEXT,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Attributes,
  type Context,
  type Span,
  type SpanContext,
  type SpanOptions,
} from '@opentelemetry/api';

export { SpanKind, type Attributes, type Context, type Span, type SpanContext } from '@opentelemetry/api';

const MAX_NAME = 200;

/** Whether spans are recorded in this process. */
export function isTracing(): boolean {
  return propagation.fields().length > 0;
}

export function tracer(): ReturnType<typeof trace.getTracer> {
  return trace.getTracer('cadenza');
}

/** Headers that make what a counterpart does a part of the trace (W3C Trace Context); none without one. */
export function traceHeaders(): Record<string, string> {
  const headers: Record<string, string> = {};
  propagation.inject(context.active(), headers);
  return headers;
}

/** The same for programs, as OpenTelemetry names environment variables: `TRACEPARENT`, `TRACESTATE`. */
export function traceEnvironment(): Record<string, string> {
  return Object.fromEntries(
    Object.entries(traceHeaders()).map(([name, value]) => [name.toUpperCase(), value]),
  );
}

/** What the caller of a request has sent as its own trace. Baggage is ignored. */
export function contextOfCaller(headers: Record<string, unknown>): Context {
  return propagation.extract(ROOT_CONTEXT, headers);
}

/** Fields of a log entry; none without a trace. */
export function traceFields(): { trace_id?: string; span_id?: string } {
  const active = trace.getSpanContext(context.active());
  return active && isSpanContextValid(active) ? { trace_id: active.traceId, span_id: active.spanId } : {};
}

/** Makes a function run in the trace of the caller, whoever calls it later. */
export function inThisTrace<A extends unknown[], R>(run: (...args: A) => R): (...args: A) => R {
  return context.bind(context.active(), run);
}

export function inContext<T>(where: Context, work: () => T): T {
  return context.with(where, work);
}

/**
 * Runs `work` in a span of its own, below `parent`. An error makes the span a failed one, unless `errorType`
 * gives null: by its type, without its text.
 */
export async function inSpan<T>(
  name: string,
  options: SpanOptions,
  work: (span: Span) => Promise<T>,
  { parent = context.active(), errorType = typeOf }: SpanRules = {},
): Promise<T> {
  const span = tracer().startSpan(shownName(name), options, parent);
  try {
    return await context.with(trace.setSpan(parent, span), work, undefined, span);
  } catch (error) {
    const type = errorType(error);
    if (type !== null) failed(span, type);
    throw error;
  } finally {
    span.end();
  }
}

interface SpanRules {
  /** Default: the caller's span. */
  parent?: Context;
  /** Null: no failure. */
  errorType?: (error: unknown) => string | null;
}

/** Users choose the names of workflows, tasks and tools. */
export function shownName(name: string): string {
  return name.slice(0, MAX_NAME);
}

export function failed(span: Span, type: string): void {
  span.setAttribute('error.type', type);
  span.setStatus({ code: SpanStatusCode.ERROR });
}

/** Of the span in which the caller is. */
export function describeSpan(name: string | null, attributes: Attributes): void {
  const span = trace.getActiveSpan();
  if (!span?.isRecording()) return;
  if (name !== null) span.updateName(shownName(name));
  span.setAttributes(attributes);
}

/** Whether the caller is in a span, so that what it does may be one below. */
export function isInSpan(): boolean {
  const active = trace.getSpanContext(context.active());
  return active !== undefined && isSpanContextValid(active);
}

/** Links the caller's span to another one, of another trace. */
export function linkSpan(other: SpanContext | null): void {
  if (other) trace.getActiveSpan()?.addLink({ context: other });
}

/** W3C Trace Context as rows and CloudEvents have it. */
export interface TraceTexts {
  traceparent: string | null;
  /** Without a `traceparent` it means nothing. */
  tracestate: string | null;
}

export const NO_TRACE: TraceTexts = { traceparent: null, tracestate: null };

/**
 * For a run that begins now: of the caller's span, or of a span of its own where nothing has asked for the
 * run. Nulls without traces.
 */
export function traceOfNewRun(): TraceTexts {
  if (!isTracing()) return NO_TRACE;
  const active = activeTrace();
  if (active.traceparent !== null) return active;
  const span = tracer().startSpan('start run', { root: true });
  span.end();
  return formatTrace(span.spanContext());
}

/** Of the caller's span; nulls without one. */
export function activeTrace(): TraceTexts {
  const active = trace.getSpanContext(context.active());
  return active && isSpanContextValid(active) ? formatTrace(active) : NO_TRACE;
}

export function formatTrace(span: SpanContext): TraceTexts {
  const state = span.traceState?.serialize() ?? '';
  return { traceparent: formatTraceparent(span), tracestate: state === '' ? null : state };
}

export function formatTraceparent({ traceId, spanId, traceFlags }: SpanContext): string {
  return `00-${traceId}-${spanId}-${(traceFlags & TraceFlags.SAMPLED) === 0 ? '00' : '01'}`;
}

/** W3C `traceparent` of version 00; null for any other text. */
export function parseTraceparent(text: string | null | undefined): SpanContext | null {
  const [, traceId = '', spanId = '', flags = ''] =
    /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/.exec(text ?? '') ?? [];
  const found = {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16) & TraceFlags.SAMPLED,
    isRemote: true,
  };
  return isSpanContextValid(found) ? found : null;
}

/**
 * The same with its `tracestate`. One of more than 512 characters, or that is malformed, is left out, as W3C
 * Trace Context says; the trace goes on without it.
 */
export function parseTrace({
  traceparent,
  tracestate,
}: Record<keyof TraceTexts, unknown>): SpanContext | null {
  const found = parseTraceparent(typeof traceparent === 'string' ? traceparent : null);
  if (found === null || typeof tracestate !== 'string') return found;
  const state = createTraceState(tracestate);
  return state.serialize() === '' ? found : { ...found, traceState: state };
}

/** The context in which spans are children of this one. */
export function contextOf(parent: SpanContext): Context {
  return trace.setSpanContext(ROOT_CONTEXT, parent);
}

/** The class or code of an error, never its text. */
export function typeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'Error';
  const { code } = error as { code?: unknown };
  const isName = typeof code === 'number' || (typeof code === 'string' && /^\w{1,50}$/.test(code));
  return isName ? String(code) : error.name;
}
