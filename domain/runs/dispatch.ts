/** After a commit: what became rows goes to Temporal. What does not arrive is repeated by the reconciler. */
import type { MikroORM } from '@mikro-orm/postgresql';
import { standardError } from '../../contracts/dsl-error.ts';
import { EVENT } from '../../contracts/run-events.ts';
import type { RunEnd } from '../../contracts/run-events.ts';
import { TemporalUnavailable } from '../ports.ts';
import type { TemporalGateway } from '../ports.ts';
import { appendEvents, serviceEvent } from './events.ts';
import { markDelivered, readSignals } from './signals.ts';
import type { OpenSignal } from './signals.ts';
import { readRunStart } from './start.ts';

export interface DispatchDeps {
  orm: MikroORM;
  temporal: TemporalGateway;
}

/** Starts a pending run's workflow. @returns false if Temporal is away. */
export async function startRun({ orm, temporal }: DispatchDeps, runId: string): Promise<boolean> {
  const start = await readRunStart(orm.em.fork(), runId);
  if (start === null) return true;
  try {
    await temporal.start(start);
    return true;
  } catch (error) {
    if (error instanceof TemporalUnavailable) return false;
    throw error;
  }
}

/** Sends signals by their ids. @returns the ids that arrived. */
export async function deliverSignals(deps: DispatchDeps, ids: string[]): Promise<string[]> {
  if (ids.length === 0) return [];
  return sendSignals(deps, await readSignals(deps.orm.em.fork(), ids));
}

export async function sendSignals({ orm, temporal }: DispatchDeps, signals: OpenSignal[]): Promise<string[]> {
  const delivered: string[] = [];
  for (const { run_id, signal } of signals) {
    try {
      if ((await temporal.signal(run_id, signal)) === 'sent') delivered.push(signal.id);
      else await closeLostRun({ orm, temporal }, run_id);
    } catch (error) {
      if (error instanceof TemporalUnavailable) break;
      throw error;
    }
  }
  await markDelivered(orm.em.fork(), delivered);
  return delivered;
}

/**
 * Closes the row of a run whose execution is gone although the row is open, so that nobody waits for ever. Asks Temporal
 * first; an execution that runs, or that ended its run itself, is left alone.
 */
export async function closeLostRun(deps: DispatchDeps, runId: string): Promise<boolean> {
  const status = await deps.temporal.describe(runId);
  if (status === 'running') return false;
  const cancelled = status === 'canceled' || status === 'terminated';
  const end: RunEnd = cancelled
    ? { status: 'cancelled' }
    : { status: 'faulted', error: standardError('runtime', `Temporal's execution of the run is ${status ?? 'not there any more'}`) };
  const event = serviceEvent({
    key: 'run:ended',
    type: cancelled ? EVENT.runCancelled : EVENT.runFaulted,
    level: cancelled ? 'warn' : 'error',
    message: cancelled ? `Run cancelled: its execution was ${String(status)}` : `Run faulted: ${end.error?.detail ?? ''}`,
    data: { execution: status, ...(end.error ? { error: end.error } : {}) },
  });
  const em = deps.orm.em.fork();
  const { closed, signals } = await em.transactional(async (tx) => {
    // A run that was never started is the reconciler's to start, not lost.
    const [row] = await tx.execute<{ status: string }[]>(`select status from run where id = ? for update`, [runId]);
    if (!row || row.status === 'pending') return { closed: true, signals: [] };
    return appendEvents(tx, runId, { events: [event], projection: null, acks: [] }, { end });
  });
  await deliverSignals(deps, signals);
  return !closed;
}
