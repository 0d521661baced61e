import { condition, continueAsNew, proxyActivities, setHandler } from '@temporalio/workflow';
import type { DeliveryActivities } from '../../contracts/activities.ts';
import { wakeSignal } from '../../contracts/temporal.ts';

/** The outbox decides what is sent and when: repeating the activity is always right, until the database is back. */
const { deliverNext } = proxyActivities<DeliveryActivities>({
  startToCloseTimeout: '15m',
  heartbeatTimeout: '25s',
  retry: { initialInterval: '1s', maximumInterval: '10s' },
});

const PASSES_PER_EXECUTION = 200;
/** Events come in bursts: an execution waits a little before it ends. */
const LINGER_MS = 10_000;

/** All deliveries to one target, one after the other, until there are none. */
export async function deliver(targetId: string): Promise<void> {
  let woken = false;
  setHandler(wakeSignal, () => {
    woken = true;
  });
  for (let pass = 0; pass < PASSES_PER_EXECUTION; pass++) {
    woken = false;
    const { wait_ms: waitMs } = await deliverNext(targetId);
    if (waitMs === 0) continue;
    const again = await condition(() => woken, waitMs ?? LINGER_MS);
    if (!again && waitMs === null) return;
  }
  await continueAsNew<typeof deliver>(targetId);
}
