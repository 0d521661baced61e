import { condition, continueAsNew, proxyActivities, setHandler } from '@temporalio/workflow';
import type { DeliveryActivities } from '../../contracts/activities.ts';
import { renewSignal, wakeSignal } from '../../contracts/temporal.ts';

/**
 * The outbox decides what is sent and when, so the activity can be repeated until the database is available
 * again.
 */
const { deliverNext } = proxyActivities<DeliveryActivities>({
  startToCloseTimeout: '15m',
  heartbeatTimeout: '25s',
  retry: { initialInterval: '1s', maximumInterval: '10s' },
});

const ROUNDS_PER_EXECUTION = 200;
/** Events come in bursts, so an execution waits a little before it ends. */
const LINGER_MS = 10_000;

/** Sends all deliveries of one target, one after the other, until there are none. */
export async function deliver(targetId: string): Promise<void> {
  let woken = false;
  setHandler(wakeSignal, () => {
    woken = true;
  });
  let renewing = false;
  setHandler(renewSignal, () => {
    renewing = true;
  });
  for (let round = 0; round < ROUNDS_PER_EXECUTION && !renewing; round++) {
    woken = false;
    const { wait_ms: waitMs } = await deliverNext(targetId);
    if (waitMs === 0) continue;
    const again = await condition(() => woken || renewing, waitMs ?? LINGER_MS);
    if (!again && waitMs === null) return;
  }
  await continueAsNew<typeof deliver>(targetId);
}
