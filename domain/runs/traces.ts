/** What the database has of the traces of runs. */
import type { EntityManager } from '../../db/orm.ts';
import { Prepared } from '../../db/prepared.ts';
import { arrayLiteral } from '../../db/sql.ts';
import { activeTrace, isTracing, linkSpan, NO_TRACE, type TraceTexts } from '../../tracing/context.ts';
import { spanOfRun, type TracedRun } from '../../tracing/run-context.ts';

const TRACE = new Prepared('select traceparent, tracestate from run where id = ?');
const TRACES = new Prepared(
  'select id, traceparent, tracestate from run where id = any(?::uuid[]) and traceparent is not null',
);

/** Of what has started the run; nulls without a trace; undefined without a run. */
export async function readTrace(em: EntityManager, runId: string): Promise<TraceTexts | undefined> {
  const [row] = await TRACE.execute<TraceTexts>(em, [runId]);
  return row;
}

/** Of those runs that are in a trace, by id; none if this process records nothing. */
export async function readTraces(
  em: EntityManager,
  runIds: readonly string[],
): Promise<Map<string, TraceTexts>> {
  if (!isTracing() || runIds.length === 0) return new Map();
  const rows = await TRACES.execute<TracedRun>(em, [arrayLiteral([...new Set(runIds)])]);
  return new Map(rows.map(({ id, ...texts }) => [id, texts]));
}

/**
 * The trace in which a person decides, which is linked with that of the run in both directions. Null without
 * one.
 */
export async function traceOfDecision(em: EntityManager, runId: string): Promise<string | null> {
  if (!isTracing()) return null;
  const texts = (await readTrace(em, runId)) ?? NO_TRACE;
  linkSpan(spanOfRun({ id: runId, ...texts }));
  return activeTrace().traceparent;
}
