import { Context } from '@temporalio/activity';
import type { DeliveryActivities } from '../contracts/activities.ts';
import { deliverDue } from '../domain/delivery/deliver.ts';
import { DeliveryPlaces } from '../domain/delivery/places.ts';
import { STANDARD_RETRY } from '../domain/delivery/retry.ts';
import { deliverNotifications } from '../domain/notifications/deliver.ts';
import { readShardTarget } from '../domain/notifications/shards.ts';
import type { ActivityDeps } from './deps.ts';

/** Limits the deliveries of one activity, so that one activity does not run for too long. */
const MAX_AT_ONCE = 50;

export function deliveryActivities({ orm, deliveries, notifications }: ActivityDeps): DeliveryActivities {
  const deps = {
    orm,
    kinds: deliveries.kinds,
    sender: deliveries.sender,
    retry: deliveries.retry ?? STANDARD_RETRY,
    places: new DeliveryPlaces(deliveries.isShortOfMemory),
  };
  return {
    deliverNext(targetId) {
      const { cancellationSignal: signal } = Context.current();
      const options = { max: MAX_AT_ONCE, signal, heartbeat: () => Context.current().heartbeat() };
      const shard = readShardTarget(targetId);
      return shard === null
        ? deliverDue(deps, targetId, options)
        : deliverNotifications(notifications.deliver, shard, options);
    },
  };
}
