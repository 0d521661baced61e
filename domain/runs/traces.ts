/** What the database has of the traces of runs. */
import type { EntityManager } from '../../db/orm.ts';
import { Prepared } from '../../db/prepared.ts';
import { activeTraceparent, isTracing, linkSpan } from '../../tracing/context.ts';
import { spanOfRun } from '../../tracing/run-context.ts';

const TRACEPARENT = new Prepared('select traceparent from run where id = ?');

/** W3C `traceparent` of what has started the run; null without a trace; undefined without a run. */
export async function readTraceparent(em: EntityManager, runId: string): Promise<string | null | undefined> {
  const [row] = await TRACEPARENT.execute<{ traceparent: string | null }>(em, [runId]);
  return row?.traceparent;
}

/**
 * The trace in which a person decides, which is linked with that of the run in both directions. Null without
 * one.
 */
export async function traceOfDecision(em: EntityManager, runId: string): Promise<string | null> {
  if (!isTracing()) return null;
  const traceparent = (await readTraceparent(em, runId)) ?? null;
  linkSpan(spanOfRun({ id: runId, traceparent }));
  return activeTraceparent();
}
