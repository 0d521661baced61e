/**
 * The reconciler's one pass (architecture §3): starts what stayed pending, repeats signals that were not received, closes
 * rows whose execution is gone. Looks only at the few odd rows, by index.
 */
import { TemporalUnavailable } from '../ports.ts';
import { closeLostRun, sendSignals, startRun } from './dispatch.ts';
import type { DispatchDeps } from './dispatch.ts';
import { takeDueSignals, takeUnappliedSignals } from './signals.ts';
import { takePendingRuns } from './start.ts';

const BATCH = 200;
const CLOSED_SINCE_MS = 6 * 60_000;
/** Each live run is described about once an hour at a pass every 10 s. */
const SWEEP_SHARE = 360;

export interface Reconciled {
  started: number;
  signalled: number;
  closed: number;
}

export async function reconcile(deps: DispatchDeps, options: { now: Date; heartbeat(): void }): Promise<Reconciled> {
  const result: Reconciled = { started: 0, signalled: 0, closed: 0 };
  try {
    for (const runId of await takePendingRuns(deps.orm.em.fork(), BATCH)) {
      options.heartbeat();
      if (await startRun(deps, runId)) result.started++;
      // One run's large input that cannot be put aside is no reason to leave the others.
      else if (!(await deps.temporal.ping())) return result;
    }
    const signals = [...(await takeDueSignals(deps.orm.em.fork(), BATCH)), ...(await takeUnappliedSignals(deps.orm.em.fork(), BATCH))];
    result.signalled = (await sendSignals(deps, signals)).length;
    options.heartbeat();
    for (const { runId } of await deps.temporal.abnormallyClosed(new Date(options.now.getTime() - CLOSED_SINCE_MS))) {
      if (await isOpen(deps, runId)) result.closed += (await closeLostRun(deps, runId)) ? 1 : 0;
      options.heartbeat();
    }
    result.closed += await sweep(deps, options);
  } catch (error) {
    if (!(error instanceof TemporalUnavailable)) throw error;
  }
  return result;
}

async function isOpen({ orm }: DispatchDeps, runId: string): Promise<boolean> {
  if (!/^[0-9a-f-]{36}$/.test(runId)) return false;
  const rows = await orm.em.fork().execute(`select 1 from run where id = ? and status in ('running', 'waiting', 'suspended')`, [runId]);
  return rows.length > 0;
}

async function sweep(deps: DispatchDeps, options: { now: Date; heartbeat(): void }): Promise<number> {
  const share = Math.floor(options.now.getTime() / 10_000) % SWEEP_SHARE;
  const rows = await deps.orm.em.fork().execute<{ id: string }[]>(
    `select id from run where status in ('running', 'waiting', 'suspended')
        and mod(abs(hashtext(id::text)::bigint), ?) = ? and created_at < clock_timestamp() - interval '10 minutes' limit ?`,
    [SWEEP_SHARE, share, BATCH],
  );
  let closed = 0;
  for (const { id } of rows) {
    if (await closeLostRun(deps, id)) closed++;
    options.heartbeat();
  }
  return closed;
}
