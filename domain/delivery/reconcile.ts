/**
 * Resumes what a crash or an outage of Temporal left undone: events missing from the outbox, and due targets
 * without a delivery workflow.
 */
import { TemporalUnavailable, type DueTarget, type TemporalGateway } from '../ports.ts';
import { fanOut, type FanOutDeps } from './fan-out.ts';
import { dueTargets } from './target.ts';

export interface ReconcileDeliveryDeps extends FanOutDeps {
  temporal: Pick<TemporalGateway, 'wakeDelivery'>;
}

/** Younger deliveries are probably being sent right now. */
const OVERDUE_MS = 5_000;
const BATCH = 200;
const MAX_ROUNDS = 50;

/** @returns the number of targets woken */
export async function reconcileDeliveries(
  deps: ReconcileDeliveryDeps,
  options: { heartbeat(): void; overdueMs?: number },
): Promise<number> {
  const due = new Map<string, DueTarget>();
  for (let round = 0; round < MAX_ROUNDS; round++) {
    options.heartbeat();
    const result = await fanOut(deps);
    for (const target of result.due) due.set(target.id, target);
    if (result.state !== 'more') break;
  }
  for (const target of await dueTargets(deps.orm.em.fork(), {
    limit: BATCH,
    overdueMs: options.overdueMs ?? OVERDUE_MS,
  }))
    due.set(target.id, target);
  return wakeTargets(deps.temporal, due.values());
}

/** If Temporal is unavailable, the next reconciliation finds the remaining targets again. */
export async function wakeTargets(
  temporal: Pick<TemporalGateway, 'wakeDelivery'>,
  targets: Iterable<DueTarget>,
): Promise<number> {
  let woken = 0;
  for (const target of targets) {
    try {
      await temporal.wakeDelivery(target);
      woken++;
    } catch (error) {
      if (error instanceof TemporalUnavailable) break;
      throw error;
    }
  }
  return woken;
}
