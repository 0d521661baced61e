/** After a commit: what became rows goes to Temporal. What does not arrive is repeated by the reconciler. */
import type { MikroORM } from '@mikro-orm/postgresql';
import { TemporalUnavailable } from '../ports.ts';
import type { TemporalGateway } from '../ports.ts';
import { closeLostRun } from './lost.ts';
import { markDelivered, readSignals } from './signals.ts';
import type { OpenSignal } from './signals.ts';
import { markStarted, readRunStart } from './start.ts';

export interface DispatchDeps {
  orm: MikroORM;
  temporal: TemporalGateway;
}

/** Starts a pending run's workflow. @returns false if Temporal is away. */
export async function startRun({ orm, temporal }: DispatchDeps, runId: string): Promise<boolean> {
  const em = orm.em.fork();
  const start = await readRunStart(em, runId);
  if (start === null) return true;
  try {
    await markStarted(em, runId, await temporal.start(start));
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
