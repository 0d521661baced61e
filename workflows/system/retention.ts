import { isCancellation, proxyActivities } from '@temporalio/workflow';
import type { RunActivities } from '../../contracts/activities.ts';

/** Each batch is a transaction of its own, so repeating is always right. */
const { removeExpired } = proxyActivities<RunActivities>({ startToCloseTimeout: '2m', heartbeatTimeout: '40s', retry: { initialInterval: '5s', maximumAttempts: 3 } });

/** A bucket of a million files is listed in some minutes. */
const { sweepFiles } = proxyActivities<RunActivities>({ startToCloseTimeout: '15m', heartbeatTimeout: '1m', retry: { initialInterval: '30s', maximumAttempts: 2 } });

const MAX_PASSES = 40;

/** What was kept long enough goes (interface-decisions §9). What is left after so many passes waits for the schedule's next one. */
export async function retention(): Promise<void> {
  for (let pass = 0; pass < MAX_PASSES; pass++) {
    const { more } = await removeExpired();
    if (!more) break;
  }
  // A store that is away is swept in an hour.
  await sweepFiles().catch((error: unknown) => {
    if (isCancellation(error)) throw error;
  });
}
