/** What a crash, or Temporal's absence, left undone: events not yet in the outbox, targets that nobody delivers to. */
import { TemporalUnavailable, type TemporalGateway } from '../ports.ts';
import { fanOut, type FanOutDeps } from './fan-out.ts';
import { dueTargets } from './target.ts';

export interface ReconcileDeliveryDeps extends FanOutDeps {
  temporal: Pick<TemporalGateway, 'wakeDelivery'>;
}

/** Somebody is at what was due a moment ago. */
const OVERDUE_MS = 5_000;
const BATCH = 200;
const MAX_PASSES = 50;

/** @returns how many targets were woken. */
export async function reconcileDeliveries(deps: ReconcileDeliveryDeps, options: { heartbeat(): void; overdueMs?: number }): Promise<number> {
  const due = new Set<string>();
  for (let pass = 0; pass < MAX_PASSES; pass++) {
    options.heartbeat();
    const result = await fanOut(deps);
    for (const id of result.due) due.add(id);
    if (result.state !== 'more') break;
  }
  for (const id of await dueTargets(deps.orm.em.fork(), { limit: BATCH, overdueMs: options.overdueMs ?? OVERDUE_MS })) due.add(id);
  return wakeTargets(deps.temporal, due);
}

/** Those that Temporal does not hear of are found again by the next pass. */
export async function wakeTargets(temporal: Pick<TemporalGateway, 'wakeDelivery'>, ids: Iterable<string>): Promise<number> {
  let woken = 0;
  for (const id of ids) {
    try {
      await temporal.wakeDelivery(id);
      woken++;
    } catch (error) {
      if (error instanceof TemporalUnavailable) break;
      throw error;
    }
  }
  return woken;
}
