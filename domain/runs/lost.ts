/** Runs whose execution is gone although their row is open: the row is closed, so that nobody waits for ever. */
import { standardError } from '../../contracts/dsl-error.ts';
import { EVENT } from '../../contracts/run-events.ts';
import type { RunEnd } from '../../contracts/run-events.ts';
import { appendEvents, serviceEvent } from './events.ts';
import type { DispatchDeps } from './dispatch.ts';
import { deliverSignals } from './dispatch.ts';

/** Asks Temporal first; an execution that runs, or that ended its run itself, is left alone. */
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
