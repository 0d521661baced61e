import { Context } from '@temporalio/activity';
import type { RunActivities } from '../contracts/activities.ts';
import { removeOldDeliveries } from '../domain/delivery/outbox.ts';
import { reconcileDeliveries } from '../domain/delivery/reconcile.ts';
import { removeOldInboundEvents } from '../domain/events/inbound.ts';
import { reconcile } from '../domain/runs/reconcile.ts';
import type { ActivityDeps } from './deps.ts';

const SWEEP_EVERY_MS = 3_600_000;
/** The log of deliveries, and events from outside, go back so far. */
const EVENT_DAYS = 30;

export function reconcileActivity(deps: ActivityDeps): RunActivities['reconcile'] {
  let sweptAtMs = 0;
  return async () => {
    const heartbeat = () => Context.current().heartbeat();
    const result = await reconcile(deps, { now: new Date(), heartbeat });
    const woken = await reconcileDeliveries({ ...deps, kinds: deps.deliveries.kinds }, { heartbeat });
    if (result.started + result.signalled + result.closed + woken > 0) deps.logger.info({ ...result, woken }, 'reconciled');
    if (Date.now() - sweptAtMs >= SWEEP_EVERY_MS) {
      sweptAtMs = Date.now();
      await sweep(deps);
    }
    return result;
  };
}

/** What is over and belongs to nobody: once an hour, and after each start of a worker. */
async function sweep({ orm, logger }: ActivityDeps): Promise<void> {
  const removedDeliveries = await removeOldDeliveries(orm.em.fork(), EVENT_DAYS);
  const removedEvents = await removeOldInboundEvents(orm.em.fork(), EVENT_DAYS);
  if (removedDeliveries + removedEvents > 0) logger.info({ deliveries: removedDeliveries, events: removedEvents }, 'swept');
}
