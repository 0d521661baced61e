/**
 * Activities in the traces of their runs: what one does belongs to the span of its task, and each call of a
 * counterpart is a span of its own, also when Temporal repeats it (docs/adr/0057). Nothing of it is in the
 * workflow's history: the run's row has the trace.
 */
import { CancelledFailure, Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import type { MikroORM } from '@mikro-orm/postgresql';
import { FAILURE, type DeliveryActivities, type RunActivities } from '../contracts/activities.ts';
import { shownErrorType } from '../contracts/dsl-error.ts';
import { isRecord } from '../contracts/is-record.ts';
import { EVENT } from '../contracts/run-events.ts';
import { readTrace } from '../domain/runs/traces.ts';
import {
  inContext,
  inSpan,
  isTracing,
  NO_TRACE,
  SpanKind,
  typeOf,
  type Attributes,
  type Context as TraceContext,
  type Span,
  type TraceTexts,
} from '../tracing/context.ts';
import { usageAttributes } from '../tracing/gen-ai.ts';
import { contextOfRun, traceAttributes, traceTextsOfRun, type TracedRun } from '../tracing/run-context.ts';
import type { TaskVisitRef } from '../tracing/span-ids.ts';

type Activities = Partial<RunActivities & DeliveryActivities>;

/** Traces that are known here; the rows have them all. */
const MAX_KNOWN = 10_000;

/** The names of calls, until it is known who is called. */
const CALLS: Partial<Record<string, (input: Record<string, unknown>) => string>> = {
  invokeAgent: () => 'invoke_agent',
  runContainer: () => 'run agent in container',
  callHttp: (input) => `call ${String(input['function'])}`,
  runProcess: (input) => `run ${String(input['process'])}`,
  fetchFiles: () => 'fetch files',
};

/** The activities themselves, if nothing is recorded. */
export function tracedActivities<A extends Activities>(deps: { orm: MikroORM }, activities: A): A {
  if (!isTracing()) return activities;
  const traceOf = createKnownTraces(deps);
  const traced = Object.entries(activities).map(([name, activity]) => [
    name,
    async (input: unknown): Promise<unknown> => {
      // The compiler does not know that name, input and activity belong together.
      const run = activity as (given: unknown) => Promise<unknown>;
      if (!isRecord(input) || typeof input['run_id'] !== 'string') return run(input);
      const traced = { id: input['run_id'], ...(await traceOf(input['run_id'])) };
      const where = contextOfRun(traced, taskOf(input));
      if (where === null) return run(input);
      return inTrace(name, input, where, () => run(withTraceOfEvents(input, traced)));
    },
  ]);
  return Object.fromEntries(traced) as A;
}

/**
 * CloudEvents "Distributed Tracing": what a task emits says in which span. Workflow code knows no traces, so
 * the attributes are added where the batch is stored; those of the definition have precedence.
 */
function withTraceOfEvents(input: Record<string, unknown>, run: TracedRun): Record<string, unknown> {
  const { batch } = input;
  if (!isRecord(batch) || !Array.isArray(batch['events'])) return input;
  const events: unknown[] = batch['events'];
  if (!events.some((entry) => isRecord(entry) && entry['type'] === EVENT.eventEmitted)) return input;
  return { ...input, batch: { ...batch, events: events.map((entry) => withTrace(entry, run)) } };
}

function withTrace(entry: unknown, run: TracedRun): unknown {
  if (!isRecord(entry) || entry['type'] !== EVENT.eventEmitted || !isRecord(entry['data'])) return entry;
  const { event, task: reference, visit } = entry['data'];
  if (!isRecord(event) || 'traceparent' in event) return entry;
  if (typeof reference !== 'string' || typeof visit !== 'number') return entry;
  const attributes = traceAttributes(traceTextsOfRun(run, { reference, visit }));
  return { ...entry, data: { ...entry['data'], event: { ...event, ...attributes } } };
}

function inTrace(
  name: string,
  input: Record<string, unknown>,
  parent: TraceContext,
  run: () => Promise<unknown>,
): Promise<unknown> {
  const call = CALLS[name];
  if (call === undefined) return inContext(parent, run);
  const kind = name.startsWith('run') ? SpanKind.INTERNAL : SpanKind.CLIENT;
  return inSpan(call(input), { kind, attributes: attributesOf(input) }, (span) => noted(span, run), {
    parent,
    errorType,
  });
}

async function noted(span: Span, run: () => Promise<unknown>): Promise<unknown> {
  const result = await run();
  if (isRecord(result)) span.setAttributes(usageAttributes(result['usage'], result['output']));
  return result;
}

function attributesOf(input: Record<string, unknown>): Attributes {
  const known = (name: string): string | number | undefined => {
    const value = input[name];
    return typeof value === 'string' || typeof value === 'number' ? value : undefined;
  };
  return {
    'cadenza.run.id': known('run_id'),
    'cadenza.task.name': known('name'),
    'cadenza.task.reference': known('task'),
    'cadenza.task.visit': known('visit'),
    'cadenza.task.attempt': known('attempt'),
    'cadenza.call.round': known('round'),
    // From 2 on, a worker was lost during the call, or something failed on our side.
    'cadenza.call.attempt': Context.current().info.attempt,
  };
}

/** The visit of the task that the activity works for; undefined: it works for the run as a whole. */
function taskOf(input: Record<string, unknown>): TaskVisitRef | undefined {
  const { task, visit } = input;
  if (typeof task !== 'string') return undefined;
  const ofEvent = typeof visit === 'number' ? visit : visitOfChild(input);
  return ofEvent === null ? undefined : { reference: task, visit: ofEvent };
}

/** Of a new child run, which the event of its creation names. */
function visitOfChild({ child_run_id: id, batch }: Record<string, unknown>): number | null {
  if (!isRecord(batch) || !Array.isArray(batch['events'])) return null;
  const events: unknown[] = batch['events'];
  const data = events.map((event) => (isRecord(event) ? event['data'] : null));
  const created = data.find((each) => isRecord(each) && id !== undefined && each['child_run_id'] === id);
  const visit = isRecord(created) ? created['visit'] : null;
  return typeof visit === 'number' ? visit : null;
}

/** The trace of a run never changes. Without an answer, the activity just has no trace. */
function createKnownTraces({ orm }: { orm: MikroORM }): (runId: string) => Promise<TraceTexts> {
  const known = new Map<string, TraceTexts>();
  return async (runId) => {
    const before = known.get(runId);
    if (before !== undefined) return before;
    const found = await readTrace(orm.em.fork(), runId).catch(() => undefined);
    if (found === undefined) return NO_TRACE;
    const [oldest] = known.keys();
    if (known.size >= MAX_KNOWN && oldest !== undefined) known.delete(oldest);
    known.set(runId, found);
    return found;
  };
}

/** Null: nobody waited any more. */
function errorType(error: unknown): string | null {
  if (error instanceof CancelledFailure) return null;
  if (!(error instanceof ApplicationFailure)) return typeOf(error);
  if (error.type !== FAILURE.fault) return error.type === 'CallEnded' ? null : (error.type ?? 'Error');
  return shownErrorType(error.details?.[0]);
}
