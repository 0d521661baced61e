import { isCancellation, proxyActivities } from '@temporalio/workflow';
import type { RunActivities } from '../../contracts/activities.ts';

/** Each batch is its own transaction, so it can be repeated. */
const { removeExpired } = proxyActivities<RunActivities>({
  startToCloseTimeout: '2m',
  heartbeatTimeout: '40s',
  retry: { initialInterval: '5s', maximumAttempts: 3 },
});

/** Listing a bucket of a million files takes some minutes. */
const { sweepFiles } = proxyActivities<RunActivities>({
  startToCloseTimeout: '15m',
  heartbeatTimeout: '1m',
  retry: { initialInterval: '30s', maximumAttempts: 2 },
});

const MAX_BATCHES = 40;

/**
 * Removes data after its retention time (docs/interface.md#keeping-and-removing). What is left after the
 * last batch waits for the schedule's next run.
 */
export async function retention(): Promise<void> {
  for (let batch = 0; batch < MAX_BATCHES; batch++) {
    const { more } = await removeExpired();
    if (!more) break;
  }
  // If the file store is unavailable, the next run sweeps it an hour later.
  await sweepFiles().catch((error: unknown) => {
    if (isCancellation(error)) throw error;
  });
}
